#include "runtime/Executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "runtime/Device.h"
#include "runtime/Format.h"
#include "runtime/PendingCopies.h"
#include "runtime/cpu/Arena.h"
#include "runtime/cpu/ThreadPool.h"

namespace tenc::rt {
namespace {

using abi::BufferId;
using abi::Step;
using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point t) { return std::chrono::duration<double>(t.time_since_epoch()).count(); }

class Executor {
 public:
  Executor(const LoadedProgram& program, Machine& machine, const RunOptions& options)
      : loaded_(program), p_(program.program()), m_(machine), o_(options) {}

  RunResult run() {
    if (prepare()) {
      for (size_t i = 0; i < p_.inputs.size(); ++i) put(p_.inputs[i], o_.inputs[i]);
      if (steps(p_.steps) && devicesAreWell()) keepResults();
    }
    end();
    if (!o_.print) std::fflush(stdout);
    return std::move(result_);
  }

 private:
  const LoadedProgram& loaded_;
  const abi::Program& p_;
  Machine& m_;
  const RunOptions& o_;
  RunResult result_;
  std::vector<Device*> devices_;                 // as in the program; null for the cpu
  std::vector<std::byte*> address_;              // of each buffer on the cpu; loops exchange entries
  std::vector<BufferId> place_;                  // with devices, what each buffer is; exchanged in the same way
  std::vector<std::vector<std::byte>> scratch_;  // one a thread
  std::vector<void*> args_;
  std::vector<uint64_t> scalars_;
  std::vector<DeviceArg> deviceArgs_;
  std::map<const std::byte*, std::unique_ptr<MappedTensor>> mapped_;  // files that buffers are in, by address
  PendingCopies pending_;
  uint64_t order_ = 0;   // steps given to devices so far
  bool failed_ = false;  // a device stopped, which was seen when something was waited for

  bool prepare() {
    Arena& host = m_.host();
    if (!host.reserve(p_.devices[0].arenaBytes, m_.options().poisonHost)) {
      return outOfMemory("cpu cannot give " + std::to_string(p_.devices[0].arenaBytes) + " bytes");
    }
    devices_.push_back(nullptr);
    for (uint32_t i = 1; i < p_.devices.size(); ++i) {
      Device* d = m_.device(p_.devices[i].name);
      if (!d) return outOfMemory(p_.devices[i].name + " is not available");
      std::string error;
      if (!d->begin(loaded_, i, error)) return outOfMemory(std::move(error));
      devices_.push_back(d);
    }
    address_.reserve(p_.buffers.size());
    for (const auto& b : p_.buffers) address_.push_back(b.device == 0 ? host.base() + b.offset : nullptr);
    if (several()) {
      place_.resize(p_.buffers.size());
      for (BufferId i = 0; i < place_.size(); ++i) place_[i] = i;
    }
    const uint64_t most = loaded_.scratchBytes();
    scratch_.resize(static_cast<size_t>(m_.threads()));
    for (auto& s : scratch_) s.resize(most ? most + 64 : 0);
    for (const auto& c : p_.constants) {
      if (!c.bytes.empty()) write({c.buffer, 0}, c.bytes.data(), c.bytes.size());
    }
    return true;
  }

  bool outOfMemory(std::string text) {
    result_.end = RunResult::End::OutOfMemory;
    result_.text = std::move(text);
    return false;
  }

  /// All devices are at rest before the memory of any of them goes.
  void end() {
    for (Device* d : devices_)
      if (d) d->wait(d->last());
    for (Device* d : devices_)
      if (d) d->end();
  }

  bool several() const { return p_.devices.size() > 1; }
  Device* deviceOf(BufferId b) const { return devices_[p_.buffers[b].device]; }
  Place place(const abi::KernelArg& a) const { return {place_[a.buffer], a.byteOffset}; }

  /// Before the host reads or writes its own memory: copies of it that devices still make are waited for.
  void settle(const std::byte* begin, uint64_t size, bool write) {
    if (pending_.empty() || m_.options().dropWaits) return;
    pending_.settle(begin, size, write);
    noticeStops();
  }
  void noticeStops() {
    for (Device* d : devices_) failed_ = failed_ || (d && d->stopped());
  }

  /// Waits for all devices. The stop that comes first in program order ends the run: all that comes before it was done.
  bool devicesAreWell() {
    if (!several()) return true;
    for (Device* d : devices_)
      if (d && !m_.options().dropWaits) d->wait(d->last());
    std::optional<DeviceStop> first;
    for (Device* d : devices_) {
      const auto s = d ? d->stopped() : std::nullopt;
      if (s && (!first || s->order < first->order)) first = s;
    }
    if (interrupted()) return false;
    if (!first) return true;
    if (first->bug.empty()) return end(first->site, {}, first->bad);
    result_.end = RunResult::End::Bug;
    result_.text = first->bug;
    return false;
  }

  /// Host bytes into a buffer wherever it is, and back; done on return.
  void write(abi::KernelArg to, const void* from, uint64_t size) {
    if (Device* d = deviceOf(to.buffer)) {
      d->wait(d->copyIn(place(to), from, size, ++order_));
      return;
    }
    settle(at(to), size, true);
    std::memcpy(at(to), from, size);
  }
  void put(const abi::TensorRef& t, const void* from) {
    if (bytes(t)) write({t.buffer, t.byteOffset}, from, bytes(t));
  }

  static uint64_t bytes(const abi::TensorRef& t) {
    uint64_t n = static_cast<uint64_t>(dtypeSize(t.dtype));
    for (int64_t d : t.shape) n *= static_cast<uint64_t>(d);
    return n;
  }
  std::byte* at(const abi::TensorRef& t) const { return address_[t.buffer] + t.byteOffset; }
  std::byte* at(const abi::KernelArg& a) const { return address_[a.buffer] + a.byteOffset; }
  std::byte* read(const abi::TensorRef& t) {
    settle(at(t), bytes(t), false);
    return at(t);
  }
  template <typename T>
  T host(BufferId b) {
    settle(address_[b], sizeof(T), false);
    T v;
    std::memcpy(&v, address_[b], sizeof v);
    return v;
  }
  template <typename T>
  void setHost(BufferId b, T v) {
    settle(address_[b], sizeof v, true);
    std::memcpy(address_[b], &v, sizeof v);
  }
  template <typename T>
  void setHost(const abi::TensorRef& t, T v) {
    settle(at(t), sizeof v, true);
    std::memcpy(at(t), &v, sizeof v);
  }

  /// What devices were given before may stop the program earlier.
  bool stop(uint32_t site, std::string text = {}, abi::BadIndex bad = {}) {
    return devicesAreWell() && end(site, std::move(text), bad);
  }
  bool end(uint32_t site, std::string text = {}, abi::BadIndex bad = {}) {
    result_.bad = bad;
    result_.end = RunResult::End::Stopped;
    result_.fault = p_.sites[site].kind;
    result_.site = site;
    result_.text = std::move(text);
    return false;
  }

  bool steps(const std::vector<Step>& list) {
    for (const Step& s : list) {
      if (interrupted() || !step(s)) return false;
      if (failed_) return devicesAreWell();
    }
    return true;
  }

  bool interrupted() {
    if (!m_.interrupted.load(std::memory_order_relaxed)) return false;
    result_.end = RunResult::End::Interrupted;
    return true;
  }

  bool step(const Step& s) { return o_.trace ? traced(s) : execute(s); }

  bool traced(const Step& s) {
    const int64_t begin = nanoseconds();
    const bool goesOn = execute(s);
    if (o_.trace->events.size() < RunTrace::kMost)
      o_.trace->events.push_back({nameOf(s), p_.devices[deviceOf(s)].name, begin, nanoseconds()});
    else
      ++o_.trace->leftOut;
    return goesOn;
  }

  static int64_t nanoseconds() { return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(); }

  /// What carries out the step.
  uint32_t deviceOf(const Step& s) const {
    if (const auto* launch = std::get_if<abi::Launch>(&s.what)) return launch->device;
    if (const auto* transfer = std::get_if<abi::Transfer>(&s.what)) return p_.buffers[transfer->to.buffer].device;
    if (const auto* copy = std::get_if<abi::Copy>(&s.what)) return p_.buffers[copy->to.buffer].device;
    return 0;
  }

  std::string nameOf(const Step& s) const {
    return std::visit(
        abi::Overloaded{
            [&](const abi::Launch& l) { return p_.kernels[l.kernel].name; },
            [](const abi::Transfer& t) { return "transfer of " + std::to_string(t.bytes) + " bytes"; },
            [](const abi::Copy&) { return std::string("copy"); }, [](const abi::For&) { return std::string("for"); },
            [](const abi::While&) { return std::string("while"); }, [](const abi::If&) { return std::string("if"); },
            [](const abi::Print&) { return std::string("print"); },
            [](const abi::Assert&) { return std::string("assert"); },
            [](const abi::Load&) { return std::string("load"); }, [](const abi::Save&) { return std::string("save"); },
            [](const abi::Seed&) { return std::string("seed"); },
            [](const abi::RngNext&) { return std::string("draw"); },
            [](const abi::Time&) { return std::string("time"); },
            [](const abi::Bench&) { return std::string("bench"); }},
        s.what);
  }

  bool execute(const Step& s) {
    if (const auto* l = std::get_if<abi::Launch>(&s.what)) return execute(*l);  // most steps are
    return std::visit([this](const auto& what) { return execute(what); }, s.what);
  }
  bool execute(const abi::If& s) {
    const bool isTrue = host<uint8_t>(s.condition);
    if (failed_) return devicesAreWell();
    return steps(isTrue ? s.then : s.otherwise);
  }
  bool execute(const abi::Print& s) {
    if (!devicesAreWell()) return false;
    emit(format(s.text) + "\n");
    return true;
  }
  bool execute(const abi::Assert& s) {
    if (!devicesAreWell()) return false;
    if (*reinterpret_cast<const uint8_t*>(read(s.condition))) return true;
    return stop(s.site, format(s.message));
  }
  bool execute(const abi::Seed& s) {
    m_.seed = 0;
    std::memcpy(&m_.seed, read(s.seed), std::min<uint64_t>(8, bytes(s.seed)));
    m_.draws = 0;
    if (s.draws) std::memcpy(&m_.draws, read(*s.draws), std::min<uint64_t>(8, bytes(*s.draws)));
    return true;
  }
  bool execute(const abi::RngNext& s) {
    setHost(s.seed, m_.seed);
    setHost(s.draw, m_.draws);
    if (s.counts) ++m_.draws;
    return true;
  }
  bool execute(const abi::Time& s) {
    if (!devicesAreWell()) return false;
    setHost(s.result, seconds(Clock::now()));
    return true;
  }

  static constexpr int64_t kLooksUp = 64;

  struct LaunchContext {
    Executor* self;
    const LoadedKernel* kernel;
  };

  bool execute(const abi::Launch& s) {
    const LoadedKernel& k = loaded_.kernels()[s.kernel];
    scalars_.clear();
    if (k.call) scalars_.push_back(reinterpret_cast<uint64_t>(k.call));
    for (BufferId b : s.scalars) scalars_.push_back(host<uint64_t>(b));
    if (failed_) return devicesAreWell();
    if (Device* d = devices_[s.device]) {
      deviceArgs_.clear();
      for (const auto& a : s.args) deviceArgs_.push_back({p_.buffers[a.buffer].device, place(a), a.access});
      d->launch(k, deviceArgs_, scalars_, ++order_);
      return true;
    }
    args_.clear();
    for (const auto& a : s.args) {
      settle(address_[a.buffer], p_.buffers[a.buffer].bytes, a.access != abi::Access::Read);
      args_.push_back(at(a));
    }
    LaunchContext context{this, &k};
    const KernelShown shown(o_.progress, m_.kernel);
    __atomic_store_n(&m_.kernel.fault, 0, __ATOMIC_RELAXED);
    if (interrupted()) return false;  // before the fault word was cleared
    if (k.items <= k.grain) {
      k.function(args_.data(), scalars_.data(), 0, k.items, &m_.kernel.fault, scratch(0));
    } else {
      m_.pool().run(
          k.items, k.grain,
          [](void* c, int thread, int64_t begin, int64_t end) {
            auto* l = static_cast<LaunchContext*>(c);
            // One thread gets all items at once: it looks up now and then whether it is to stop.
            const int64_t part = std::max(l->kernel->grain, (end - begin) / kLooksUp);
            for (int64_t i = begin; i < end; i += part) {
              if (l->self->m_.interrupted.load(std::memory_order_relaxed)) return;
              l->kernel->function(l->self->args_.data(), l->self->scalars_.data(), i, std::min(i + part, end),
                                  &l->self->m_.kernel.fault, l->self->scratch(thread));
            }
          },
          &context);
    }
    const uint32_t fault = __atomic_load_n(&m_.kernel.fault, __ATOMIC_RELAXED);
    if (fault == 0) return true;
    if (fault == abi::kInterruptFault) return !interrupted();
    const uint32_t site = k.kernel->sites[fault - 1];
    return stop(site, {}, m_.kernel.bad);
  }

  void* scratch(int thread) {
    auto& s = scratch_[static_cast<size_t>(thread)];
    const auto address = reinterpret_cast<uintptr_t>(s.data());
    return reinterpret_cast<void*>((address + 63) / 64 * 64);
  }

  bool execute(const abi::Transfer& s) {
    Device *from = deviceOf(s.from.buffer), *to = deviceOf(s.to.buffer);
    ++order_;
    if (from != to) ++result_.copies, result_.copiedBytes += s.bytes;
    if (from && to) {
      to->receive(place(s.to), *from, place(s.from), s.bytes, order_);
    } else if (to) {
      settle(at(s.from), s.bytes, false);
      pending_.add(at(s.from), s.bytes, false, *to, to->copyIn(place(s.to), at(s.from), s.bytes, order_));
    } else if (from) {
      settle(at(s.to), s.bytes, true);
      pending_.add(at(s.to), s.bytes, true, *from, from->copyOut(at(s.to), place(s.from), s.bytes, order_));
    } else {
      return execute(abi::Copy{s.to, s.from, s.bytes});
    }
    return true;
  }

  bool execute(const abi::Copy& s) {
    if (Device* d = deviceOf(s.to.buffer)) {
      d->copy(place(s.to), place(s.from), s.bytes, ++order_);
      return true;
    }
    settle(at(s.from), s.bytes, false);
    settle(at(s.to), s.bytes, true);
    std::memmove(at(s.to), at(s.from), s.bytes);
    return true;
  }

  void exchange(const std::vector<abi::Swap>& swaps) {
    for (const auto& [a, b] : swaps) {
      std::swap(address_[a], address_[b]);
      if (several()) std::swap(place_[a], place_[b]);
    }
  }

  /// Tells who looks on of the trips of a loop that stands in no other.
  class Trips {
   public:
    Trips(LoopProgress* progress, uint64_t trips) : progress_(progress) {
      if (!progress_ || progress_->start.load(std::memory_order_relaxed) != 0) {
        progress_ = nullptr;
        return;
      }
      progress_->trip = 0;
      progress_->trips = trips;
      progress_->start = nanoseconds();
    }
    ~Trips() {
      if (progress_) progress_->start = 0;
    }
    Trips(const Trips&) = delete;
    void done(uint64_t trips) {
      if (progress_) progress_->trip.store(trips, std::memory_order_relaxed);
    }

   private:
    LoopProgress* progress_;
  };

  /// Lets who looks on see the loop of a kernel that stands in no other.
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

   private:
    LoopProgress* progress_;
  };

  bool execute(const abi::While& s) {
    Trips shown(o_.progress, 0);
    for (uint64_t trip = 0;; shown.done(++trip)) {
      if (interrupted() || !steps(s.condition)) return false;
      const bool goesOn = host<uint8_t>(s.goesOn);
      if (failed_) return devicesAreWell();
      if (!goesOn) return true;
      if (!steps(s.body)) return false;
      exchange(s.swaps);
    }
  }

  bool execute(const abi::For& s) {
    const int64_t lo = host<int64_t>(s.lo), hi = host<int64_t>(s.hi), by = host<int64_t>(s.by);
    if (failed_) return devicesAreWell();
    if (by == 0) return stop(s.site);
    const uint64_t span = by > 0 ? (hi > lo ? static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) : 0)
                                 : (lo > hi ? static_cast<uint64_t>(lo) - static_cast<uint64_t>(hi) : 0);
    const uint64_t stride = by > 0 ? static_cast<uint64_t>(by) : 0 - static_cast<uint64_t>(by);
    const uint64_t trips = span / stride + (span % stride != 0);
    int64_t i = lo;
    Trips shown(o_.progress, trips);
    for (uint64_t t = 0; t < trips; shown.done(++t)) {
      if (s.induction != abi::kNoBuffer) setHost(s.induction, i);
      if (interrupted() || !steps(s.body)) return false;
      exchange(s.swaps);
      i = static_cast<int64_t>(static_cast<uint64_t>(i) + static_cast<uint64_t>(by));
    }
    return true;
  }

  std::string format(const abi::Text& text) {
    for (const auto& v : text.values) read(v.tensor);
    return formatText(text, address_);
  }

  void emit(const std::string& text) {
    if (o_.print)
      o_.print(text);
    else
      std::fwrite(text.data(), 1, text.size(), stdout);
  }

  bool execute(const abi::Load& s) {
    const abi::TensorRef& t = s.result;
    std::string error;
    const FileSource source{format(s.path), s.format, s.name};
    if (!deviceOf(t.buffer)) {
      settle(at(t), bytes(t), true);
      if (t.byteOffset == 0) {
        // The buffer moves to the pages of the file; if it was in such pages already, those go.
        if (auto mapped = MappedTensor::of(source, m_.options().files, t.dtype, t.shape)) {
          std::byte* const before = std::exchange(address_[t.buffer], mapped->elements());
          mapped_.emplace(mapped->elements(), std::make_unique<MappedTensor>(std::move(*mapped)));
          mapped_.erase(before);
          return true;
        }
      }
      return loadInto(source, m_.options().files, t.dtype, t.shape, at(t), error) || stop(s.site, error);
    }
    std::vector<std::byte> staging(bytes(t));
    if (!loadInto(source, m_.options().files, t.dtype, t.shape, staging.data(), error)) return stop(s.site, error);
    put(t, staging.data());
    return true;
  }

  bool execute(const abi::Save& s) {
    if (!devicesAreWell()) return false;
    std::string error;
    std::vector<NamedTensor> tensors;
    for (size_t i = 0; i < s.tensors.size(); ++i) {
      const auto& t = s.tensors[i];
      tensors.push_back({i < s.names.size() ? s.names[i] : "", {t.dtype, t.shape, read(t)}});
    }
    return saveTensors(format(s.path), s.format, tensors, m_.options().files, error) || stop(s.site, error);
  }

  void keepResults() {
    std::vector<std::byte> bytesOnHost;
    for (size_t i = 0; i < p_.results.size() && o_.result; ++i) {
      const abi::TensorRef& t = p_.results[i];
      Device* d = deviceOf(t.buffer);
      if (!d) {
        o_.result(i, read(t));
        continue;
      }
      bytesOnHost.resize(bytes(t));
      if (!bytesOnHost.empty())
        d->wait(d->copyOut(bytesOnHost.data(), {place_[t.buffer], t.byteOffset}, bytes(t), ++order_));
      o_.result(i, bytesOnHost.data());
    }
  }

  /// Rounds of about 20 ms or one run each, after a warm-up; the medians of the rounds' means are kept.
  bool execute(const abi::Bench& s) {
    if (!steps(s.body) || !devicesAreWell()) return false;
    auto start = Clock::now();
    if (!steps(s.body) || !devicesAreWell()) return false;
    const double once = std::max(1e-7, seconds(Clock::now()) - seconds(start));
    const int repeats = std::clamp(static_cast<int>(0.02 / once), 1, 1000);
    const int rounds =
        o_.benchRounds > 0 ? o_.benchRounds : std::clamp(static_cast<int>(o_.benchSeconds / (once * repeats)), 5, 101);
    std::vector<double> times;
    for (int r = 0; r < rounds; ++r) {
      start = Clock::now();
      for (int i = 0; i < repeats; ++i)
        if (!steps(s.body)) return false;
      if (!devicesAreWell()) return false;
      times.push_back((seconds(Clock::now()) - seconds(start)) / repeats * 1e3);
    }
    std::sort(times.begin(), times.end());
    result_.benches.push_back({s.name, times[times.size() / 2], times.front(), rounds});
    return true;
  }
};

}  // namespace

RunResult run(const LoadedProgram& program, Machine& machine, const RunOptions& options) {
  return Executor(program, machine, options).run();
}

}  // namespace tenc::rt
