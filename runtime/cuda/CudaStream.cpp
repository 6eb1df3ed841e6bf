#include "runtime/cuda/CudaStream.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "runtime/cuda/CopiedPlaces.h"
#include "runtime/cuda/CudaAdvice.h"
#include "runtime/cuda/CudaGpus.h"

namespace tenc::rt::cuda {
namespace {

Pointer pointer(const void* p) { return reinterpret_cast<Pointer>(p); }
constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr Result kHasAccess = 704;    // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
constexpr uint64_t kNoOrder = ~uint64_t{0};

// Three stretches of launches, or graphs, are in the queue at most.
constexpr uint64_t kMostStretch = 16;                  // launches, fewer where they take long
constexpr auto kLong = std::chrono::milliseconds(16);  // for a stretch
constexpr size_t kTogether = 8;                        // commands are worth to be handed over where a trip ends
constexpr size_t kMost = 256, kLeast = 4;              // commands are kept back, fewer where they take long
constexpr size_t kScalars = 512;                       // of the commands that are
constexpr size_t kMostInControl = 1024;                // commands of a loop or branch that the device decides

// Copies of 16 MiB at 25 GB/s take 0.7 ms: long beside what the host does between two of them.
constexpr uint64_t kLeastPinned = uint64_t{64} << 10, kMostPinned = uint64_t{16} << 20;

constexpr char kGroup = 0;  // its address is CudaStream's peerGroup

bool isSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != 0 && *value != '0';
}

}  // namespace

CudaStream::CudaStream(std::shared_ptr<const CudaDriver> driver, std::shared_ptr<const CublasLt> products,
                       const CudaPlace& place, std::atomic<Result>& lost, const StreamSetup& setup)
    : driver_(std::move(driver)),
      library_(std::move(products)),
      f_(driver_->f()),
      place_(place),
      calls_(driver_, place.context, lost, setup.program->program().devices[setup.device].name),
      waitsForEach_(isSet("TENC_CUDA_SYNC")),
      program_(*setup.program),
      device_(setup.device),
      graphs_(f_, place.context),
      most_(kMost),
      times_(driver_, place.context, calls_, program_.program().devices[device_].name) {
  calls_.onInterrupt([this] { endLoops(); });
}

CudaStream::Failure CudaStream::prepare() {
  const abi::Program& p = program_.program();
  Failure failure;
  auto check = [&](Result status, const std::string& what) {
    if (status != 0) failure = {status, what};
    return status == 0;
  };
  if (!check(f_.setCurrent(place_.context), "cannot be used")) return failure;
  const uint64_t bytes = std::max<uint64_t>(p.devices[device_].arenaBytes, 1);
  if (!check(f_.allocate(&memory_, bytes), "cannot give " + std::to_string(bytes) + " bytes")) return failure;
  if (f_.guard != nullptr) guardGaps(bytes);
  scalars_ = kScalars;
  for (const abi::Kernel& k : p.kernels) scalars_ = std::max<size_t>(scalars_, k.scalars);
  if (!check(f_.allocate(&block_, sizeof(CudaBlock) + scalars_ * sizeof(uint64_t)), "cannot give memory"))
    return failure;
  copies_ = std::make_unique<CudaCopies>(calls_, times_, std::clamp(std::bit_ceil(bytes), kLeastPinned, kMostPinned));
  if (!check(f_.createStream(&stream_, kNonBlocking), "has no queue") ||
      !check(f_.createStream(&interrupts_, kNonBlocking), "has no queue") ||
      !check(copies_->prepare(stream_, copiedPlaces(p, device_, memory_)), "has no queue"))
    return failure;
  for (const abi::Buffer& b : p.buffers)
    addresses_.push_back(b.device == device_ ? reinterpret_cast<std::byte*>(memory_ + b.offset) : nullptr);
  modules_.resize(p.images.size());
  kernels_.resize(p.kernels.size());
  hasRun_.resize(p.kernels.size());
  for (const auto& [device, kernel] : program_.launches()) {
    if (device != device_) continue;
    if (!loadKernel(kernel, check, failure.why)) {
      if (!failure.why.empty()) failure.what = "cannot run the program";
      return failure;
    }
  }
  if (!planSolver(check, failure.why) && !failure.why.empty()) failure.what = "cannot run the program";
  return failure;
}

void CudaStream::guardGaps(uint64_t arenaBytes) const {
  std::vector<std::pair<uint64_t, uint64_t>> planned;
  for (const abi::Buffer& b : program_.program().buffers)
    if (b.device == device_ && !b.inFile) planned.emplace_back(b.offset, b.offset + b.bytes);
  planned.emplace_back(arenaBytes, arenaBytes);
  std::sort(planned.begin(), planned.end());
  uint64_t end = 0;
  for (const auto& [from, to] : planned) {
    if (from > end) f_.guard(memory_ + end, from - end, 1);
    end = std::max(end, to);
  }
}

bool CudaStream::loadKernel(uint32_t number, const Check& check, std::string& why) {
  const abi::Kernel& kernel = program_.program().kernels[number];
  CudaKernel& loaded = kernels_[number];
  loaded = {nullptr, &kernel, number};
  if (std::holds_alternative<abi::ProductCode>(kernel.code)) {
    products_.push_back(MatrixProduct::plan(library_, kernel, why));
    loaded.product = products_.back().get();
    if (loaded.product == nullptr) return false;
  }
  if (const abi::SolverCode* code = loaded.solved();
      code != nullptr && !loadFunction(loaded.before, code->before, check))
    return false;
  if (const abi::SequenceCode* sequence = loaded.sequenced()) {
    for (const abi::DeviceCode& code : sequence->functions)
      if (!loadFunction(loaded.sequence.emplace_back(), code, check)) return false;
  }
  return loaded.code() == nullptr || loadFunction(loaded.function, *loaded.code(), check);
}

bool CudaStream::loadFunction(FunctionHandle& function, const abi::DeviceCode& code, const Check& check) {
  const abi::CodeImage& image = program_.program().images[code.image];
  ModuleHandle& module = modules_[code.image];
  if (module == nullptr && !check(f_.loadModule(&module, image.bytes.c_str()), "does not load " + textOf(image)))
    return false;
  if (!check(f_.getFunction(&function, module, code.symbol.c_str()), "has no kernel " + code.symbol)) return false;
  constexpr int kMostDynamicShared = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: 48 KiB, unless it is said
  return code.sharedBytes == 0 ||
         check(f_.setFunction(function, kMostDynamicShared, static_cast<int>(code.sharedBytes)),
               "gives a kernel no " + std::to_string(code.sharedBytes) + " bytes of shared memory");
}

bool CudaStream::planSolver(const Check& check, std::string& why) {
  for (CudaKernel& k : kernels_) {
    if (k.kernel == nullptr || k.solved() == nullptr) continue;
    if (!solver_ && !(solver_ = Solver::open(driver_, stream_, [this] { calls_.await(calls_.mark(stream_)); }, why)))
      return false;
    if (!solver_->plan(*k.solved(), memory_, why)) return false;
    k.solver = solver_.get();
  }
  return !solver_ || check(solver_->allocate(), "cannot give cuSOLVER " + std::to_string(solver_->bytes()) + " bytes");
}

/// "code for compute_90 from NVRTC 13.0 (compute capability 9.0, driver of CUDA 13.0)".
std::string CudaStream::textOf(const abi::CodeImage& image) const {
  int major = 0, minor = 0;
  f_.deviceAttribute(&major, kMajor, place_.number);
  f_.deviceAttribute(&minor, kMinor, place_.number);
  // PTX says in its head what made it; machine code does not.
  constexpr std::string_view kMaker = "Cuda compilation tools, release ";
  const size_t at = image.bytes.find(kMaker), begin = at + kMaker.size();
  const std::string maker =
      at == std::string::npos ? "" : " from NVRTC " + image.bytes.substr(begin, image.bytes.find(',', begin) - begin);
  return "code for " + image.architecture + maker + " (compute capability " + std::to_string(major) + "." +
         std::to_string(minor) + ", driver of CUDA " + versionText(driver_->version()) + ")";
}

CudaStream::~CudaStream() {
  f_.setCurrent(place_.context);
  if (stream_ != nullptr) f_.synchronize(stream_);
  copies_.reset();
  solver_.reset();
  graphs_.clear();
  for (ModuleHandle m : modules_)
    if (m != nullptr) f_.unloadModule(m);
  for (StreamHandle s : {stream_, interrupts_})
    if (s != nullptr) f_.destroyStream(s);
  if (block_ != 0) f_.free(block_);
  if (memory_ != 0) f_.free(memory_);
}

const void* CudaStream::peerGroup() const { return &kGroup; }

void CudaStream::begin(const StreamCall& call) {
  const std::lock_guard lock(mutex_);
  calls_.begin(call);
  run_.clear();
  touches_.clear();
  dropped_ = 0;
  written_ = {0};
  counts_ = {};
  seen_ = {};
  mayFault_ = false;
  calls_.well(f_.fill8(block_, 0, sizeof(CudaBlock), stream_), "cuMemsetD8Async");
  copies_->begin();
  times_.begin(call.traced, stream_);
}

void CudaStream::launch(const LoadedKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
                        uint64_t order) {
  const std::lock_guard lock(mutex_);
  ++last_;
  if (!makeRoom(scalars.size())) return;
  const auto number = static_cast<size_t>(kernel.kernel - program_.program().kernels.data());
  // cuSOLVER promises nothing of captures: its calls are runs of their own, and in no loop of the device.
  const bool isAlone = kernels_[number].solver != nullptr;
  if (isAlone && isInControl()) return giveUpControl();
  if (isAlone) submit();
  run_.launch(kernels_[number], args, scalars, order);
  for (const DeviceArg& a : args) {
    const Pointer begin = pointer(a.buffer.data());
    if (a.access != abi::Access::None)
      touches_.push_back({begin, begin + a.buffer.size(), a.access != abi::Access::Read});
  }
  if ((waitsForEach_ || isAlone) && !isInControl()) submit();
}

bool CudaStream::makeRoom(size_t scalars) {
  if (dropped_ > 0) return false;
  const bool isFull = run_.scalars().size() + scalars > scalars_;
  if (!isInControl()) {
    if (isFull || run_.commands() >= most_) submit();
    return true;
  }
  if (!isFull && run_.commands() < kMostInControl) return true;
  giveUpControl();
  return false;
}

void CudaStream::giveUpControl() {
  dropped_ = run_.depth();
  run_.abandon();
  touches_.resize(touchesBefore_);
}

void CudaStream::copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t order) {
  const std::lock_guard lock(mutex_);
  ++last_;
  if (!makeRoom(0)) return;
  run_.copy(pointer(to), pointer(from), bytes, order);
  touches_.push_back({pointer(from), pointer(from) + bytes, false});
  touches_.push_back({pointer(to), pointer(to) + bytes, true});
}

bool CudaStream::decides() {
  const std::lock_guard lock(mutex_);
  calls_.enter(kNoOrder);
  return graphs_.hasConditions();
}

void CudaStream::beginControl(ControlKind kind, uint64_t order) {
  const std::lock_guard lock(mutex_);
  if (dropped_ > 0) {
    ++dropped_;
    return;
  }
  if (!isInControl()) {
    // A loop is a run of its own: the device stays in it. What goes with a branch leaves that half of the room.
    if (kind != ControlKind::Branch || run_.commands() > most_ / 2 || run_.scalars().size() > scalars_ / 2) submit();
    touchesBefore_ = touches_.size();
  }
  run_.begin(kind, order);
}

void CudaStream::nextSection() {
  const std::lock_guard lock(mutex_);
  if (dropped_ == 0) run_.section();
}

bool CudaStream::endControl(const std::byte* first, const std::byte* second) {
  const std::lock_guard lock(mutex_);
  if (dropped_ > 0) return --dropped_ > 0;
  for (const std::byte* flag : {first, second})
    if (flag != nullptr) touches_.push_back({pointer(flag), pointer(flag) + 1, false});
  run_.end(pointer(first), pointer(second));
  if (!isInControl() && (waitsForEach_ || run_.list().back().control->kind != ControlKind::Branch)) submit();
  return true;
}

void CudaStream::seam() {
  const std::lock_guard lock(mutex_);
  if (!isInControl() && run_.commands() >= kTogether) submit();
}

void CudaStream::handOver() {
  const std::lock_guard lock(mutex_);
  if (!isInControl()) submit();
}

void CudaStream::submit() {
  if (run_.commands() == 0) return;
  calls_.enter(run_.order());
  if (calls_.goesOn()) {
    copies_->beforeKernels(touches_);
    const GraphHandle graph = waitsForEach_ ? nullptr : graphs_.of(run_, stream_, block_);
    if (!run_.scalars().empty() || (graph != nullptr && run_.reports())) writeBlock();
    mayFault_ = mayFault_ || run_.reports();
    if (graph == nullptr || !replay(graph)) submitOneByOne(run_.list());
    copies_->afterKernels(touches_);
  }
  run_.clear();
  touches_.clear();
}

bool CudaStream::replay(GraphHandle graph) {
  if (calls_.stop()) return true;
  const Event start = times_.start(stream_);
  const Result status = f_.launchGraph(graph, stream_);
  if (status == kOutOfMemory) {
    graphs_.refuse();
    return false;
  }
  calls_.well(status, "cuGraphLaunch");
  if (start) times_.end(start, stream_, Lane::Kernels, "graph of " + std::to_string(run_.launches()) + " kernels");
  ++counts_.graphs;
  counts_.inGraphs += run_.launches();
  pace(run_.launches());
  return true;
}

void CudaStream::submitOneByOne(const CudaCommands& list) {
  for (size_t i = 0; i < list.size() && calls_.goesOn(); ++i) {
    const CudaCommand& c = list[i];
    if (c.control != nullptr) {
      decide(*c.control);
      continue;
    }
    const Event start = times_.start(stream_);
    const Outcome outcome = run_.issue(c, f_, stream_, block_, written_[0]);
    calls_.well(outcome.status, outcome.call);
    if (!outcome.library.empty())
      calls_.stopAt({run_.order(), 0, program_.program().devices[device_].name + ", " + outcome.library, {}});
    if (start) times_.end(start, stream_, Lane::Kernels, c.kernel != nullptr ? c.kernel->kernel->name : "copy");
    if (c.kernel == nullptr) continue;
    ++counts_.single;
    // Nobody knows yet how long it takes.
    if (!std::exchange(hasRun_[c.kernel->number], 1)) stretch_ = 1;
    pace(1);
    if (waitsForEach_ && !calls_.stop())
      calls_.well(f_.synchronize(stream_), ("kernel " + c.kernel->kernel->name).c_str());
  }
}

bool CudaStream::holds(Pointer flag) {
  uint8_t v = 0;
  calls_.await(calls_.mark(stream_));
  if (!calls_.goesOn() || !calls_.well(f_.deviceToHost(&v, flag, sizeof v, stream_), "cuMemcpyDtoHAsync") ||
      !calls_.well(f_.synchronize(stream_), "cuStreamSynchronize"))
    return false;
  readFaults();
  mayFault_ = run_.reports();
  return v != 0 && calls_.goesOn();
}

void CudaStream::decide(const CudaControl& control) {
  const std::vector<CudaCommands>& s = control.sections;
  if (control.kind == ControlKind::Branch) return submitOneByOne(s[holds(control.flags[0]) ? 0 : 1]);
  const bool isAlone = run_.list().size() == 1 && run_.list()[0].control.get() == &control;
  for (bool isFirst = true;; isFirst = false) {
    // Its first trips have shown that there are more, and libraries have loaded what they need.
    const GraphHandle graph = isFirst || !isAlone || waitsForEach_ ? nullptr : graphs_.of(run_, stream_, block_, true);
    if (graph != nullptr) {
      if (run_.reports() || !run_.scalars().empty()) writeBlock();
      if (replay(graph)) return;
    }
    submitOneByOne(s[0]);
    if (!holds(control.flags[0])) return;
    submitOneByOne(s[1]);
    if (control.kind == ControlKind::Loop) continue;
    submitOneByOne(s[2]);
    if (!holds(control.flags[1])) return submitOneByOne(s[4]);
    submitOneByOne(s[3]);
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
  calls_.well(
      f_.hostToDevice(block_ + offsetof(CudaBlock, base), written_.data(), written_.size() * sizeof(uint64_t), stream_),
      "cuMemcpyHtoDAsync");
}

void CudaStream::pace(uint64_t launches) {
  inStretch_ += launches;
  if (inStretch_ < stretch_ || calls_.stop()) return;
  inStretch_ = 0;
  Event& event = paces_[++stretches_ % 2];
  const bool isFirst = event == nullptr;
  const auto before = std::chrono::steady_clock::now();
  calls_.await(event);
  event = calls_.mark(stream_);
  // One of those that take long is enough, and the queue does not run dry for long beside them.
  if (isLong_ && stretch_ == 1) calls_.await(event);
  const auto waited = std::chrono::steady_clock::now() - before;
  if (!isFirst) adapt(launches, waited);
}

void CudaStream::adapt(uint64_t launches, std::chrono::nanoseconds waited) {
  isLong_ = waited > kLong;
  if (isLong_) {
    stretch_ = std::max<uint64_t>(1, stretch_ / 4);
    if (launches > kLeast && !run_.hasControl()) most_ = std::max(kLeast, most_ / 2);
  } else if (waited < kLong / 4) {
    stretch_ = std::min(kMostStretch, stretch_ * 2);
    if (launches > 1) most_ = std::min(kMost, most_ * 2);
  }
}

Ticket CudaStream::copyIn(std::byte* to, const void* from, uint64_t bytes, uint64_t order) {
  const std::lock_guard lock(mutex_);
  submit();
  calls_.enter(order);
  const Ticket ticket = copyTicket();
  if (calls_.goesOn()) copies_->in(pointer(to), from, bytes, ticket);
  return ticket;
}

Ticket CudaStream::copyOut(void* to, const std::byte* from, uint64_t bytes, uint64_t order) {
  const std::lock_guard lock(mutex_);
  submit();
  calls_.enter(order);
  const Ticket ticket = copyTicket();
  if (!calls_.goesOn()) return ticket;
  copies_->out(to, pointer(from), bytes, ticket);
  // Whoever looks at the bytes is to know whether what made them is well.
  if (mayFault_) copies_->outBeside(&seen_, block_, sizeof seen_, ticket);
  return ticket;
}

void CudaStream::receive(std::byte* to, Stream& other, const std::byte* from, uint64_t bytes, uint64_t order) {
  if (other.peerGroup() == peerGroup() && receiveFromPeer(to, static_cast<CudaStream&>(other), from, bytes, order))
    return;
  // What is accepted comes after what is in the queue, which nobody has to wait for.
  other.wait(other.send(*this, to, 0, from, bytes, order));
}

bool CudaStream::receiveFromPeer(std::byte* to, CudaStream& source, const std::byte* from, uint64_t bytes,
                                 uint64_t order) {
  const std::scoped_lock lock(mutex_, source.mutex_);
  submit();
  source.submit();
  calls_.enter(order);
  source.calls_.enter(order);
  if (!calls_.goesOn() || !source.calls_.goesOn()) return true;
  const Ticket sent = source.copyTicket(), received = copyTicket();
  return source.copies_->toPeer(*copies_, source.reaches(*this), pointer(to), pointer(from), bytes, sent, received);
}

bool CudaStream::reaches(const CudaStream& other) {
  const auto [known, isNew] = reaches_.emplace(other.place_.context, false);
  if (!isNew) return known->second;
  int can = 0;
  if (other.place_.context == place_.context)
    known->second = true;  // another program's stream on the same GPU
  else if (f_.canAccessPeer(&can, place_.number, other.place_.number) == 0 && can != 0)
    if (const Result status = f_.enablePeerAccess(other.place_.context, 0); status == 0 || status == kHasAccess)
      known->second = true;
  return known->second;
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
  const bool isOfCopy = ticket % 2 == 0;
  if (ticket == 0 || (!isOfCopy && ticket / 2 <= finished_)) return;
  if (isOfCopy) {
    calls_.enter(kNoOrder);
    copies_->finish(ticket);
    if (seen_.number != 0) readFaults();
    return;
  }
  submit();
  calls_.enter(kNoOrder);
  calls_.await(calls_.mark(stream_));
  copies_->finishAll();
  finished_ = last_;
  readFaults();
}

void CudaStream::endLoops() {
  // Another stream's copy reaches them while they run.
  f_.hostToDevice(block_ + offsetof(CudaBlock, number), &abi::kInterruptFault, sizeof abi::kInterruptFault,
                  interrupts_);
  f_.queryStream(interrupts_);
}

void CudaStream::readFaults() {
  if (calls_.stop() || !mayFault_) return;
  CudaBlock found{};
  calls_.await(calls_.mark(stream_));
  if (!calls_.well(f_.deviceToHost(&found, block_, sizeof found, stream_), "cuMemcpyDtoHAsync") ||
      !calls_.well(f_.synchronize(stream_), "cuStreamSynchronize"))
    return;
  mayFault_ = false;
  if (found.number == 0 || found.number == abi::kInterruptFault) return;
  const abi::Kernel* kernel = found.kernel < kernels_.size() ? kernels_[found.kernel].kernel : nullptr;
  if (kernel == nullptr || found.number > kernel->sites.size())
    calls_.stopAt({found.order, 0, kUnknownFault + (kernel == nullptr ? "?" : kernel->name)});
  else
    calls_.stopAt(
        {found.order, kernel->sites[found.number - 1], {}, {found.index, found.count, found.size, found.axis}});
}

bool CudaStream::done(Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  calls_.enter(kNoOrder);
  return ticket % 2 == 0 ? copies_->done(ticket) : ticket / 2 <= finished_;
}

Ticket CudaStream::last() const {
  const std::lock_guard lock(mutex_);
  return last_ * 2 + 1;
}

LaunchCounts CudaStream::launched() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void CudaStream::trace(CallTrace& trace) {
  const std::lock_guard lock(mutex_);
  calls_.enter(kNoOrder);
  times_.give(trace);
}

std::optional<DeviceStop> CudaStream::stopped() const {
  const std::lock_guard lock(mutex_);
  return calls_.stop();
}

}  // namespace tenc::rt::cuda
