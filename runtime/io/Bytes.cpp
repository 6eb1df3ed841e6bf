#include "runtime/io/Bytes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/io/Formats.h"
#include "runtime/io/OpenFile.h"

namespace tenc::rt::format {

std::optional<FileBytes> FileBytes::of(std::FILE* f) {
  const auto size = fileSize(f);
  return size ? std::optional(FileBytes(fileno(f), *size)) : std::nullopt;
}

bool FileBytes::read(uint64_t at, std::span<std::byte> out) const {
  if (at > size_ || out.size() > size_ - at) return false;
  while (!out.empty()) {
    const ssize_t n = pread(descriptor_, out.data(), std::min(out.size(), kMostAtOnce), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    out = out.subspan(static_cast<size_t>(n));
    at += static_cast<uint64_t>(n);
  }
  return true;
}

bool writeAll(std::FILE* f, const void* data, size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  for (size_t done = 0; done < bytes;) {
    const size_t piece = std::min(bytes - done, kMostAtOnce);
    if (std::fwrite(from + done, 1, piece, f) != piece) return false;
    done += piece;
  }
  return true;
}

std::vector<std::byte> FileBytes::part(uint64_t at, uint64_t bytes) const {
  if (at > size_ || bytes > size_ - at) return {};  // before there is memory for them
  std::vector<std::byte> out(bytes);
  if (!read(at, out)) out.clear();
  return out;
}

namespace {

constexpr uint64_t kPiece = uint64_t{256} << 10;

}  // namespace

ByteSpan Window::some(uint64_t at, uint64_t most) {
  if (at < begin_ || at - begin_ >= piece_.size()) {
    if (at >= file_.size()) return {};
    begin_ = at;
    piece_ = file_.part(at, std::min(kPiece, file_.size() - at));
  }
  const ByteSpan rest = ByteSpan(piece_).subspan(std::min<uint64_t>(at - begin_, piece_.size()));
  return rest.first(std::min<uint64_t>(most, rest.size()));
}

bool Window::read(uint64_t at, std::span<std::byte> bytes) {
  if (bytes.size() >= kPiece) return file_.read(at, bytes);
  while (!bytes.empty()) {
    const ByteSpan next = some(at, bytes.size());
    if (next.empty()) return false;
    std::copy(next.begin(), next.end(), bytes.begin());
    bytes = bytes.subspan(next.size());
    at += next.size();
  }
  return true;
}

}  // namespace tenc::rt::format
