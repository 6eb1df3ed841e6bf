#include "codegen/cpu/CompileLevel.h"

#include <algorithm>
#include <limits>

#include "codegen/LoopRuns.h"
#include "codegen/cpu/LoopCost.h"
#include "codegen/cpu/Schedule.h"

namespace tenc::codegen::cpu {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

// Optimising a kernel takes one to three milliseconds more, and makes it two to four times as fast: worth it from about
// half a millisecond on. Less than that here, because work is only estimated and quick code stays in the cache.
constexpr double kQuickWork = 1e6;

constexpr double kLoopOverhead = 60;  // units a run: arguments, the call
constexpr double kScalarOp = 4;       // in a native loop: branches, latency

double elements(const std::vector<int64_t>& shape) {
  double n = 1;
  for (int64_t d : shape) n *= static_cast<double>(d);
  return n;
}

double productWork(const Kernel& k) {
  const Product& p = k.product;
  constexpr int64_t kLanes = 16;
  constexpr double kFlops = 20;  // a unit, in whole vectors
  const int64_t registers = (p.n + kLanes - 1) / kLanes;
  const auto columns = static_cast<double>(registers * kLanes);
  const double points = elements(p.batch) * static_cast<double>(p.m) * columns;
  return points * (2 * static_cast<double>(p.depth()) / kFlops + (stageCost(k, p.epilogue) + 2.0) / kLanes);
}

/// A loop that runs on known integers runs a known number of times.
double regionWork(const ir::Region& r) {
  double work = 0;
  for (const auto& op : r.ops) {
    double inside = 0;
    for (const auto& inner : op->regions) inside += regionWork(*inner);
    work += kScalarOp + (op->regions.empty() ? 0 : inside * regionRuns(*op));
  }
  return work;
}

}  // namespace

std::string_view name(Level level) { return level == Level::Quick ? "quick" : "full"; }

double expectedWork(const Kernel& kernel) {
  switch (kernel.kind) {
    case Kernel::Kind::Loop: return kLoopOverhead + scheduleLoops(kernel, Level::Full).work;
    case Kernel::Kind::Product: return kLoopOverhead + productWork(kernel);
    case Kernel::Kind::Native: {
      double work = kLoopOverhead;
      for (const auto& r : kernel.native->regions) work += regionWork(*r);
      return work;
    }
  }
  return kUnknown;
}

Level levelFor(double work) { return work <= kQuickWork ? Level::Quick : Level::Full; }

}  // namespace tenc::codegen::cpu
