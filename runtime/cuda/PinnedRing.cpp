#include "runtime/cuda/PinnedRing.h"

#include <algorithm>
#include <cstring>

namespace tenc::rt::cuda {
namespace {

constexpr unsigned kPortable = 1;  // CU_MEMHOSTALLOC_PORTABLE: pinned for all devices
constexpr uint64_t kAlignment = 256;

uint64_t rounded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

PinnedRing::PinnedRing(CudaCalls& calls, uint64_t bytes) : calls_(calls), size_(rounded(bytes) / kParts * kParts) {}

PinnedRing::~PinnedRing() {
  if (memory_ != nullptr) calls_.f().hostFree(memory_);
}

bool PinnedRing::reserve() {
  if (memory_ != nullptr || refused_) return memory_ != nullptr;
  void* memory = nullptr;
  refused_ = calls_.f().hostAllocate(&memory, size_, kPortable) != 0;
  memory_ = static_cast<std::byte*>(memory);
  return !refused_;
}

void PinnedRing::finish(Part& p) {
  calls_.await(p.done);
  // Of a copy that was not made nothing is there to be had.
  if (p.target != nullptr && calls_.goesOn()) std::memcpy(p.target, memory_ + p.begin, p.end - p.begin);
  p.target = nullptr;
}

std::byte* PinnedRing::take(uint64_t bytes) {
  if (!reserve()) return nullptr;
  const uint64_t room = rounded(bytes);
  if (next_ + room > size_) {
    // The rest is too short: all that is in use behind here goes first.
    while (!parts_.empty() && parts_.front().begin >= next_) {
      finish(parts_.front());
      parts_.pop_front();
    }
    next_ = 0;
  }
  while (!parts_.empty() && parts_.front().begin < next_ + room && parts_.front().end > next_) {
    finish(parts_.front());
    parts_.pop_front();
  }
  taken_ = bytes;
  return memory_ + next_;
}

void PinnedRing::give(const Event& done, std::byte* target, Ticket ticket) {
  parts_.push_back({next_, next_ + taken_, done, target, ticket});
  next_ += rounded(taken_);
}

void PinnedRing::deliver(Ticket ticket) {
  for (Part& p : parts_)
    if (p.ticket == ticket && p.target != nullptr) finish(p);
}

void PinnedRing::deliverAll() {
  for (Part& p : parts_) finish(p);
  parts_.clear();
  next_ = 0;
}

void PinnedRing::forget() {
  for (Part& p : parts_) p.target = nullptr;
}

}  // namespace tenc::rt::cuda
