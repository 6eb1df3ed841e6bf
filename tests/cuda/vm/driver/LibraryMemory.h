// Memory of a device as a fake of a library touches it: checked as that of a kernel.
#pragma once
#include <cstdint>
#include <string>

#include "tests/cuda/vm/driver/Command.h"

namespace tenc::ptx::driver {

class LibraryMemory {
 public:
  /// `function` is what reports name.
  LibraryMemory(Device& device, std::string function) : machine_(device.machine), function_(std::move(function)) {}
  bool isWell() const { return well_; }

  /// Where the host finds it; null where nothing that is allocated holds all of it.
  uint8_t* range(uint64_t address, uint64_t bytes, const std::string& what);
  /// Of a range: it is read, written, or written with what nobody knows.
  void read(uint64_t address, uint64_t bytes, const std::string& what);
  void written(uint64_t address, uint64_t bytes, bool isKnown = true);
  /// A workspace, which is not what it was afterwards.
  void spoil(uint64_t address, uint64_t bytes, const std::string& what);
  void report(Finding f, const std::string& what, const std::string& detail);

 private:
  Machine& machine_;
  const std::string function_;
  bool well_ = true;
};

}  // namespace tenc::ptx::driver
