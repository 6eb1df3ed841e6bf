#include "runtime/cuda/CudaTimes.h"

#include <chrono>

namespace tenc::rt::cuda {
namespace {

constexpr size_t kMostOpen = 4096;

const char* nameOf(Lane lane) {
  constexpr const char* kNames[] = {" kernels", " copies in", " copies out"};
  return kNames[static_cast<size_t>(lane)];
}

}  // namespace

CudaTimes::CudaTimes(std::shared_ptr<const CudaDriver> driver, ContextHandle context, CudaCalls& calls,
                     std::string device)
    : calls_(calls),
      device_(std::move(device)),
      events_(std::make_shared<CudaEvents>(std::move(driver), context, /*timed=*/true)) {}

Event CudaTimes::mark(StreamHandle queue) {
  Event event;
  if (events_->take(event) != 0 || calls_.f().recordEvent(event.get(), queue) != 0) return nullptr;
  return event;
}

void CudaTimes::begin(bool wanted, StreamHandle queue) {
  open_.clear();
  known_.clear();
  leftOut_ = 0;
  zero_ = wanted ? mark(queue) : nullptr;
  if (!zero_) return;
  calls_.await(zero_);
  zeroNanoseconds_ = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Event CudaTimes::start(StreamHandle queue) { return zero_ ? mark(queue) : nullptr; }

void CudaTimes::end(const Event& start, StreamHandle queue, Lane lane, std::string name) {
  if (!start) return;
  if (open_.size() >= kMostOpen) settle();
  if (open_.size() + known_.size() >= CallTrace::kMost) {
    ++leftOut_;
  } else if (Event end = mark(queue)) {
    open_.push_back({start, std::move(end), lane, std::move(name)});
  }
}

void CudaTimes::settle() {
  const auto at = [this](const Event& e, int64_t& nanoseconds) {
    float milliseconds = 0;
    if (calls_.f().elapsed(&milliseconds, zero_.get(), e.get()) != 0) return false;
    nanoseconds = zeroNanoseconds_ + static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    return true;
  };
  size_t settled = 0;
  for (; settled < open_.size(); ++settled) {
    const Span& s = open_[settled];
    int64_t begin = 0, end = 0;
    if (!at(s.start, begin) || !at(s.end, end)) break;
    known_.push_back({s.name, device_ + nameOf(s.lane), begin, end});
  }
  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(settled));
}

void CudaTimes::give(CallTrace& trace) {
  if (!zero_) return;
  settle();
  for (TraceEvent& e : known_) {
    if (trace.events.size() < CallTrace::kMost)
      trace.events.push_back(std::move(e));
    else
      ++leftOut_;
  }
  trace.leftOut += leftOut_ + open_.size();
  begin(false, nullptr);
}

}  // namespace tenc::rt::cuda
