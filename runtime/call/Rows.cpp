#include "runtime/call/Rows.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "runtime/cpu/ThreadPool.h"

namespace tenc::rt {
namespace {

/// f(i) for all i in [0, n), on all threads where there is much to do.
template <typename F>
void forEachRow(ThreadPool& pool, size_t n, uint64_t rowBytes, const F& f) {
  constexpr uint64_t kGrain = uint64_t{1} << 16;  // bytes that a thread takes at once
  const auto grain = static_cast<int64_t>(std::max<uint64_t>(1, kGrain / rowBytes));
  const auto items = static_cast<int64_t>(n);
  const auto work = [](void* context, int, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) (*static_cast<const F*>(context))(static_cast<size_t>(i));
  };
  void* const context = const_cast<F*>(&f);  // a pool hands on what it does not look at
  if (items <= grain)
    work(context, 0, 0, items);
  else
    pool.run(items, grain, work, context);
}

}  // namespace

void Rows::copy(const std::byte* table, uint64_t rowBytes, std::byte* to) {
  forEachRow(pool_, wanted_.size(), rowBytes,
             [&](size_t i) { std::memcpy(to + i * rowBytes, table + wanted_[i] * rowBytes, rowBytes); });
}

/// First what need not be waited for. Of the rest many are asked for before the first is waited for, so that the disk
/// has much to choose from.
bool Rows::read(const Buffers::InOpenFile& table, uint64_t rowBytes, std::byte* to, std::string& error) {
  constexpr size_t kAtOnce = 1024;
  const OpenFile& file = *table.file;
  const auto at = [&](size_t i) { return table.offset + wanted_[i] * rowBytes; };
  missing_.assign(wanted_.size(), 0);
  forEachRow(pool_, wanted_.size(), rowBytes,
             [&](size_t i) { missing_[i] = !file.readCached(at(i), rowBytes, to + i * rowBytes); });
  std::vector<size_t> late;
  for (size_t i = 0; i < wanted_.size(); ++i)
    if (missing_[i] != 0) late.push_back(i);
  if (late.empty()) return true;
  file.expectScattered();
  std::mutex mutex;
  for (size_t begin = 0; begin < late.size() && error.empty(); begin += kAtOnce) {
    const size_t n = std::min(kAtOnce, late.size() - begin);
    for (size_t i = 0; i < n && !control_.interrupted(); ++i) file.expect(at(late[begin + i]), rowBytes);
    forEachRow(pool_, n, rowBytes, [&](size_t i) {
      const size_t row = late[begin + i];
      std::string why;
      if (control_.interrupted() || file.read(at(row), rowBytes, to + row * rowBytes, why)) return;
      const std::lock_guard lock(mutex);
      error = std::move(why);
    });
  }
  return error.empty();
}

bool Rows::run(const abi::ReadRows& s) {
  const int64_t rows = s.table.shape[0];
  const auto* numbers = reinterpret_cast<const int64_t*>(buffers_.read(s.rows));
  const uint64_t count = bytesOf(s.rows) / sizeof(int64_t), bytes = bytesOf(s.result);
  // As kernels do: of several that are out of range the least is told.
  int64_t bad = std::numeric_limits<int64_t>::max();
  wanted_.clear();
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t row = numbers[i] < 0 ? numbers[i] + rows : numbers[i];
    if (row < 0 || row >= rows) bad = std::min(bad, numbers[i]);
    wanted_.push_back(static_cast<uint64_t>(row));
  }
  if (bad != std::numeric_limits<int64_t>::max()) return ending_.stop(s.site, {}, {bad, 1, rows, 0});
  if (bytes == 0) return true;
  std::byte* const to = buffers_.at(s.result);
  buffers_.settle(to, bytes, true);
  std::string error;
  if (const auto open = buffers_.openFileOf(s.table)) {
    if (!read(*open, bytes / count, to, error)) return ending_.stop(s.file, error);
    return !ending_.interrupted();
  }
  copy(buffers_.read(s.table), bytes / count, to);
  return true;
}

bool Rows::run(const abi::BringIn& s) {
  if (!*reinterpret_cast<const uint8_t*>(buffers_.read(s.wanted))) return true;
  const MappedTensor* const file = buffers_.fileOf(s.table);
  const auto rows = s.table.shape.empty() ? 0 : s.table.shape[0];
  if (!file || rows == 0) return true;
  const uint64_t rowBytes = bytesOf(s.table) / static_cast<uint64_t>(rows);
  const auto* numbers = reinterpret_cast<const int64_t*>(buffers_.read(s.rows));
  std::vector<ReadAhead::Part> parts;
  const auto add = [&](int64_t row, uint64_t count) {
    if (row < 0) row += rows;
    if (row < 0 || row >= rows) return;
    const uint64_t rest = static_cast<uint64_t>(rows - row);
    parts.push_back({static_cast<uint64_t>(row) * rowBytes, std::min(count, rest) * rowBytes});
  };
  if (s.count > 0)
    add(numbers[0], s.count);
  else
    for (uint64_t i = 0; i < bytesOf(s.rows) / sizeof(int64_t); ++i) add(numbers[i], 1);
  if (const auto open = buffers_.openFileOf(s.table)) {
    for (ReadAhead::Part& p : parts) p.begin += open->offset;
    ahead_.bringIn(open->file, std::move(parts));
    return true;
  }
  if (s.count == 0) file->expectScattered();
  ahead_.bringIn(buffers_.at(s.table), std::move(parts));
  return true;
}

}  // namespace tenc::rt
