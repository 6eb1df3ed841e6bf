// What launches cost, per instruction: the measures by which a kernel is judged without a GPU.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/cuda/vm/Kernel.h"

namespace tenc::ptx {

struct InstructionCounters {
  uint64_t executed = 0;                             // by a warp
  uint64_t lanes = 0;                                // by a thread
  uint64_t divergent = 0;                            // branches after which the warp's lanes went different ways
  uint64_t sectors = 0;                              // of 32 bytes, that the lanes' global addresses touch
  uint64_t sectorsInL1 = 0;                          // of these, those that its multiprocessor has read before
  uint64_t bytes = 0;                                // that the lanes asked for in global memory
  uint64_t sharedCycles = 0, idealSharedCycles = 0;  // of shared memory, with and without bank conflicts

  InstructionCounters& operator+=(const InstructionCounters& c);
};

struct KernelCounters {
  const Kernel* kernel = nullptr;
  std::vector<InstructionCounters> at;  // one for each instruction
  uint64_t launches = 0, blocks = 0, threads = 0;
  uint32_t dynamicShared = 0;                    // bytes of a block, at most
  uint64_t sectorsRead = 0, sectorsWritten = 0;  // each once a launch: what DRAM has to move at least

  InstructionCounters total() const;
  /// Instructions of a warp by class; helpers are left out.
  std::array<uint64_t, kClasses> byClass() const;
  uint64_t flops() const;
  /// Of these those of wgmma, which tensor cores do faster than those of mma.
  uint64_t warpgroupFlops() const;
  /// Of the sectors moved, the share that the lanes asked for; 1 where nothing was moved.
  double coalescing() const;
  /// The instructions that waste most sectors and cycles of shared memory, a line each.
  std::string worst(size_t count) const;
  std::string text() const;
};

/// By name of the kernel.
using Counters = std::map<std::string, KernelCounters>;

}  // namespace tenc::ptx
