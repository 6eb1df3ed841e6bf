#include "runtime/cuda/CudaRun.h"

#include <algorithm>
#include <array>

namespace tenc::rt::cuda {
namespace {

// What stands in a key where a kernel's address could: what kind of command follows.
enum Mark : uint64_t { kCopy = 0, kControl = 1, kSection = 2, kEnd = 3 };

}  // namespace

const abi::DeviceCode* CudaKernel::code() const {
  if (const abi::SolverCode* s = solved()) return &s->then;
  if (sequenced() != nullptr) return nullptr;
  const auto* call = std::get_if<abi::ProductCode>(&kernel->code);
  if (call == nullptr) return std::get_if<abi::DeviceCode>(&kernel->code);
  return call->then ? &*call->then : nullptr;
}

/// Of a command that is added.
uint64_t CudaRun::offsetOf(uint64_t order) {
  if (now_.all++ == 0) order_ = order;
  return order - order_;
}

void CudaRun::launch(const CudaKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
                     uint64_t order) {
  const uint64_t offset = offsetOf(order);
  const bool reports = !kernel.kernel->sites.empty();
  key_.push_back(reinterpret_cast<uint64_t>(&kernel));
  if (reports) key_.push_back(offset);
  here().push_back({&kernel, nullptr, key_.size(), args.size(), scalars_.size(), offset});
  for (const DeviceArg& a : args) key_.push_back(reinterpret_cast<uint64_t>(a.address));
  scalars_.insert(scalars_.end(), scalars.begin(), scalars.end());
  now_.reports = now_.reports || reports;
  ++now_.launches;
}

void CudaRun::copy(Pointer to, Pointer from, uint64_t bytes, uint64_t order) {
  const uint64_t offset = offsetOf(order);
  key_.push_back(kCopy);
  here().push_back({nullptr, nullptr, key_.size(), 3, 0, offset});
  key_.insert(key_.end(), {to, from, bytes});
}

void CudaRun::begin(ControlKind kind, uint64_t order) {
  if (open_.empty()) {
    before_ = now_;
    before_.commands = commands_.size();
    before_.key = key_.size();
    before_.scalars = scalars_.size();
  }
  const uint64_t offset = offsetOf(order);
  key_.insert(key_.end(), {kControl, static_cast<uint64_t>(kind)});
  CudaCommands& outer = here();
  outer.push_back({nullptr, std::make_shared<CudaControl>(), key_.size(), 0, 0, offset});
  CudaControl& control = *outer.back().control;
  control.kind = kind;
  control.sections.emplace_back();
  open_.push_back(&control);
  now_.deepest = std::max(now_.deepest, open_.size());
  now_.hasControl = true;
}

void CudaRun::section() {
  key_.push_back(kSection);
  open_.back()->sections.emplace_back();
}

void CudaRun::end(Pointer first, Pointer second) {
  CudaControl& control = *open_.back();
  control.flags[0] = first;
  control.flags[1] = second;
  key_.insert(key_.end(), {kEnd, first, second});
  open_.pop_back();
}

void CudaRun::abandon() {
  open_.clear();
  commands_.resize(before_.commands);
  key_.resize(before_.key);
  scalars_.resize(before_.scalars);
  now_ = before_;
}

void CudaRun::clear() {
  commands_.clear();
  open_.clear();
  key_.clear();
  scalars_.clear();
  now_ = {};
}

/// What of the device's memory a command touches.
void CudaRun::ranges(const CudaCommand& c, std::vector<Range>& list) const {
  const uint64_t* words = key_.data() + c.words;
  if (c.control != nullptr) {
    for (const CudaCommands& section : c.control->sections)
      for (const CudaCommand& inner : section) ranges(inner, list);
    for (const Pointer flag : c.control->flags)
      if (flag != 0) list.push_back({flag, flag + 1, false});
    return;
  }
  if (c.kernel == nullptr) {
    list.push_back({words[0], words[0] + words[2], true});
    list.push_back({words[1], words[1] + words[2], false});
    return;
  }
  for (size_t i = 0; i < c.args; ++i) {
    const abi::Parameter& p = c.kernel->kernel->parameters[i];
    if (p.access != abi::Access::None) list.push_back({words[i], words[i] + p.bytes, p.access != abi::Access::Read});
  }
}

std::vector<std::vector<size_t>> CudaRun::dependencies(const CudaCommands& list) const {
  const size_t n = list.size();
  std::vector<std::vector<Range>> touched(n);
  for (size_t i = 0; i < n; ++i) ranges(list[i], touched[i]);
  const auto meet = [](const Range& a, const Range& b) {
    return (a.isWritten || b.isWritten) && a.begin < b.end && b.begin < a.end;
  };
  std::vector<std::vector<size_t>> after(n);
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n));  // directly or by way of others
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i; j-- > 0;) {
      if (before[i][j] || !std::any_of(touched[i].begin(), touched[i].end(), [&](const Range& a) {
            return std::any_of(touched[j].begin(), touched[j].end(), [&](const Range& b) { return meet(a, b); });
          }))
        continue;
      after[i].push_back(j);
      before[i][j] = true;
      for (size_t k = 0; k < j; ++k) before[i][k] = before[i][k] || before[j][k];
    }
  }
  return after;
}

Outcome CudaRun::issue(const CudaCommand& c, const CudaFunctions& f, StreamHandle stream, Pointer block,
                       uint64_t base) const {
  const uint64_t* words = key_.data() + c.words;
  if (c.kernel == nullptr) return {f.deviceToDevice(words[0], words[1], words[2], stream), "cuMemcpyDtoDAsync"};
  const abi::Kernel& kernel = *c.kernel->kernel;
  std::array<uint64_t, 3> last = {block + sizeof(CudaBlock) + c.scalars * sizeof(uint64_t), block,
                                  c.kernel->number << kOffsetBits | (order_ + c.offset - base)};
  std::vector<void*> parameters;
  for (size_t i = 0; i < c.args; ++i) parameters.push_back(const_cast<uint64_t*>(words + i));
  for (size_t i = kernel.scalars > 0 ? 0 : 1; i < last.size(); ++i) parameters.push_back(&last[i]);
  const auto launch = [&](FunctionHandle function, const abi::DeviceCode& code) {
    return Outcome{f.launch(function, code.grid[0], code.grid[1], code.grid[2], code.group[0], code.group[1],
                            code.group[2], code.sharedBytes, stream, parameters.data(), nullptr),
                   "cuLaunchKernel"};
  };
  if (const abi::SequenceCode* sequence = c.kernel->sequenced()) {
    Outcome outcome;
    for (size_t i = 0; i < sequence->functions.size() && outcome.isWell(); ++i)
      outcome = launch(c.kernel->sequence[i], sequence->functions[i]);
    return outcome;
  }
  if (c.kernel->product != nullptr) {
    Outcome outcome = c.kernel->product->run({words, c.args}, stream);
    if (!outcome.isWell() || c.kernel->function == nullptr) return outcome;
  }
  if (c.kernel->solver != nullptr) {
    const abi::SolverCode& code = *c.kernel->solved();
    if (Outcome outcome = launch(c.kernel->before, code.before); !outcome.isWell()) return outcome;
    if (Outcome outcome = c.kernel->solver->run(code, words[c.args - 1]); !outcome.isWell()) return outcome;
  }
  return launch(c.kernel->function, *c.kernel->code());
}

}  // namespace tenc::rt::cuda
