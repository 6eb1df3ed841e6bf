#include "codegen/cpu/Cost.h"

#include <algorithm>

#include "codegen/KernelShape.h"
#include "codegen/LoopRuns.h"
#include "codegen/ScalarBodies.h"
#include "codegen/ScalarRandom.h"
#include "codegen/cpu/LoopSchedule.h"
#include "codegen/cpu/RowWindows.h"
#include "codegen/cpu/Scan.h"
#include "codegen/cpu/StageFacts.h"

namespace tenc::codegen::cpu {
namespace {

/// What making `var` the vector costs for one access, per vector.
double accessCost(const Kernel& kernel, const Stage& stage, const Access& a, size_t var) {
  if (isShortRow(kernel, stage, a, var))
    return std::max(3.0, 0.75 * static_cast<double>(ir::byteSize(kernel.buffers[a.buffer].dtype)));
  int64_t s = strideOf(a, var);
  const bool picked = s > 1 && s <= kMostStride;
  double cost = s == 0 ? 0.3 : s == 1 ? 1 : s == -1 ? 2 : picked ? 1.5 * static_cast<double>(s) : kLanes * 1.2;
  if (!a.terms.empty() && s != 1) cost = kLanes * 1.2;
  return cost;
}

double perElement(double cost, int64_t extent) {
  int64_t vectors = (extent + kLanes - 1) / kLanes;
  return cost * static_cast<double>(vectors) / static_cast<double>(std::max<int64_t>(extent, 1));
}

/// What each element of a sum of floats is taken to cost besides its loads, whatever is computed.
constexpr double kSumCost = 6;

/// A loop that runs on known integers runs a known number of times.
double regionWork(const ir::Region& r) {
  constexpr double kScalarOp = 4;  // branches, latency
  double work = 0;
  for (const auto& op : r.ops) work += kScalarOp + (op->regions.empty() ? 0 : nativeWork(*op) * regionRuns(*op));
  return work;
}

}  // namespace

int stageCost(const Kernel& kernel, const Stage& stage) {
  int cost = 0;
  for (const Expr& e : stage.exprs) {
    if (e.kind == Expr::Kind::Op) cost += elementwiseCost(e.op, e.dtype);
    if (e.kind == Expr::Kind::Random) cost += randomCost(e.op, e.dtype);
    if (e.kind == Expr::Kind::Load) cost += e.access.terms.empty() ? 1 : 8;
  }
  for (uint32_t r : stage.reductions) {
    auto kind = kernel.reductions[r].kind;
    cost += kind == Reduction::Kind::ArgMax || kind == Reduction::Kind::ArgMin ? 10
            : kernel.reductions[r].chunk != 0                                  ? 16
                                                                               : 1;
  }
  return cost;
}

double costPerElement(const Kernel& kernel, const Stage& stage, size_t var, int64_t extent) {
  double cost = stageCost(kernel, stage);
  for (const Expr& e : stage.exprs)
    if (e.kind == Expr::Kind::Load) cost += accessCost(kernel, stage, e.access, var);
  for (const Store& s : stage.stores) cost += 2 * accessCost(kernel, stage, s.access, var);
  return perElement(cost, extent);
}

double scalarCost(const Kernel& kernel, const Stage& stage) { return stageCost(kernel, stage) + 1; }

double choiceCost(const Kernel& kernel, const Stage& stage, size_t var, int64_t extent) {
  if (!sumsFloats(kernel, stage)) return costPerElement(kernel, stage, var, extent);
  double loads = 0;
  int count = 0;
  for (const Expr& e : stage.exprs) {
    if (e.kind != Expr::Kind::Load) continue;
    if (isShortRow(kernel, stage, e.access, var)) return 0;  // whatever else is loaded: the order is that of the shape
    loads += accessCost(kernel, stage, e.access, var);
    ++count;
  }
  return perElement(kSumCost + loads / std::max(count, 1), extent);
}

double scalarChoiceCost(const Kernel& kernel, const Stage& stage) {
  return sumsFloats(kernel, stage) ? kSumCost + 1 : scalarCost(kernel, stage);
}

int bodiesOf(int cost) { return cost <= 16 ? 4 : cost <= 40 ? 2 : 1; }

bool isLong(const Kernel& kernel, const Stage& stage) { return stageCost(kernel, stage) > 48; }

namespace {
int elementwiseCopies(int cost) { return cost <= 4 ? 4 : cost <= 10 ? 2 : 1; }
}  // namespace

int innerCopies(const Kernel& kernel, const Stage& stage) {
  const int cost = stageCost(kernel, stage);
  if (stage.reductions.empty()) return elementwiseCopies(cost);
  // Copies are accumulators: what else a kernel does must not change how many there are.
  return hasChunks(kernel, stage) ? bodiesOf(cost) : 4;
}

int outerCopies(const Kernel& kernel, const Stage& stage) {
  int cost = stageCost(kernel, stage);
  if (!stage.innerLo.empty()) {
    // What does not change along the loop is computed in front of it.
    const StageFacts facts(kernel, stage, StageFacts::kNoVar);
    for (ExprId i = 0; i < stage.exprs.size(); ++i) {
      const Expr& e = stage.exprs[i];
      if (e.kind == Expr::Kind::Op && facts.dependencies(i) >> kernel.outer.size() == 0 && !facts.isFromRunning(i))
        cost -= elementwiseCost(e.op, e.dtype);
    }
  }
  if (stage.ordered) return 4;  // an index is found once for all copies
  if (stage.reductions.empty()) return elementwiseCopies(cost);
  return cost <= 2 ? 16 : cost <= 4 ? 8 : bodiesOf(cost);
}

int64_t bytesOfB(const Product& p) { return p.depth() * p.n * ir::byteSize(p.operands); }

double productWork(const Kernel& kernel) {
  const Product& p = kernel.product;
  constexpr double kFlops = 20;   // a unit, in whole vectors
  constexpr double kBytes = 2.5;  // of B, a unit: lines from memory, in panels
  const int64_t columns = (p.n + kLanes - 1) / kLanes * kLanes;
  const double points = static_cast<double>(p.m) * static_cast<double>(columns);
  const double computed = points * (flopsOf(p.depth(), 1) / kFlops + (stageCost(kernel, p.epilogue) + 2.0) / kLanes);
  double work = std::max(computed, static_cast<double>(bytesOfB(p)) / kBytes);  // where few rows use B, it is read
  for (int64_t d : p.batch) work *= static_cast<double>(d);
  return work;
}

double nativeWork(const ir::Op& op) {
  double work = 0;
  for (const auto& r : op.regions) work += regionWork(*r);
  return work;
}

}  // namespace tenc::codegen::cpu
