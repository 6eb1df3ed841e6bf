#include "runtime/io/Bytes.h"

#include <sys/mman.h>

#include <utility>

#include "runtime/io/Formats.h"

namespace tenc::rt::format {
namespace {

/// From here on a map is faster than a copy. A mapped file must not be cut short by others while it is read.
constexpr uint64_t kMapped = uint64_t{1} << 22;

}  // namespace

std::optional<Bytes> Bytes::of(std::FILE* f, bool mayMap) {
  const auto size = fileSize(f);
  if (!size) return std::nullopt;
  Bytes b;
  if (mayMap && *size >= kMapped) {
    b.mapped_ = mmap(nullptr, *size, PROT_READ, MAP_PRIVATE, fileno(f), 0);
    if (b.mapped_ == MAP_FAILED) {
      b.mapped_ = nullptr;
      return std::nullopt;
    }
    b.span_ = {static_cast<const std::byte*>(b.mapped_), *size};
    return b;
  }
  b.read_.resize(*size);
  if (std::fseek(f, 0, SEEK_SET) != 0 || std::fread(b.read_.data(), 1, *size, f) != *size) return std::nullopt;
  b.span_ = b.read_;
  return b;
}

Bytes::Bytes(Bytes&& other) noexcept
    : read_(std::move(other.read_)), mapped_(std::exchange(other.mapped_, nullptr)), span_(other.span_) {}

Bytes& Bytes::operator=(Bytes&& other) noexcept {
  std::swap(read_, other.read_);
  std::swap(mapped_, other.mapped_);
  std::swap(span_, other.span_);
  return *this;
}

Bytes::~Bytes() {
  if (mapped_) munmap(mapped_, span_.size());
}

}  // namespace tenc::rt::format
