// For those who look on: the trips of the outermost loop, the kernel that runs, and what each step took.
#pragma once
#include <chrono>
#include <string>

#include "runtime/Call.h"
#include "runtime/abi/Program.h"

namespace tenc::rt {

using Clock = std::chrono::steady_clock;

inline int64_t nanoseconds() { return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(); }
inline double seconds(Clock::time_point t) { return std::chrono::duration<double>(t.time_since_epoch()).count(); }

/// Tells of the trips of a loop that stands in no other.
class TripsShown {
 public:
  TripsShown(LoopProgress* progress, uint64_t trips) : progress_(progress) {
    if (!progress_ || progress_->start.load(std::memory_order_relaxed) != 0) {
      progress_ = nullptr;
      return;
    }
    progress_->trip = 0;
    progress_->trips = trips;
    progress_->start = nanoseconds();
  }
  ~TripsShown() {
    if (progress_) progress_->start = 0;
  }
  TripsShown(const TripsShown&) = delete;
  TripsShown& operator=(const TripsShown&) = delete;
  void done(uint64_t trips) {
    if (progress_) progress_->trip.store(trips, std::memory_order_relaxed);
  }

 private:
  LoopProgress* progress_;
};

/// Lets the loop of a kernel be seen that stands in no other.
class KernelShown {
 public:
  KernelShown(LoopProgress* progress, abi::KernelState& kernel) : progress_(progress) {
    if (!progress_ || progress_->start.load(std::memory_order_relaxed) != 0) {
      progress_ = nullptr;
      return;
    }
    __atomic_store_n(&kernel.step, 0, __ATOMIC_RELAXED);
    progress_->kernel = &kernel;
    progress_->start = nanoseconds();
  }
  ~KernelShown() {
    if (!progress_) return;
    progress_->start = 0;
    progress_->kernel = nullptr;
  }
  KernelShown(const KernelShown&) = delete;
  KernelShown& operator=(const KernelShown&) = delete;

 private:
  LoopProgress* progress_;
};

/// What a step is called in a trace, and the device that carries it out.
std::string nameOf(const abi::Step& step, const abi::Program& p);
uint32_t deviceOf(const abi::Step& step, const abi::Program& p);

}  // namespace tenc::rt
