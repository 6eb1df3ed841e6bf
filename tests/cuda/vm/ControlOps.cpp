// Branches, the end of threads, barriers and fences.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "tests/cuda/vm/Handlers.h"
#include "tests/cuda/vm/Launch.h"

namespace tenc::ptx {

void executeBranch(Warp& w, const Instruction& i) {
  if (w.executing() == w.active() && !w.diverged())
    w.jump(i.target);
  else
    w.branch(w.executing(), i.target);
}

void executeIndexedBranch(Warp& w, const Instruction& i) {
  const auto& table = w.launch().kernel.branchTables[i.target];
  const uint32_t* index = w.read<uint32_t>(i.from[0]);
  std::map<uint32_t, Mask> places;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(w.executing() >> l & 1)) continue;
    if (index[l] >= table.size())
      w.fault(Finding::OutOfRange, w.who(l) + " branches to entry " + std::to_string(index[l]) + " of a table of " +
                                       std::to_string(table.size()));
    places[table[index[l]]] |= 1u << l;
  }
  if (Mask rest = w.active() & ~w.executing()) places[w.pc() + 1] |= rest;
  w.scatter({places.begin(), places.end()});
}

void executeReturn(Warp& w, const Instruction&) {
  Mask lanes = w.executing();
  if (!lanes) return;
  Block& b = w.block();
  b.exitedThreads += static_cast<uint32_t>(std::popcount(lanes));
  w.exitLanes(lanes);
  if (w.state() != Warp::State::Done) return;
  --b.liveWarps;
  if (!w.launch().kernel.products.empty()) leaveWarpgroup(w);
  for (uint32_t n = 0; n < kBarriers; ++n) b.release(w.launch(), n);
}

void executeTrap(Warp& w, const Instruction&) {
  if (w.executing()) w.fault(Finding::Trap, w.who(w.firstLane()));
}

void executeNothing(Warp&, const Instruction&) {}

void executeUnsupported(Warp& w, const Instruction&) {
  if (w.executing()) w.fault(Finding::Unsupported, w.who(w.firstLane()) + " executes what the machine does not know");
}

void executeBarrier(Warp& w, const Instruction& i) {
  if (!w.executing() || !w.converge(i, w.live())) return;
  Block& b = w.block();
  uint32_t number = w.uniform(i.from[0]) % kBarriers, expected = w.uniform(i.from[1]);
  Barrier& barrier = b.barriers[number];
  if (b.exitedThreads && !expected) {
    w.report(Finding::BarrierAfterExit,
             std::to_string(b.exitedThreads) + " threads of block " + std::to_string(b.index) + " have returned");
  }
  const auto& clock = b.shared.clock(w.index());
  barrier.clock.resize(clock.size());
  for (size_t n = 0; n < clock.size(); ++n) barrier.clock[n] = std::max(barrier.clock[n], clock[n]);
  if (i.mode >= 2) {
    Mask p = w.predicate(i.from[2], i.negated >> 2 & 1) & w.live();
    barrier.count += static_cast<uint32_t>(std::popcount(p));
    barrier.all &= p == w.live();
    barrier.any |= p != 0;
  }
  ++barrier.arrived;
  barrier.expected = expected;
  if (i.mode == 1) {
    b.shared.advance(w.index());
  } else {
    barrier.waiting.push_back(w.index());
    w.wait();
  }
  b.release(w.launch(), number);
}

void executeFence(Warp& w, const Instruction& i) {
  if (i.mode && w.executing()) w.block().order.fence();
}

void executeSetCondition(Warp& w, const Instruction& i) {
  const auto& set = w.launch().options.setCondition;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(w.executing() >> l & 1)) continue;
    uint64_t handle = 0;
    uint32_t value = 0;
    std::memcpy(&handle, w.local(l) + i.offset, sizeof handle);
    std::memcpy(&value, w.local(l) + i.offset2, sizeof value);
    if (!set || !set(handle, value))
      w.fault(Finding::OutOfRange,
              w.who(l) + " sets the condition " + std::to_string(handle) + ", which is none of the graph that runs");
  }
}

}  // namespace tenc::ptx
