#include "codegen/cpu/Schedule.h"

#include <algorithm>

#include "codegen/LoopRuns.h"
#include "codegen/NativeFaults.h"
#include "codegen/NativeTrips.h"
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
    for (const auto& inner : op->regions)
      if (const double once = regionWork(kernel, loop, *inner); once > 0) work += once * regionRuns(*op);
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

/// How often a loop runs, if that is known, and its variable far from the ends of i64: work items count in steps.
int64_t countedTrips(const ir::Op& loop) {
  constexpr int64_t kFarthest = int64_t{1} << 40;
  for (size_t i = 0; i < 3; ++i) {
    const auto n = ir::constantInt(loop.operand(i));
    if (!n || *n <= -kFarthest || *n >= kFarthest) return 0;
  }
  return ir::tripCount(loop).value_or(0);
}

/// Trips that do not depend on each other are shared by threads, where they take long enough.
Schedule scheduleNative(const Kernel& kernel, const Workers& workers) {
  Schedule s;
  s.form = NativeLoop{};
  s.work = nativeWork(*kernel.native);
  if (workers.threads < 2 || s.work < 2 * kGrainWork) return s;
  // The first fault would have to be told, whichever trip ran first.
  const ir::Op* loop = loopOfApartTrips(kernel);
  const int64_t trips = loop != nullptr && !mayFault(kernel) ? countedTrips(*loop) : 0;
  if (trips < 2) return s;
  s.form = NativeLoop{true};
  s.items = trips;
  const double most = static_cast<double>(trips) / (4.0 * workers.threads);  // the last ones end at about one time
  s.grain =
      std::max<int64_t>(1, static_cast<int64_t>(std::min(most, kGrainWork / (s.work / static_cast<double>(trips)))));
  constexpr int64_t kWholeVectors = 64;  // no trips that vectors leave over, but at the end
  if (s.grain > kWholeVectors) s.grain -= s.grain % kWholeVectors;
  return s;
}

}  // namespace

Schedule schedule(const Kernel& kernel, const Workers& workers, Level level) {
  Schedule s;
  switch (kernel.kind) {
    case Kernel::Kind::Loop: s = scheduleLoops(kernel, workers, level); break;
    case Kernel::Kind::Product: s = scheduleProduct(kernel, workers, level); break;
    case Kernel::Kind::Native: s = scheduleNative(kernel, workers); break;
    case Kernel::Kind::TensorLoop: s = scheduleTensorLoop(kernel, workers, level); break;
    case Kernel::Kind::Routine:  // the runtime's on this target
    case Kernel::Kind::Attention:
    case Kernel::Kind::AttentionGradient: break;  // decomposed for it
  }
  s.level = level;
  s.work += kRunOverhead;
  return s;
}

CodeKind codeKind(const Schedule& schedule) {
  if (schedule.level == Level::Quick) return CodeKind::Quick;
  const auto* tiled = std::get_if<TiledProduct>(&schedule.form);
  if (tiled != nullptr && tiled->quickAround) return CodeKind::Quick;
  if (std::holds_alternative<NativeLoop>(schedule.form)) return CodeKind::Native;
  const bool product = tiled != nullptr || std::holds_alternative<DepthwiseConvolution>(schedule.form);
  return product ? CodeKind::Products : CodeKind::Loops;
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
