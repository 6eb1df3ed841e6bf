#include "runtime/cuda/CudaCalls.h"

#include <chrono>
#include <thread>

#include "runtime/cuda/CudaAdvice.h"

namespace tenc::rt::cuda {
namespace {

constexpr Result kNotReady = 600;  // CUDA_ERROR_NOT_READY

}  // namespace

CudaCalls::CudaCalls(std::shared_ptr<const CudaDriver> driver, ContextHandle context, std::atomic<Result>& lost,
                     std::string device)
    : driver_(std::move(driver)),
      context_(context),
      lost_(lost),
      device_(std::move(device)),
      events_(std::make_shared<CudaEvents>(driver_, context_, /*timed=*/false)) {}

void CudaCalls::begin(const StreamCall& call) {
  call_ = call;
  stop_.reset();
  enter(0);
}

void CudaCalls::enter(uint64_t order) {
  order_ = order;
  f().setCurrent(context_);
}

bool CudaCalls::well(Result status, const char* call) {
  if (status == 0) return true;
  if (spoilsDevice(status)) lost_ = status;
  if (!stop_)
    stop_ = DeviceStop{order_, 0, device_ + ", " + call + ": " + driver_->explain(status), {}, status == kOutOfMemory};
  return false;
}

void CudaCalls::stopAt(DeviceStop stop) {
  if (!stop_) stop_ = std::move(stop);
}

Event CudaCalls::mark(StreamHandle queue) {
  Event event;
  if (stop_ || !well(events_->take(event), "cuEventCreate") ||
      !well(f().recordEvent(event.get(), queue), "cuEventRecord"))
    return nullptr;
  return event;
}

void CudaCalls::hold(StreamHandle queue, const Event& event) {
  if (event == nullptr || call_.dropWaits || stop_) return;
  well(f().waitEvent(queue, event.get(), 0), "cuStreamWaitEvent");
}

bool CudaCalls::isReached(const Event& event) {
  if (event == nullptr) return true;
  const Result status = f().queryEvent(event.get());
  if (status == kNotReady) return false;
  well(status, "cuEventQuery");
  return true;
}

void CudaCalls::await(const Event& event) {
  constexpr int kEager = 200;  // looks without a pause: some 100 us
  constexpr auto kPause = std::chrono::microseconds(50);
  constexpr auto kAgain = std::chrono::milliseconds(10);
  std::optional<std::chrono::steady_clock::time_point> told;
  for (int looks = 0; !isReached(event); ++looks) {
    if (isInterrupted() && end_) {
      const auto now = std::chrono::steady_clock::now();
      if (!told || now - *told >= kAgain) {
        end_();
        told = now;
      }
    }
    if (looks >= kEager) std::this_thread::sleep_for(kPause);
  }
}

}  // namespace tenc::rt::cuda
