#include "codegen/cpu/Schedule.h"

#include <algorithm>

#include "codegen/LoopRuns.h"
#include "codegen/cpu/Cost.h"

namespace tenc::codegen::cpu {

namespace {

/// Of a run of the region.
double regionWork(const Kernel& kernel, const TensorLoop& loop, const ir::Region& region) {
  double work = 0;
  for (const auto& op : region.ops) {
    if (op->kind == ir::OpKind::Fused) {
      work += loop.parts[kernel.partOf.at(op.get()).number].work;
      continue;
    }
    for (const auto& inner : op->regions) work += regionWork(kernel, loop, *inner) * regionRuns(*op);
  }
  return work;
}

Schedule scheduleTensorLoop(const Kernel& kernel, const Workers& workers, Level level) {
  TensorLoop loop;
  Schedule s;
  for (const Kernel& part : kernel.parts) {
    loop.parts.push_back(schedule(part, workers, level));
    s.scratchBytes = std::max(s.scratchBytes, loop.parts.back().scratchBytes);
  }
  s.work = regionWork(kernel, loop, *kernel.tensorLoop->regions[0]);
  constexpr double kLong = 3e7;  // 10 ms
  loop.isLong = s.work >= kLong;
  s.form = std::move(loop);
  return s;
}

}  // namespace

Schedule schedule(const Kernel& kernel, const Workers& workers, Level level) {
  Schedule s;
  switch (kernel.kind) {
    case Kernel::Kind::Loop: s = scheduleLoops(kernel, level); break;
    case Kernel::Kind::Product: s = scheduleProduct(kernel, workers, level); break;
    case Kernel::Kind::Native:
      s.form = NativeLoop{};
      s.work = nativeWork(*kernel.native);
      break;
    case Kernel::Kind::TensorLoop: s = scheduleTensorLoop(kernel, workers, level); break;
    case Kernel::Kind::Routine:  // the runtime's on this target
    case Kernel::Kind::Attention:
    case Kernel::Kind::AttentionGradient: break;  // decomposed for it
  }
  s.level = level;
  s.work += kRunOverhead;
  return s;
}

std::string describe(const TensorLoop& loop) {
  std::string text = "tensor loop";
  for (const Schedule& part : loop.parts) text += (&part == loop.parts.data() ? ": " : "; ") + describe(part);
  return text;
}

std::string describe(const Schedule& schedule) {
  return std::visit([](const auto& form) { return describe(form); }, schedule.form);
}

}  // namespace tenc::codegen::cpu
