#include "runtime/cuda/CudaRun.h"

#include <array>

namespace tenc::rt::cuda {

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

Outcome CudaRun::issue(size_t command, const CudaFunctions& f, StreamHandle stream, Pointer block,
                       uint64_t base) const {
  const Command& c = commands_[command];
  const uint64_t* words = key_.data() + c.words;
  if (c.kernel == nullptr) return {f.deviceToDevice(words[0], words[1], words[2], stream), "cuMemcpyDtoDAsync"};
  const abi::Kernel& kernel = *c.kernel->kernel;
  const auto& code = std::get<abi::DeviceCode>(kernel.code);
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
