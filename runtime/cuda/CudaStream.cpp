#include "runtime/cuda/CudaStream.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/cuda/CudaAdvice.h"
#include "runtime/cuda/CudaGpus.h"

namespace tenc::rt::cuda {
namespace {

Pointer pointer(const void* p) { return reinterpret_cast<Pointer>(p); }
constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr unsigned kNoTiming = 2;     // CU_EVENT_DISABLE_TIMING
constexpr Result kNotReady = 600;     // CUDA_ERROR_NOT_READY

constexpr uint64_t kRun = 16;  // launches; at most two runs wait in the queue

bool isSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != 0 && *value != '0';
}

}  // namespace

CudaStream::CudaStream(std::shared_ptr<const CudaDriver> driver, ContextHandle context, std::atomic<Result>& lost,
                       const StreamSetup& setup)
    : driver_(std::move(driver)),
      f_(driver_->f()),
      context_(context),
      lost_(lost),
      waitsForEach_(isSet("TENC_CUDA_SYNC")),
      program_(*setup.program),
      device_(setup.device) {}

CudaStream::Failure CudaStream::prepare() {
  const abi::Program& p = program_.program();
  Failure failure;
  auto check = [&](Result status, const std::string& what) {
    if (status != 0) failure = {status, what};
    return status == 0;
  };
  if (!check(f_.setCurrent(context_), "cannot be used")) return failure;
  const uint64_t bytes = std::max<uint64_t>(p.devices[device_].arenaBytes, 1);
  if (!check(f_.allocate(&memory_, bytes), "cannot give " + std::to_string(bytes) + " bytes")) return failure;
  if (!check(f_.allocate(&faults_, sizeof(Faults)), "cannot give memory")) return failure;
  if (!check(f_.createStream(&stream_, kNonBlocking), "has no queue")) return failure;
  for (const abi::Buffer& b : p.buffers)
    addresses_.push_back(b.device == device_ ? reinterpret_cast<std::byte*>(memory_ + b.offset) : nullptr);
  modules_.resize(p.images.size());
  for (const auto& [device, kernel] : program_.launches()) {
    const auto* code = std::get_if<abi::DeviceCode>(&p.kernels[kernel].code);
    if (device != device_ || code == nullptr) continue;
    ModuleHandle& module = modules_[code->image];
    if (module == nullptr && !check(f_.loadModule(&module, p.images[code->image].bytes.c_str()),
                                    "does not load code for " + p.images[code->image].architecture +
                                        " (driver of CUDA " + versionText(driver_->version()) + ")"))
      return failure;
    if (!check(f_.getFunction(&functions_[&p.kernels[kernel]], module, code->symbol.c_str()),
               "has no kernel " + code->symbol))
      return failure;
  }
  return failure;
}

CudaStream::~CudaStream() {
  f_.setCurrent(context_);
  if (stream_ != nullptr) f_.synchronize(stream_);
  for (const auto& [ticket, event] : events_) f_.destroyEvent(event);
  for (EventHandle e : free_) f_.destroyEvent(e);
  for (EventHandle e : paces_)
    if (e != nullptr) f_.destroyEvent(e);
  for (ModuleHandle m : modules_)
    if (m != nullptr) f_.unloadModule(m);
  if (stream_ != nullptr) f_.destroyStream(stream_);
  if (faults_ != 0) f_.free(faults_);
  if (memory_ != 0) f_.free(memory_);
}

bool CudaStream::well(Result status, const char* call, uint64_t order) {
  if (status == 0) return true;
  if (spoilsDevice(status)) lost_ = status;
  if (!stop_) {
    const std::string& name = program_.program().devices[device_].name;
    stop_ = DeviceStop{order, 0, name + ", " + call + ": " + driver_->explain(status)};
  }
  return false;
}

Ticket CudaStream::mark(uint64_t order) {
  EventHandle event = nullptr;
  if (free_.empty())
    well(f_.createEvent(&event, kNoTiming), "cuEventCreate", order);
  else
    event = free_.back(), free_.pop_back();
  well(f_.recordEvent(event, stream_), "cuEventRecord", order);
  events_.emplace_back(++last_, event);
  return last_;
}

void CudaStream::begin(const StreamCall& call) {
  const std::lock_guard lock(mutex_);
  f_.setCurrent(context_);
  call_ = call;
  stop_.reset();
  launched_.clear();
  well(f_.fill8(faults_, 0, sizeof(Faults), stream_), "cuMemsetD8Async", 0);
}

void CudaStream::launch(const LoadedKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
                        uint64_t order) {
  const std::lock_guard lock(mutex_);
  if (stop_ || call_.control->interrupted()) return;
  f_.setCurrent(context_);
  const auto& code = std::get<abi::DeviceCode>(kernel.kernel->code);
  std::vector<uint64_t> values;
  for (const DeviceArg& a : args) values.push_back(pointer(a.address));
  values.insert(values.end(), scalars.begin(), scalars.end());
  values.push_back(faults_);
  values.push_back(order);
  std::vector<void*> parameters;
  for (uint64_t& v : values) parameters.push_back(&v);
  if (!kernel.kernel->sites.empty()) launched_.emplace(order, kernel.kernel);
  well(f_.launch(functions_.at(kernel.kernel), code.grid[0], code.grid[1], code.grid[2], code.group[0], code.group[1],
                 code.group[2], code.sharedBytes, stream_, parameters.data(), nullptr),
       "cuLaunchKernel", order);
  pace(order);
  if (waitsForEach_ && !stop_) well(f_.synchronize(stream_), ("kernel " + kernel.kernel->name).c_str(), order);
}

void CudaStream::pace(uint64_t order) {
  if (++launches_ % kRun != 0 || stop_) return;
  EventHandle& event = paces_[launches_ / kRun % 2];
  if (event == nullptr)
    well(f_.createEvent(&event, kNoTiming), "cuEventCreate", order);
  else
    well(f_.synchronizeEvent(event), "cuEventSynchronize", order);
  if (!stop_) well(f_.recordEvent(event, stream_), "cuEventRecord", order);
}

void CudaStream::copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t order) {
  const std::lock_guard lock(mutex_);
  if (stop_) return;
  f_.setCurrent(context_);
  well(f_.deviceToDevice(pointer(to), pointer(from), bytes, stream_), "cuMemcpyDtoDAsync", order);
}

Ticket CudaStream::copyIn(std::byte* to, const void* from, uint64_t bytes, uint64_t order) {
  const std::lock_guard lock(mutex_);
  f_.setCurrent(context_);
  if (!stop_) well(f_.hostToDevice(pointer(to), from, bytes, stream_), "cuMemcpyHtoDAsync", order);
  return mark(order);
}

Ticket CudaStream::copyOut(void* to, const std::byte* from, uint64_t bytes, uint64_t order) {
  const std::lock_guard lock(mutex_);
  f_.setCurrent(context_);
  if (!stop_) well(f_.deviceToHost(to, pointer(from), bytes, stream_), "cuMemcpyDtoHAsync", order);
  return mark(order);
}

void CudaStream::receive(std::byte* to, Stream& other, const std::byte* from, uint64_t bytes, uint64_t order) {
  other.wait(other.send(*this, to, last(), from, bytes, order));
}

Ticket CudaStream::send(Stream& to, std::byte* destination, Ticket ready, const std::byte* from, uint64_t bytes,
                        uint64_t order) {
  std::vector<std::byte> onHost(bytes);
  wait(copyOut(onHost.data(), from, bytes, order));
  to.wait(ready);
  to.accept(destination, onHost.data(), bytes, order);
  return last();
}

void CudaStream::accept(std::byte* to, const void* from, uint64_t bytes, uint64_t order) {
  wait(copyIn(to, from, bytes, order));
}

void CudaStream::wait(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  if (ticket <= done_) return;
  f_.setCurrent(context_);
  while (!events_.empty() && events_.front().first <= ticket) {
    if (events_.front().first == ticket || events_.size() == 1)
      well(f_.synchronizeEvent(events_.front().second), "cuEventSynchronize", ~uint64_t{0});
    free_.push_back(events_.front().second);
    done_ = events_.front().first;
    events_.pop_front();
  }
  readFaults();
}

void CudaStream::readFaults() {
  if (stop_) return;
  Faults found{};
  if (!well(f_.deviceToHost(&found, faults_, sizeof found, stream_), "cuMemcpyDtoHAsync", ~uint64_t{0}) ||
      !well(f_.synchronize(stream_), "cuStreamSynchronize", ~uint64_t{0}) || found.number == 0)
    return;
  const auto launch = launched_.find(found.order);
  if (launch == launched_.end() || found.number > launch->second->sites.size()) {
    stop_ = DeviceStop{found.order, 0, kUnknownFault + (launch == launched_.end() ? "?" : launch->second->name)};
    return;
  }
  stop_ = DeviceStop{
      found.order, launch->second->sites[found.number - 1], {}, {found.index, found.count, found.size, found.axis}};
}

bool CudaStream::done(Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  if (ticket <= done_) return true;
  const auto found = std::find_if(events_.begin(), events_.end(), [&](const auto& e) { return e.first == ticket; });
  f_.setCurrent(context_);
  return found != events_.end() && f_.queryEvent(found->second) != kNotReady;
}

Ticket CudaStream::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

std::optional<DeviceStop> CudaStream::stopped() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

}  // namespace tenc::rt::cuda
