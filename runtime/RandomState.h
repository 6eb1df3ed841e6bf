// The state of the generator of random numbers: a seed and how many draws were made since.
#pragma once
#include <cstdint>
#include <mutex>
#include <utility>

namespace tenc::rt {

/// Thread-safe. Draws of calls that share a state and run at the same time take turns in no fixed order: where results
/// have to be the same each time, such calls bring states of their own.
class RandomState {
 public:
  RandomState() = default;
  explicit RandomState(uint64_t seed, uint64_t draws = 0) : seed_(seed), draws_(draws) {}
  RandomState(const RandomState&) = delete;
  RandomState& operator=(const RandomState&) = delete;

  void seed(uint64_t seed, uint64_t draws = 0) {
    const std::lock_guard lock(mutex_);
    seed_ = seed;
    draws_ = draws;
  }
  /// The seed and the number of the next draw; `counts`: which is made with this.
  std::pair<uint64_t, uint64_t> next(bool counts) {
    const std::lock_guard lock(mutex_);
    const std::pair state(seed_, draws_);
    if (counts) ++draws_;
    return state;
  }

 private:
  std::mutex mutex_;
  uint64_t seed_ = 0, draws_ = 0;
};

}  // namespace tenc::rt
