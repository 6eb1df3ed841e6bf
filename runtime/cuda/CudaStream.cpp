#include "runtime/cuda/CudaStream.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "runtime/cuda/CudaAdvice.h"
#include "runtime/cuda/CudaGpus.h"

namespace tenc::rt::cuda {
namespace {

Pointer pointer(const void* p) { return reinterpret_cast<Pointer>(p); }
constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr unsigned kNoTiming = 2;     // CU_EVENT_DISABLE_TIMING
constexpr Result kNotReady = 600;     // CUDA_ERROR_NOT_READY

constexpr uint64_t kStretch = 16;  // launches: at most two such stretches, or graphs, wait in the queue
constexpr size_t kTogether = 8;    // commands are worth to be handed over where a trip ends
constexpr size_t kMost = 256;      // commands are kept back
constexpr size_t kScalars = 512;   // of the commands that are

bool isSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != 0 && *value != '0';
}

}  // namespace

CudaStream::CudaStream(std::shared_ptr<const CudaDriver> driver, std::shared_ptr<const CublasLt> products,
                       ContextHandle context, std::atomic<Result>& lost, const StreamSetup& setup)
    : driver_(std::move(driver)),
      library_(std::move(products)),
      f_(driver_->f()),
      context_(context),
      lost_(lost),
      waitsForEach_(isSet("TENC_CUDA_SYNC")),
      program_(*setup.program),
      device_(setup.device),
      graphs_(f_) {}

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
  scalars_ = kScalars;
  for (const abi::Kernel& k : p.kernels) scalars_ = std::max<size_t>(scalars_, k.scalars);
  if (!check(f_.allocate(&block_, sizeof(CudaBlock) + scalars_ * sizeof(uint64_t)), "cannot give memory"))
    return failure;
  if (!check(f_.createStream(&stream_, kNonBlocking), "has no queue")) return failure;
  for (const abi::Buffer& b : p.buffers)
    addresses_.push_back(b.device == device_ ? reinterpret_cast<std::byte*>(memory_ + b.offset) : nullptr);
  modules_.resize(p.images.size());
  kernels_.resize(p.kernels.size());
  for (const auto& [device, kernel] : program_.launches()) {
    if (device != device_) continue;
    kernels_[kernel] = {nullptr, &p.kernels[kernel], kernel};
    if (std::holds_alternative<abi::ProductCode>(p.kernels[kernel].code)) {
      failure.what = "cannot run the program";
      products_.push_back(MatrixProduct::plan(library_, p.kernels[kernel], failure.why));
      kernels_[kernel].product = products_.back().get();
      if (failure.any()) return failure;
    }
    const abi::DeviceCode* const code = kernels_[kernel].code();
    if (code == nullptr) continue;
    ModuleHandle& module = modules_[code->image];
    if (module == nullptr && !check(f_.loadModule(&module, p.images[code->image].bytes.c_str()),
                                    "does not load code for " + p.images[code->image].architecture +
                                        " (driver of CUDA " + versionText(driver_->version()) + ")"))
      return failure;
    if (!check(f_.getFunction(&kernels_[kernel].function, module, code->symbol.c_str()),
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
  if (block_ != 0) f_.free(block_);
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
  record(++last_, order);
  return last_;
}

void CudaStream::record(Ticket ticket, uint64_t order) {
  EventHandle event = nullptr;
  if (free_.empty())
    well(f_.createEvent(&event, kNoTiming), "cuEventCreate", order);
  else
    event = free_.back(), free_.pop_back();
  well(f_.recordEvent(event, stream_), "cuEventRecord", order);
  events_.emplace_back(ticket, event);
}

void CudaStream::begin(const StreamCall& call) {
  const std::lock_guard lock(mutex_);
  f_.setCurrent(context_);
  call_ = call;
  stop_.reset();
  run_.clear();
  written_ = {0};
  counts_ = {};
  well(f_.fill8(block_, 0, sizeof(CudaBlock), stream_), "cuMemsetD8Async", 0);
}

void CudaStream::launch(const LoadedKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
                        uint64_t order) {
  const std::lock_guard lock(mutex_);
  ++last_;
  if (run_.scalars().size() + scalars.size() > scalars_ || run_.commands() >= kMost) submit();
  const auto number = static_cast<size_t>(kernel.kernel - program_.program().kernels.data());
  run_.launch(kernels_[number], args, scalars, order);
  if (waitsForEach_) submit();
}

void CudaStream::copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t order) {
  const std::lock_guard lock(mutex_);
  ++last_;
  if (run_.commands() >= kMost) submit();
  run_.copy(pointer(to), pointer(from), bytes, order);
}

void CudaStream::seam() {
  const std::lock_guard lock(mutex_);
  if (run_.commands() >= kTogether) submit();
}

void CudaStream::handOver() {
  const std::lock_guard lock(mutex_);
  submit();
}

void CudaStream::submit() {
  if (run_.commands() == 0) return;
  f_.setCurrent(context_);
  if (!stop_ && !call_.control->interrupted()) {
    const GraphHandle graph = waitsForEach_ ? nullptr : graphs_.of(run_, stream_, block_);
    if (graph != nullptr ? run_.reports() || !run_.scalars().empty() : !run_.scalars().empty()) writeBlock();
    if (graph == nullptr) {
      submitOneByOne();
    } else if (!stop_) {
      well(f_.launchGraph(graph, stream_), "cuGraphLaunch", run_.order());
      ++counts_.graphs;
      counts_.inGraphs += run_.launches();
      pace(run_.launches(), run_.order());
    }
  }
  run_.clear();
}

void CudaStream::submitOneByOne() {
  for (size_t i = 0; i < run_.commands() && !stop_ && !call_.control->interrupted(); ++i) {
    const Outcome outcome = run_.issue(i, f_, stream_, block_, written_[0]);
    well(outcome.status, outcome.call, run_.order());
    if (outcome.library != 0 && !stop_)
      stop_ = DeviceStop{
          run_.order(), 0,
          program_.program().devices[device_].name + ", " + run_.kernel(i).product->explain(outcome.library)};
    if (!run_.isLaunch(i)) continue;
    ++counts_.single;
    pace(1, run_.order());
    if (waitsForEach_ && !stop_)
      well(f_.synchronize(stream_), ("kernel " + run_.kernel(i).kernel->name).c_str(), run_.order());
  }
}

void CudaStream::writeBlock() {
  const std::vector<uint64_t>& scalars = run_.scalars();
  // Not in every run there are as many: what was written behind them is still there.
  const bool same = written_[0] == run_.order() && written_.size() > scalars.size() &&
                    std::equal(scalars.begin(), scalars.end(), written_.begin() + 1);
  if (same) return;
  written_.assign(1, run_.order());
  written_.insert(written_.end(), scalars.begin(), scalars.end());
  // The driver takes what pageable memory holds now.
  well(
      f_.hostToDevice(block_ + offsetof(CudaBlock, base), written_.data(), written_.size() * sizeof(uint64_t), stream_),
      "cuMemcpyHtoDAsync", run_.order());
}

void CudaStream::pace(uint64_t launches, uint64_t order) {
  inStretch_ += launches;
  if (inStretch_ < kStretch || stop_) return;
  inStretch_ = 0;
  EventHandle& event = paces_[++stretches_ % 2];
  if (event == nullptr)
    well(f_.createEvent(&event, kNoTiming), "cuEventCreate", order);
  else
    well(f_.synchronizeEvent(event), "cuEventSynchronize", order);
  if (!stop_) well(f_.recordEvent(event, stream_), "cuEventRecord", order);
}

Ticket CudaStream::copyIn(std::byte* to, const void* from, uint64_t bytes, uint64_t order) {
  const std::lock_guard lock(mutex_);
  f_.setCurrent(context_);
  submit();
  if (!stop_) well(f_.hostToDevice(pointer(to), from, bytes, stream_), "cuMemcpyHtoDAsync", order);
  return mark(order);
}

Ticket CudaStream::copyOut(void* to, const std::byte* from, uint64_t bytes, uint64_t order) {
  const std::lock_guard lock(mutex_);
  f_.setCurrent(context_);
  submit();
  if (!stop_) well(f_.deviceToHost(to, pointer(from), bytes, stream_), "cuMemcpyDtoHAsync", order);
  return mark(order);
}

void CudaStream::receive(std::byte* to, Stream& other, const std::byte* from, uint64_t bytes, uint64_t order) {
  // What is accepted comes after what is in the queue, which nobody has to wait for.
  other.wait(other.send(*this, to, 0, from, bytes, order));
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
  submit();
  if (events_.empty() || events_.back().first < ticket) record(last_, ~uint64_t{0});
  while (done_ < ticket) {
    const auto [marked, event] = events_.front();
    if (marked >= ticket) well(f_.synchronizeEvent(event), "cuEventSynchronize", ~uint64_t{0});
    free_.push_back(event);
    done_ = marked;
    events_.pop_front();
  }
  readFaults();
}

void CudaStream::readFaults() {
  if (stop_) return;
  CudaBlock found{};
  if (!well(f_.deviceToHost(&found, block_, sizeof found, stream_), "cuMemcpyDtoHAsync", ~uint64_t{0}) ||
      !well(f_.synchronize(stream_), "cuStreamSynchronize", ~uint64_t{0}) || found.number == 0)
    return;
  const abi::Kernel* kernel = found.kernel < kernels_.size() ? kernels_[found.kernel].kernel : nullptr;
  if (kernel == nullptr || found.number > kernel->sites.size()) {
    stop_ = DeviceStop{found.order, 0, kUnknownFault + (kernel == nullptr ? "?" : kernel->name)};
    return;
  }
  stop_ =
      DeviceStop{found.order, kernel->sites[found.number - 1], {}, {found.index, found.count, found.size, found.axis}};
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

LaunchCounts CudaStream::launched() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::optional<DeviceStop> CudaStream::stopped() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

}  // namespace tenc::rt::cuda
