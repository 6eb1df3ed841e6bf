#include "tests/cuda/vm/Counters.h"

#include <algorithm>
#include <sstream>

namespace tenc::ptx {

InstructionCounters& InstructionCounters::operator+=(const InstructionCounters& c) {
  executed += c.executed;
  lanes += c.lanes;
  divergent += c.divergent;
  sectors += c.sectors;
  sectorsInL1 += c.sectorsInL1;
  bytes += c.bytes;
  sharedCycles += c.sharedCycles;
  idealSharedCycles += c.idealSharedCycles;
  return *this;
}

InstructionCounters KernelCounters::total() const {
  InstructionCounters sum;
  for (size_t pc = 0; pc < at.size(); ++pc) {
    if (kernel->code[pc].cls != Class::Helper) sum += at[pc];
  }
  return sum;
}

std::array<uint64_t, kClasses> KernelCounters::byClass() const {
  std::array<uint64_t, kClasses> sums{};
  for (size_t pc = 0; pc < at.size(); ++pc) sums[static_cast<size_t>(kernel->code[pc].cls)] += at[pc].executed;
  sums[static_cast<size_t>(Class::Helper)] = 0;
  return sums;
}

uint64_t KernelCounters::flops() const {
  uint64_t sum = 0;
  for (size_t pc = 0; pc < at.size(); ++pc) {
    const Instruction& i = kernel->code[pc];
    sum += i.cls == Class::Matrix || i.cls == Class::Warpgroup ? i.target * at[pc].executed : i.flops * at[pc].lanes;
  }
  return sum;
}

uint64_t KernelCounters::warpgroupFlops() const {
  uint64_t sum = 0;
  for (size_t pc = 0; pc < at.size(); ++pc) {
    if (kernel->code[pc].cls == Class::Warpgroup) sum += kernel->code[pc].target * at[pc].executed;
  }
  return sum;
}

double KernelCounters::coalescing() const {
  InstructionCounters sum = total();
  return sum.sectors ? static_cast<double>(sum.bytes) / 32 / static_cast<double>(sum.sectors) : 1;
}

std::string KernelCounters::worst(size_t count) const {
  std::vector<std::pair<uint64_t, size_t>> waste;
  for (size_t pc = 0; pc < at.size(); ++pc) {
    const InstructionCounters& c = at[pc];
    uint64_t sectors = c.sectors - std::min(c.sectors, (c.bytes + 31) / 32);
    if (uint64_t n = sectors + c.sharedCycles - c.idealSharedCycles) waste.emplace_back(n, pc);
  }
  std::sort(waste.rbegin(), waste.rend());
  std::ostringstream s;
  for (size_t i = 0; i < std::min(count, waste.size()); ++i) {
    const InstructionCounters& c = at[waste[i].second];
    s << kernel->describe(static_cast<uint32_t>(waste[i].second)) << ": " << c.sectors << " sectors for "
      << (c.bytes + 31) / 32 << ", " << c.sharedCycles << " shared cycles for " << c.idealSharedCycles << "\n";
  }
  return s.str();
}

std::string KernelCounters::text() const {
  InstructionCounters sum = total();
  std::ostringstream s;
  s << kernel->name << ": launches " << launches << ", blocks " << blocks << ", threads " << threads
    << ", warp instructions " << sum.executed << ", thread instructions " << sum.lanes << ", divergent branches "
    << sum.divergent << ", sectors " << sum.sectors << ", sectors in L1 " << sum.sectorsInL1 << ", bytes asked for "
    << sum.bytes << ", distinct sectors " << sectorsRead + sectorsWritten << ", shared cycles " << sum.sharedCycles
    << " for " << sum.idealSharedCycles << ", flops " << flops();
  if (const uint64_t n = warpgroupFlops()) s << ", wgmma flops " << n;
  if (dynamicShared) s << ", dynamic shared " << dynamicShared;
  auto classes = byClass();
  for (size_t c = 0; c < kClasses; ++c) {
    if (classes[c]) s << ", " << nameOf(static_cast<Class>(c)) << " " << classes[c];
  }
  return s.str();
}

}  // namespace tenc::ptx
