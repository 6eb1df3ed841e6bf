#include "runtime/cuda/CudaRun.h"

#include <algorithm>
#include <array>

namespace tenc::rt::cuda {

const abi::DeviceCode* CudaKernel::code() const {
  const auto* call = std::get_if<abi::ProductCode>(&kernel->code);
  if (call == nullptr) return std::get_if<abi::DeviceCode>(&kernel->code);
  return call->then ? &*call->then : nullptr;
}

/// The offset of a command that is added.
uint64_t CudaRun::begin(uint64_t order) {
  if (commands_.empty()) order_ = order;
  return order - order_;
}

void CudaRun::launch(const CudaKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
                     uint64_t order) {
  const uint64_t offset = begin(order);
  const bool reports = !kernel.kernel->sites.empty();
  key_.push_back(reinterpret_cast<uint64_t>(&kernel));
  if (reports) key_.push_back(offset);
  commands_.push_back({&kernel, key_.size(), args.size(), scalars_.size(), offset});
  for (const DeviceArg& a : args) key_.push_back(reinterpret_cast<uint64_t>(a.address));
  scalars_.insert(scalars_.end(), scalars.begin(), scalars.end());
  reports_ = reports_ || reports;
  ++launches_;
}

void CudaRun::copy(Pointer to, Pointer from, uint64_t bytes, uint64_t order) {
  const uint64_t offset = begin(order);
  key_.push_back(0);
  commands_.push_back({nullptr, key_.size(), 3, 0, offset});
  key_.insert(key_.end(), {to, from, bytes});
}

void CudaRun::clear() {
  commands_.clear();
  key_.clear();
  scalars_.clear();
  launches_ = 0;
  reports_ = false;
}

/// What of the device's memory a command touches.
std::vector<CudaRun::Range> CudaRun::ranges(const Command& c) const {
  const uint64_t* words = key_.data() + c.words;
  if (c.kernel == nullptr) return {{words[0], words[0] + words[2], true}, {words[1], words[1] + words[2], false}};
  std::vector<Range> list;
  for (size_t i = 0; i < c.args; ++i) {
    const abi::Parameter& p = c.kernel->kernel->parameters[i];
    if (p.access != abi::Access::None) list.push_back({words[i], words[i] + p.bytes, p.access != abi::Access::Read});
  }
  return list;
}

std::vector<std::vector<size_t>> CudaRun::dependencies() const {
  std::vector<std::vector<Range>> touched;
  for (const Command& c : commands_) touched.push_back(ranges(c));
  const auto meet = [](const Range& a, const Range& b) {
    return (a.isWritten || b.isWritten) && a.begin < b.end && b.begin < a.end;
  };
  const size_t n = commands_.size();
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

Outcome CudaRun::issue(size_t command, const CudaFunctions& f, StreamHandle stream, Pointer block,
                       uint64_t base) const {
  const Command& c = commands_[command];
  const uint64_t* words = key_.data() + c.words;
  if (c.kernel == nullptr) return {f.deviceToDevice(words[0], words[1], words[2], stream), "cuMemcpyDtoDAsync"};
  const abi::Kernel& kernel = *c.kernel->kernel;
  if (c.kernel->product != nullptr) {
    const LibraryStatus status = c.kernel->product->run({words, c.args}, stream);
    if (status != 0 || c.kernel->function == nullptr) return {0, "", status};
  }
  const abi::DeviceCode& code = *c.kernel->code();
  std::array<uint64_t, 3> last = {block + sizeof(CudaBlock) + c.scalars * sizeof(uint64_t), block,
                                  c.kernel->number << kOffsetBits | (order_ + c.offset - base)};
  std::vector<void*> parameters;
  for (size_t i = 0; i < c.args; ++i) parameters.push_back(const_cast<uint64_t*>(words + i));
  for (size_t i = kernel.scalars > 0 ? 0 : 1; i < last.size(); ++i) parameters.push_back(&last[i]);
  return {f.launch(c.kernel->function, code.grid[0], code.grid[1], code.grid[2], code.group[0], code.group[1],
                   code.group[2], code.sharedBytes, stream, parameters.data(), nullptr),
          "cuLaunchKernel"};
}

}  // namespace tenc::rt::cuda
