// A warp: the registers of 32 lanes, and the groups of lanes that stand at different places. The group with the lowest
// pc runs, and groups that meet become one, so that lanes reconverge where the branches of a structured program do.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/vm/Kernel.h"
#include "tests/cuda/vm/Reports.h"
#include "tests/cuda/vm/Warpgroup.h"

namespace tenc::ptx {

struct Block;
struct Launch;

/// A cp.async that has been issued: its data arrive when they are waited for, as late as the rules allow.
struct PendingCopy {
  uint32_t lane = 0, group = 0, pc = 0;
  uint32_t to = 0, bytes = 0;  // in shared memory
  uint8_t data[16] = {};
};

class Warp {
 public:
  enum class State : uint8_t { Ready, AtBarrier, Done };

  Warp(Launch& launch, Block& block, uint32_t index);
  /// Puts the warp at the start of the kernel.
  void start(Mask lanes);
  /// Runs at most so many instructions, and fewer where a barrier or the end comes. Returns how many ran.
  uint64_t run(uint64_t instructions);

  // Registers.
  template <class S>
  const S* read(Slot slot) const {
    const uint32_t* base = slot & kConstant ? constants_ : registers_;
    return reinterpret_cast<const S*>(base + (slot & ~kConstant));
  }
  /// For those who write lane by lane.
  template <class S>
  S* lanes(Slot slot) {
    return reinterpret_cast<S*>(registers_ + slot);
  }
  /// Values of all lanes, of which those that execute are kept.
  template <class S>
  void write(Slot slot, const S* values) {
    S* to = lanes<S>(slot);
    if (executing_ == kAllLanes) {
      std::memcpy(to, values, kLanes * sizeof(S));
    } else {
      for (uint32_t l = 0; l < kLanes; ++l) to[l] = executing_ >> l & 1 ? values[l] : to[l];
    }
  }
  template <class S>
  void writeAll(Slot slot, S value) {
    S values[kLanes];
    for (S& v : values) v = value;
    write(slot, values);
  }
  Mask predicate(Slot slot, bool negated = false) const {
    Mask p = *read<Mask>(slot);
    return negated ? ~p : p;
  }
  void writePredicate(Slot slot, Mask p) {
    Mask& to = registers_[slot];
    to = (to & ~executing_) | (p & executing_);
  }
  /// The value of an operand that all executing lanes have to agree on: of the first of them.
  uint32_t uniform(Slot slot) const;

  // Lanes.
  Mask executing() const { return executing_; }  // the instruction at hand
  Mask active() const { return active_; }        // the group that runs
  Mask live() const { return live_; }            // have not returned
  uint32_t firstLane() const;
  bool diverged() const { return !groups_.empty(); }

  // Control flow, for the handlers.
  void jump(uint32_t target) { pc_ = target; }
  /// The lanes that take the branch go on at `target`, the others of the group behind it.
  void branch(Mask taken, uint32_t target);
  /// The lanes of the group go on at different places.
  void scatter(const std::vector<std::pair<uint32_t, Mask>>& places);
  void exitLanes(Mask lanes);
  /// Whether all of `needed` stand at this instruction. Where they don't, this group waits here and another one runs;
  /// where none can, that is a fault.
  bool converge(const Instruction& i, Mask needed);
  void wait() { state_ = State::AtBarrier; }
  void resume() { state_ = State::Ready; }

  /// The instruction at hand.
  uint32_t pc() const { return pc_ - 1; }
  State state() const { return state_; }
  uint32_t index() const { return index_; }
  Launch& launch() const { return *launch_; }
  Block& block() const { return *block_; }
  uint32_t thread(uint32_t lane) const { return index_ * kLanes + lane; }
  uint8_t* local(uint32_t lane) { return local_.data() + size_t{lane} * localBytes_; }

  /// "thread (3,0,0) of block (1,0,0)".
  std::string who(uint32_t lane) const;
  void report(Finding f, const std::string& detail) const;
  [[noreturn]] void fault(Finding f, const std::string& detail) const;

  // What only some handlers use.
  Mask carry = 0;                   // of add.cc and the like
  std::vector<PendingCopy> copies;  // cp.async
  uint32_t copyGroup[kLanes] = {};
  WarpgroupState warpgroup;

 private:
  struct Group {
    uint32_t pc = 0;
    Mask lanes = 0;
    bool blocked = false;  // waits for others to come
  };
  void select();
  void limitRun();
  void rotate();

  Launch* launch_;
  Block* block_;
  uint32_t index_;
  uint32_t* registers_ = nullptr;
  const uint32_t* constants_ = nullptr;
  uint32_t localBytes_ = 0;
  uint32_t pc_ = 0;
  uint32_t meeting_ = ~0u;  // the lowest pc above this one where another group stands
  Mask active_ = 0, executing_ = 0, live_ = 0;
  State state_ = State::Ready;
  uint64_t sinceRotation_ = 0, held_ = 0;
  std::vector<Group> groups_;  // the others
  std::vector<uint32_t> storage_;
  std::vector<uint8_t> local_;
};

}  // namespace tenc::ptx
