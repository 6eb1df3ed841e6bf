// What is known of wgmma while a kernel runs: products that a warp has under way, the registers that they use, and what
// the four warps of a warpgroup have executed together.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "tests/cuda/vm/Kernel.h"

namespace tenc::ptx {

/// A wgmma.mma_async that has been issued, of which a warp does its 16 rows.
struct PendingProduct {
  uint32_t group = 0, pc = 0;
  uint64_t a = 0, b = 0;  // descriptors
  bool accumulate = false, computed = false;
};

/// A register that products use as D or A.
struct RegisterUse {
  uint32_t inD = 0, inA = 0;  // of products that are under way
  uint32_t columns = 0;       // of products that have had it in D since the last wgmma.fence
  bool touched = false;       // by another instruction since then
};

/// Of a warp.
struct WarpgroupState {
  std::vector<PendingProduct> products;
  uint32_t group = 0;  // that is not committed yet
  uint64_t steps = 0;  // instructions of the warpgroup so far
  bool fenced = false;
  std::vector<RegisterUse> registers;  // by a slot's row

  void start(const Kernel& k) {
    products.clear();
    group = 0;
    steps = 0;
    fenced = false;
    registers.assign(k.products.empty() ? 0 : k.registerWords / kLanes, {});
  }
};

/// What the warps of a warpgroup execute, one entry after the other, until all four have come to it.
struct WarpgroupSteps {
  struct Step {
    uint32_t pc = 0;
    uint64_t a = 0, b = 0;
    bool accumulate = false;
    uint32_t came = 0;
  };
  uint64_t first = 0;  // the number of the first entry
  std::deque<Step> steps;
};

/// Whether the warp stands here as a whole. That the others of its warpgroup execute the same is checked: a fault where
/// they do not.
bool togetherInWarpgroup(Warp& w, const Instruction& i, const PendingProduct& operands);
/// Its registers have to be free and fenced; they are in use from now on.
void takeRegisters(Warp& w, const WarpgroupProduct& p);
void giveRegisters(Warp& w, const WarpgroupProduct& p);
/// wgmma.fence.
void fenceRegisters(Warp& w);
/// An instruction touches registers that products use.
void noteRegisters(Warp& w, const Instruction& i);
/// A warp has returned.
void leaveWarpgroup(Warp& w);

}  // namespace tenc::ptx
