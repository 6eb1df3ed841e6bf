#include "codegen/cuda/RowShift.h"

#include <algorithm>

#include "codegen/KernelShape.h"
#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {
namespace {

constexpr int64_t kWordBytes = 4;

bool movesWithRows(const Kernel& k, const Access& a) {
  for (size_t v = 0; v < k.outer.size(); ++v)
    if (strideOf(a, v) != 0) return true;
  return false;
}

}  // namespace

bool RowShift::suits(const Kernel& k, const Access& a) const {
  if (!a.terms.empty() || strideOf(a, k.outer.size()) != 1) return false;
  // A scratch row is in registers.
  if (k.buffers[a.buffer].role == Buffer::Role::Scratch) return true;
  if (static_cast<uint64_t>(width) * static_cast<uint64_t>(ir::byteSize(k.buffers[a.buffer].dtype)) > kVectorBytes)
    return false;
  for (size_t v = 0; v < k.outer.size(); ++v)
    if ((strideOf(a, v) - strideOf(like, v)) % width != 0) return false;
  return (a.offset - like.offset) % width == 0;
}

std::optional<RowShift> rowShift(const Kernel& k, int most) {
  RowShift shift;
  std::vector<std::pair<size_t, const Access*>> rows;
  int64_t width = most, word = 1;
  for (size_t n = 0; n < k.stages.size(); ++n) {
    const Stage& s = k.stages[n];
    if (isSerial(k, s)) return std::nullopt;
    if (trips(s.innerLo, s.innerHi) <= 1) continue;
    if (s.innerLo.size() != 1 || s.innerLo[0] != 0 || (shift.extent != 0 && shift.extent != s.innerHi[0]))
      return std::nullopt;
    shift.extent = s.innerHi[0];
    const auto add = [&](const Access& a) {
      const int64_t stride = strideOf(a, k.outer.size());
      if (stride == 1 && a.terms.empty() && k.buffers[a.buffer].role != Buffer::Role::Scratch) {
        rows.emplace_back(n, &a);
        const auto bytes = static_cast<int64_t>(ir::byteSize(k.buffers[a.buffer].dtype));
        width = std::min(width, static_cast<int64_t>(kVectorBytes) / bytes);
        word = std::max(word, kWordBytes / bytes);
      }
      return stride == 0 || stride == 1;
    };
    for (const Expr& e : s.exprs)
      if (e.kind == Expr::Kind::Load && !add(e.access)) return std::nullopt;
    for (const Store& st : s.stores)
      if (!add(st.access)) return std::nullopt;
  }
  shift.width = static_cast<int>(width);
  shift.word = static_cast<int>(std::min(width, word));
  size_t alike = 0;
  for (const auto& [stage, access] : rows) {
    if (!movesWithRows(k, *access)) continue;
    RowShift by = shift;
    by.stage = stage, by.like = *access;
    const auto like = static_cast<size_t>(
        std::count_if(rows.begin(), rows.end(), [&, &a = by](const auto& r) { return a.suits(k, *r.second); }));
    if (like <= alike) continue;
    alike = like;
    shift = by;
  }
  return alike > 0 && width > 1 && shift.extent < kNarrowRow ? std::optional(shift) : std::nullopt;
}

}  // namespace tenc::codegen::cuda
