// The bytes of an open file, for formats that are parsed in memory. Private to runtime/io.
#pragma once
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <vector>

namespace tenc::rt::format {

using ByteSpan = std::span<const std::byte>;

/// Small files are read; large ones are mapped, not copied.
class Bytes {
 public:
  /// nullopt when the file cannot be read.
  static std::optional<Bytes> of(std::FILE* f);
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
