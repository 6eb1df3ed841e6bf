// The bytes of an open file, for formats that are parsed in memory. Private to runtime/io.
#pragma once
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <vector>

namespace tenc::rt::format {

using ByteSpan = std::span<const std::byte>;

/// Small files are read; large ones may be mapped and not copied.
class Bytes {
 public:
  /// nullopt when the file cannot be read. What is not mapped stays as it is, whatever happens to the file meanwhile.
  static std::optional<Bytes> of(std::FILE* f, bool mayMap = true);
  Bytes(Bytes&& other) noexcept;
  Bytes& operator=(Bytes&& other) noexcept;
  ~Bytes();
  ByteSpan span() const { return span_; }

 private:
  Bytes() = default;
  std::vector<std::byte> read_;
  void* mapped_ = nullptr;
  ByteSpan span_;
};

}  // namespace tenc::rt::format
