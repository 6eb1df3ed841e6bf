// Files that hold several named tensors: .safetensors and .npz. Private to runtime/io.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/io/Bytes.h"
#include "runtime/io/Formats.h"

namespace tenc::rt::format {

/// One tensor. Its elements are `size` bytes at `begin` of the file; in an .npz file that is the entry as it is stored.
struct Entry {
  std::string name;
  FileHeader header;
  std::string foreign;  ///< why its elements cannot be read, where their type is none of TL: it is left alone
  uint64_t begin = 0, size = 0;
  bool deflated = false;
  uint64_t inflatedSize = 0;
  uint32_t crc = 0;
};

/// Everything in the file, checked: limits, no duplicate names, no overlaps; `error` says what is wrong.
std::optional<std::vector<Entry>> safetensorsEntries(const FileBytes& file, std::string& error);
std::optional<std::vector<Entry>> npzEntries(const FileBytes& file, std::string& error);
bool npzLoad(const FileBytes& file, const Entry& entry, void* out, std::string& error);

bool safetensorsSave(std::FILE* f, std::span<const NamedTensor> tensors);
bool npzSave(std::FILE* f, std::span<const NamedTensor> tensors, std::string& error);

}  // namespace tenc::rt::format
