#include "runtime/Executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/cpu/Arena.h"
#include "runtime/cpu/ThreadPool.h"

namespace tenc::rt {
namespace {

using abi::BufferId;
using abi::FaultKind;
using abi::Step;
using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point t) { return std::chrono::duration<double>(t.time_since_epoch()).count(); }

class Executor {
 public:
  Executor(const abi::Program& program, Machine& machine, const RunOptions& options)
      : p_(program), m_(machine), o_(options) {}

  RunResult run() {
    if (!prepare()) return result_;
    for (size_t i = 0; i < p_.inputs.size(); ++i) {
      const auto& t = p_.inputs[i];
      enter(p_.buffers[t.buffer].device);
      std::memcpy(at(t), o_.inputs[i], bytes(t));
    }
    if (steps(p_.steps)) keepResults();
    // Leave the memory open: a later program may use the same arenas.
    for (Arena* a : arenas_) a->protect(true);
    if (!o_.print) std::fflush(stdout);
    return result_;
  }

 private:
  const abi::Program& p_;
  Machine& m_;
  const RunOptions& o_;
  RunResult result_;
  std::vector<Arena*> arenas_;
  std::vector<std::byte*> address_;              // of each buffer; loops exchange entries
  std::vector<std::vector<std::byte>> scratch_;  // one a thread
  std::vector<void*> args_;
  std::vector<uint64_t> scalars_;
  uint32_t space_ = 0;  // the device whose memory is open
  bool several_ = false;

  bool prepare() {
    several_ = p_.devices.size() > 1;
    for (const auto& d : p_.devices) {
      Arena* a = m_.arena(d.name);
      const bool isHost = arenas_.empty();
      if (!a || (!isHost && m_.options().virtualBytes && d.arenaBytes > m_.options().virtualBytes) ||
          !a->reserve(d.arenaBytes, !isHost)) {
        result_.end = RunResult::End::OutOfMemory;
        result_.text = d.name + (a ? " cannot give " + std::to_string(d.arenaBytes) + " bytes" : " is not available");
        return false;
      }
      arenas_.push_back(a);
    }
    address_.reserve(p_.buffers.size());
    for (const auto& b : p_.buffers) address_.push_back(arenas_[b.device]->base() + b.offset);
    uint64_t most = 0;
    for (const auto& k : p_.kernels) most = std::max(most, k.scratchBytes);
    scratch_.resize(static_cast<size_t>(m_.threads()));
    for (auto& s : scratch_) s.resize(most ? most + 64 : 0);
    for (const auto& c : p_.constants) {
      enter(p_.buffers[c.buffer].device);
      if (!c.bytes->empty()) std::memcpy(address_[c.buffer], c.bytes->data(), c.bytes->size());
    }
    if (several_) {
      for (size_t i = 0; i < arenas_.size(); ++i) arenas_[i]->protect(i == space_);
    }
    return true;
  }

  /// Opens one device's memory and closes the others: what a kernel was not given by a transfer, it cannot read.
  void enter(uint32_t device) {
    if (!several_ || device == space_) return;
    arenas_[space_]->protect(false);
    arenas_[device]->protect(true);
    space_ = device;
  }

  static uint64_t bytes(const abi::TensorRef& t) {
    uint64_t n = static_cast<uint64_t>(dtypeSize(t.dtype));
    for (int64_t d : t.shape) n *= static_cast<uint64_t>(d);
    return n;
  }
  std::byte* at(const abi::TensorRef& t) const { return address_[t.buffer] + t.byteOffset; }
  std::byte* at(const abi::KernelArg& a) const { return address_[a.buffer] + a.byteOffset; }
  template <typename T>
  T host(BufferId b) {
    enter(0);
    T v;
    std::memcpy(&v, address_[b], sizeof v);
    return v;
  }
  template <typename T>
  void setHost(BufferId b, T v) {
    enter(0);
    std::memcpy(address_[b], &v, sizeof v);
  }

  bool stop(FaultKind kind, uint32_t site, std::string text = {}) {
    result_.end = RunResult::End::Stopped;
    result_.fault = kind;
    result_.site = site;
    result_.text = std::move(text);
    return false;
  }

  bool steps(const std::vector<Step>& list) {
    for (const Step& s : list) {
      if (interrupted() || !step(s)) return false;
    }
    return true;
  }

  bool interrupted() {
    if (!m_.interrupted.load(std::memory_order_relaxed)) return false;
    result_.end = RunResult::End::Interrupted;
    return true;
  }

  bool step(const Step& s) {
    switch (s.kind) {
      case Step::Kind::Launch: return launch(s);
      case Step::Kind::Transfer: return transfer(s);
      case Step::Kind::Copy:
        enter(s.device);
        std::memmove(at(s.dst), at(s.src), s.bytes);
        return true;
      case Step::Kind::For: return forLoop(s);
      case Step::Kind::While:
        while (true) {
          if (interrupted() || !steps(s.condition)) return false;
          if (!host<uint8_t>(s.cond)) return true;
          if (!steps(s.body)) return false;
          exchange(s);
        }
      case Step::Kind::If: return steps(host<uint8_t>(s.cond) ? s.body : s.other);
      case Step::Kind::Print: {
        emit(format(s, 0) + "\n");
        return true;
      }
      case Step::Kind::Assert:
        enter(0);
        if (*reinterpret_cast<const uint8_t*>(at(s.tensors[0]))) return true;
        return stop(FaultKind::Assertion, s.site, format(s, 1));
      case Step::Kind::Load: return load(s);
      case Step::Kind::Save: {
        enter(0);
        std::string error;
        const auto& t = s.tensors[0];
        if (saveTensor(s.path, s.format, {t.dtype, t.shape, at(t)}, error)) return true;
        return stop(FaultKind::File, s.site, error);
      }
      case Step::Kind::Seed: {
        enter(0);
        m_.seed = 0;
        std::memcpy(&m_.seed, at(s.tensors[0]), std::min<uint64_t>(8, bytes(s.tensors[0])));
        m_.draws = 0;
        return true;
      }
      case Step::Kind::RngNext: {
        enter(0);
        std::memcpy(at(s.tensors[0]), &m_.seed, 8);
        std::memcpy(at(s.tensors[1]), &m_.draws, 8);
        ++m_.draws;
        return true;
      }
      case Step::Kind::Time: {
        enter(0);
        const double now = seconds(Clock::now());
        std::memcpy(at(s.tensors[0]), &now, 8);
        return true;
      }
      case Step::Kind::Bench: return bench(s);
    }
    return true;
  }

  struct LaunchContext {
    Executor* self;
    const abi::Kernel* kernel;
  };

  bool launch(const Step& s) {
    const abi::Kernel& k = p_.kernels[s.kernel];
    scalars_.clear();
    if (!s.scalars.empty()) {
      enter(0);
      for (BufferId b : s.scalars) {
        uint64_t v;
        std::memcpy(&v, address_[b], 8);
        scalars_.push_back(v);
      }
    }
    args_.clear();
    for (const auto& a : s.args) args_.push_back(at(a));
    enter(s.device);
    LaunchContext context{this, &k};
    __atomic_store_n(&m_.fault, 0, __ATOMIC_RELAXED);
    if (interrupted()) return false;  // before the fault word was cleared
    if (k.items <= k.grain) {
      k.fn(args_.data(), scalars_.data(), 0, k.items, &m_.fault, scratch(0));
    } else {
      m_.pool().run(
          k.items, k.grain,
          [](void* c, int thread, int64_t begin, int64_t end) {
            auto* l = static_cast<LaunchContext*>(c);
            l->kernel->fn(l->self->args_.data(), l->self->scalars_.data(), begin, end, &l->self->m_.fault,
                          l->self->scratch(thread));
          },
          &context);
    }
    const uint32_t fault = __atomic_load_n(&m_.fault, __ATOMIC_RELAXED);
    if (fault == 0) return true;
    if (fault == abi::kInterruptFault) return !interrupted();
    const uint32_t site = k.sites[fault - 1];
    return stop(p_.sites[site], site);
  }

  void* scratch(int thread) {
    auto& s = scratch_[static_cast<size_t>(thread)];
    const auto address = reinterpret_cast<uintptr_t>(s.data());
    return reinterpret_cast<void*>((address + 63) / 64 * 64);
  }

  bool transfer(const Step& s) {
    const uint32_t from = p_.buffers[s.src.buffer].device, to = p_.buffers[s.dst.buffer].device;
    arenas_[from]->protect(true);
    arenas_[to]->protect(true);
    std::memmove(at(s.dst), at(s.src), s.bytes);
    if (several_) {
      if (from != space_) arenas_[from]->protect(false);
      if (to != space_) arenas_[to]->protect(false);
    }
    return true;
  }

  void exchange(const Step& s) {
    for (const auto& [a, b] : s.swaps) std::swap(address_[a], address_[b]);
  }

  bool forLoop(const Step& s) {
    const int64_t lo = host<int64_t>(s.lo), hi = host<int64_t>(s.hi), by = host<int64_t>(s.by);
    if (by == 0) return stop(FaultKind::Division, s.site);
    const uint64_t span = by > 0 ? (hi > lo ? static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) : 0)
                                 : (lo > hi ? static_cast<uint64_t>(lo) - static_cast<uint64_t>(hi) : 0);
    const uint64_t stride = by > 0 ? static_cast<uint64_t>(by) : 0 - static_cast<uint64_t>(by);
    const uint64_t trips = span / stride + (span % stride != 0);
    int64_t i = lo;
    for (uint64_t t = 0; t < trips; ++t) {
      if (s.iv != abi::kNoBuffer) setHost(s.iv, i);
      if (interrupted() || !steps(s.body)) return false;
      exchange(s);
      i = static_cast<int64_t>(static_cast<uint64_t>(i) + static_cast<uint64_t>(by));
    }
    return true;
  }

  std::string format(const Step& s, size_t firstOperand) {
    enter(0);
    std::string text;
    for (size_t i = 0; i < s.pieces.size(); ++i) {
      text += s.pieces[i];
      const size_t operand = firstOperand + i;
      if (operand >= s.tensors.size()) continue;
      const auto& t = s.tensors[operand];
      const std::string& f = s.formats[i];
      if (f == "@")
        text += t.device;
      else if (t.shape.empty())
        text += formatScalar(t.dtype, at(t), f);
      else
        text += formatTensor({t.dtype, t.shape, at(t)}, t.device);
    }
    return text;
  }

  void emit(const std::string& text) {
    if (o_.print)
      o_.print(text);
    else
      std::fwrite(text.data(), 1, text.size(), stdout);
  }

  bool load(const Step& s) {
    const auto& t = s.tensors[0];
    std::vector<std::byte> staging(bytes(t));
    std::string error;
    if (!loadInto(s.path, s.format, t.dtype, t.shape, staging.data(), error))
      return stop(FaultKind::File, s.site, error);
    enter(p_.buffers[t.buffer].device);
    if (!staging.empty()) std::memcpy(at(t), staging.data(), staging.size());
    return true;
  }

  void keepResults() {
    for (size_t i = 0; i < p_.results.size() && o_.result; ++i) {
      enter(p_.buffers[p_.results[i].buffer].device);
      o_.result(i, at(p_.results[i]));
    }
  }

  /// Rounds of about 20 ms or one run each, after a warm-up; the medians of the rounds' means are kept.
  bool bench(const Step& s) {
    if (!steps(s.condition)) return false;  // what is made once
    if (!steps(s.body)) return false;
    auto start = Clock::now();
    if (!steps(s.body)) return false;
    const double once = std::max(1e-7, seconds(Clock::now()) - seconds(start));
    const int repeats = std::clamp(static_cast<int>(0.02 / once), 1, 1000);
    const int rounds =
        o_.benchRounds > 0 ? o_.benchRounds : std::clamp(static_cast<int>(o_.benchSeconds / (once * repeats)), 5, 101);
    std::vector<double> times;
    for (int r = 0; r < rounds; ++r) {
      start = Clock::now();
      for (int i = 0; i < repeats; ++i)
        if (!steps(s.body)) return false;
      times.push_back((seconds(Clock::now()) - seconds(start)) / repeats * 1e3);
    }
    std::sort(times.begin(), times.end());
    result_.benches.push_back({s.name, times[times.size() / 2], times.front(), rounds});
    return true;
  }
};

}  // namespace

RunResult run(const abi::Program& program, Machine& machine, const RunOptions& options) {
  return Executor(program, machine, options).run();
}

}  // namespace tenc::rt
