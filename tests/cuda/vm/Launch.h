// One launch of a kernel: what its warps and blocks have in common, and the loop that runs them.
#pragma once
#include <array>
#include <memory>
#include <random>
#include <vector>

#include "tests/cuda/vm/BlockOrder.h"
#include "tests/cuda/vm/FirstLevelCache.h"
#include "tests/cuda/vm/Machine.h"
#include "tests/cuda/vm/SharedMemory.h"
#include "tests/cuda/vm/Warp.h"

namespace tenc::ptx {

constexpr size_t kBarriers = 16;

/// A barrier of a block, while warps come to it.
struct Barrier {
  uint32_t arrived = 0;   // warps
  uint32_t expected = 0;  // threads; 0: all of the block
  std::vector<uint32_t> waiting;
  std::vector<uint32_t> clock;  // what has happened before the warps came
  uint32_t count = 0;           // of bar.red: lanes whose predicate holds
  bool all = true, any = false;
};

struct Block {
  uint32_t index = 0;
  Dim3 position{0, 0, 0};
  SharedMemory shared;
  BlockOrder order;
  std::vector<std::unique_ptr<Warp>> warps;
  std::array<Barrier, kBarriers> barriers;
  std::vector<WarpgroupSteps> warpgroups;
  uint32_t liveWarps = 0, exitedThreads = 0;

  /// Lets the warps go on that wait at a barrier whose last one has come.
  void release(Launch& launch, uint32_t barrier);
};

struct Launch {
  DeviceMemory& memory;
  Reports& reports;
  const Options& options;
  const Kernel& kernel;
  KernelCounters& counters;
  LaunchShape shape;
  const uint8_t* parameters = nullptr;
  uint32_t id = 0;
  uint32_t threads = 0, sharedBytes = 0;
  std::mt19937_64 random;
  Published published;           // what blocks have made known to others
  Allocation* recent = nullptr;  // that an access hit
  uint64_t executed = 0;         // warp instructions
  std::vector<FirstLevelCache> caches = std::vector<FirstLevelCache>(kCaches);

  /// Throws Fault where the kernel cannot go on.
  void run();

 private:
  void start(Block& block, uint32_t index);
  void fillSpecials(Warp& warp);
  uint64_t quantum();
  void runSome(std::vector<std::unique_ptr<Block>>& resident);
  void checkDeadlock(const Block& block) const;
};

}  // namespace tenc::ptx
