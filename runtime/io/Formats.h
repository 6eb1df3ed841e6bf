// One file per format; Files.cpp chooses. Private to runtime/io.
#pragma once
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

#include "runtime/io/Bytes.h"
#include "runtime/io/Io.h"

namespace tenc::rt::format {

/// The beginning of what is said of elements of another type.
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
inline constexpr std::string_view kForeign = "holds elements of a type that TL does not have";
/// The same with the type's name, as far as it can be shown.
inline std::string foreignType(std::string_view name) {
  constexpr size_t kMost = 24;
  const bool plain =
      name.size() <= kMost && std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return std::string(kForeign) + (plain && !name.empty() ? " (" + std::string(name) + ")" : "");
}

struct Closer {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Closer>;

/// What is said of a file whose bytes cannot be read any more.
inline constexpr std::string_view kUnreadable = "cannot be read to its end";

/// Elements of `shape`; nullopt when one is negative or the product passes 2^48.
std::optional<int64_t> elements(const std::vector<int64_t>& shape);
/// Size of an open regular file, or nullopt.
std::optional<uint64_t> fileSize(std::FILE* f);
/// Whether all bytes could be written; by pieces, between which a signal is taken.
bool writeAll(std::FILE* f, const void* data, size_t bytes);

/// An .npy header, and what stands before it.
inline constexpr size_t kMostNpyHead = 10'012;
/// From the first bytes (kMostNpyHead or all) of a file of `size` bytes.
std::optional<FileHeader> npyHeader(ByteSpan head, uint64_t size, std::string& error);
/// `read` reads the next elements, which follow each other in the file; what it returns false for is its own to tell.
using ReadElements = std::function<bool(std::span<std::byte>)>;
bool npyLoad(const FileHeader& header, void* out, const ReadElements& read);
std::string npyHeaderText(const TensorView& t);
bool npySave(std::FILE* f, const TensorView& t);

std::optional<FileHeader> csvHeader(std::FILE* f, std::string& error);
bool csvLoad(std::FILE* f, uint8_t dtype, const std::vector<int64_t>& shape, void* out, std::string& error);
bool csvSave(std::FILE* f, const TensorView& t);

bool ppmSave(std::FILE* f, const TensorView& t);
std::optional<FileHeader> pngHeader(ByteSpan file, std::string& error);
/// Pixels as u8: [H, W] grey, or [H, W, 2, 3 or 4] with alpha and colour as the file has them; 1, 2 and 4 bits become
/// 8, and 16 bits the nearest 8. `file` is what the header was read from.
bool pngLoad(ByteSpan file, const FileHeader& header, void* out, std::string& error);
bool pngSave(std::FILE* f, const TensorView& t, std::string& error);

}  // namespace tenc::rt::format
