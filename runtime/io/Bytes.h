// The bytes of an open file, for all formats. They are read, and never mapped: where others cut the file short that is
// an error and no fault, and what was looked at once is not looked at again. Private to runtime/io.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <vector>

namespace tenc::rt::format {

using ByteSpan = std::span<const std::byte>;

/// A regular file of the size that it had when this was made. Does not own it.
class FileBytes {
 public:
  /// nullopt for what is no regular file.
  static std::optional<FileBytes> of(std::FILE* f);
  uint64_t size() const { return size_; }
  /// False where there are not so many bytes, or none can be read.
  bool read(uint64_t at, std::span<std::byte> out) const;
  /// The same, as a vector; empty where that fails.
  std::vector<std::byte> part(uint64_t at, uint64_t bytes) const;

 private:
  FileBytes(int descriptor, uint64_t size) : descriptor_(descriptor), size_(size) {}
  int descriptor_;
  uint64_t size_;
};

/// Small parts of a file that lie near each other: the file is read by larger pieces.
class Window {
 public:
  explicit Window(const FileBytes& file) : file_(file) {}
  uint64_t fileSize() const { return file_.size(); }
  /// Some bytes from `at` on, at least one and `most` at most; none where that fails. Valid until the next call.
  ByteSpan some(uint64_t at, uint64_t most);
  /// Copies bytes.size() bytes; false where that fails.
  bool read(uint64_t at, std::span<std::byte> bytes);

 private:
  const FileBytes& file_;
  std::vector<std::byte> piece_;
  uint64_t begin_ = 0;
};

}  // namespace tenc::rt::format
