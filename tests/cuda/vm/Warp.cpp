#include "tests/cuda/vm/Warp.h"

#include <algorithm>
#include <bit>

#include "tests/cuda/vm/Launch.h"

namespace tenc::ptx {
namespace {

// A group that spins until another one has done something must not keep it from doing it: after so many instructions
// with several groups another one runs for a while.
constexpr uint64_t kRotateAfter = 1 << 16, kHold = 4096;

}  // namespace

Warp::Warp(Launch& launch, Block& block, uint32_t index)
    : launch_(&launch),
      block_(&block),
      index_(index),
      constants_(launch.kernel.constants.data()),
      localBytes_(launch.kernel.localBytes),
      storage_(launch.kernel.registerWords + 16),
      local_(size_t{launch.kernel.localBytes} * kLanes, 0xFF) {
  registers_ = storage_.data();
  while (reinterpret_cast<uintptr_t>(registers_) % 64) ++registers_;
}

void Warp::start(Mask lanes) {
  pc_ = 0;
  meeting_ = ~0u;
  active_ = live_ = lanes;
  state_ = State::Ready;
  sinceRotation_ = held_ = 0;
  groups_.clear();
  copies.clear();
  std::fill(std::begin(copyGroup), std::end(copyGroup), 0);
  warpgroup.start(launch_->kernel);
}

uint64_t Warp::run(uint64_t instructions) {
  const Instruction* code = launch_->kernel.code.data();
  InstructionCounters* counters = launch_->counters.at.data();
  uint64_t n = 0;
  for (; n < instructions && state_ == State::Ready; ++n) {
    if (pc_ == meeting_) select();
    const Instruction& i = code[pc_];
    executing_ = active_;
    if (i.guard != kNoSlot) executing_ &= i.guardNegated ? ~registers_[i.guard] : registers_[i.guard];
    InstructionCounters& c = counters[pc_];
    ++c.executed;
    c.lanes += static_cast<uint64_t>(std::popcount(executing_));
    ++pc_;
    if (i.watched && executing_) [[unlikely]]
      noteRegisters(*this, i);
    i.handler(*this, i);
  }
  sinceRotation_ += n;
  held_ -= std::min(held_, n);
  if (state_ == State::Ready && active_ && diverged() && sinceRotation_ > kRotateAfter) rotate();
  return n;
}

void Warp::rotate() {
  sinceRotation_ = 0;
  Group& other = groups_[launch_->random() % groups_.size()];
  if (other.blocked) return;
  held_ = kHold;
  std::swap(other.pc, pc_);
  std::swap(other.lanes, active_);
  limitRun();
}

void Warp::limitRun() {
  meeting_ = ~0u;
  for (const Group& g : groups_) {
    if (g.pc > pc_) meeting_ = std::min(meeting_, g.pc);
  }
}

void Warp::select() {
  Mask before = held_ ? active_ : 0;
  if (active_) groups_.push_back({pc_, active_, false});
  active_ = 0;
  for (size_t a = 0; a < groups_.size(); ++a) {
    for (size_t b = a + 1; b < groups_.size();) {
      if (groups_[a].pc != groups_[b].pc) {
        ++b;
        continue;
      }
      groups_[a].lanes |= groups_[b].lanes;
      groups_[a].blocked = false;
      groups_.erase(groups_.begin() + static_cast<ptrdiff_t>(b));
    }
  }
  Group* next = nullptr;
  for (Group& g : groups_) {
    if (!g.blocked && (!next || g.pc < next->pc)) next = &g;
  }
  if (!next) return;
  for (Group& g : groups_) {
    if (!g.blocked && (g.lanes & before)) next = &g;
  }
  pc_ = next->pc;
  active_ = next->lanes;
  groups_.erase(groups_.begin() + (next - groups_.data()));
  limitRun();
}

uint32_t Warp::firstLane() const { return executing_ ? static_cast<uint32_t>(std::countr_zero(executing_)) : 0; }

uint32_t Warp::uniform(Slot slot) const { return read<uint32_t>(slot)[firstLane()]; }

void Warp::branch(Mask taken, uint32_t target) {
  if (!taken) return;
  Mask rest = active_ & ~taken;
  if (!rest) {
    pc_ = target;
    if (diverged()) select();
    return;
  }
  ++launch_->counters.at[pc()].divergent;
  groups_.push_back({pc_, rest, false});
  pc_ = target;
  active_ = taken;
  select();
}

void Warp::scatter(const std::vector<std::pair<uint32_t, Mask>>& places) {
  if (places.size() > 1) ++launch_->counters.at[pc()].divergent;
  for (auto [pc, lanes] : places) groups_.push_back({pc, lanes, false});
  active_ = 0;
  select();
}

void Warp::exitLanes(Mask lanes) {
  live_ &= ~lanes;
  active_ &= ~lanes;
  if (!live_) {
    state_ = State::Done;
    return;
  }
  // Who waits for these lanes need not any longer.
  for (Group& g : groups_) g.blocked = false;
  if (diverged()) select();
}

bool Warp::converge(const Instruction& i, Mask needed) {
  if (!(needed & ~executing_)) return true;
  groups_.push_back({--pc_, active_, true});
  active_ = 0;
  select();
  if (active_) return false;
  std::string places;
  for (const Group& g : groups_) {
    places += (places.empty() ? "" : "; ") + std::to_string(std::popcount(g.lanes)) + " lanes at " +
              launch_->kernel.describe(g.pc);
  }
  pc_ = groups_.front().pc + 1;
  fault(Finding::DivergentBarrier, (i.cls == Class::Barrier ? "a barrier" : "an instruction of a whole warp") +
                                       std::string(" that lanes of warp ") + std::to_string(index_) +
                                       " do not reach together: " + places);
}

std::string Warp::who(uint32_t lane) const {
  const Dim3& d = launch_->shape.block;
  uint32_t t = thread(lane);
  auto tuple = [](uint32_t x, uint32_t y, uint32_t z) {
    return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
  };
  return "thread " + tuple(t % d.x, t / d.x % d.y, t / d.x / d.y) + " of block " +
         tuple(block_->position.x, block_->position.y, block_->position.z);
}

void Warp::report(Finding f, const std::string& detail) const {
  launch_->reports.add(f, launch_->kernel.name, launch_->kernel.describe(pc()), detail);
}

void Warp::fault(Finding f, const std::string& detail) const { throw Fault{f, launch_->kernel.describe(pc()), detail}; }

}  // namespace tenc::ptx
