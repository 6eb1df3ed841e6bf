// The contract between codegen and runtime: a static list of steps over buffers at offsets planned at compile time.
// Plain data without pointers, so that it can be written to a file; the runtime knows nothing of the compiler, the
// compiler nothing of threads or drivers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/abi/Faults.h"
#include "runtime/abi/KernelState.h"
#include "runtime/abi/Kernels.h"
#include "runtime/abi/Steps.h"

namespace tenc::abi {

/// Changes whenever machine code of before would not run any more: the types of kernels, KernelState, the functions
/// that kernels call, the routines and their options.
inline constexpr uint32_t kVersion = 1;
/// Of a program, the host among them.
inline constexpr size_t kMostDevices = 32;

/// A buffer of the plan. `device` indexes Program::devices; `offset` is in the device's arena. Loops may exchange the
/// addresses of two buffers, so a buffer's address is looked up at each step.
struct Buffer {
  uint32_t device = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  /// It stays in the file that a Load maps, and no step but that writes to it: not part of the arena. `offset` is in a
  /// range of addresses of its own (Program::fileBytes), which takes memory only where the file cannot be mapped.
  bool inFile = false;
};

struct Device {
  std::string name;  ///< actual name: "cpu", "cuda:0"
  uint64_t arenaBytes = 0;
};

/// Bytes that a buffer holds before the first step. No step writes to it, and it shares its memory with no other.
struct Constant {
  BufferId buffer = kNoBuffer;
  std::string bytes;
};

struct Program {
  std::vector<Device> devices;  ///< devices[0] is the host, cpu
  std::vector<Buffer> buffers;
  uint64_t fileBytes = 0;  ///< of the buffers that stay in files
  std::vector<CodeImage> images;
  std::vector<Kernel> kernels;
  Block steps;
  std::vector<Constant> constants;
  std::vector<TensorRef> inputs;   ///< given before a run; no step writes to them
  std::vector<TensorRef> results;  ///< kept after a run
  std::vector<FaultSite> sites;
  std::vector<Excerpt> excerpts;  ///< of the sources that sites stand in
};

}  // namespace tenc::abi
