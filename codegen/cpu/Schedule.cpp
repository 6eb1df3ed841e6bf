#include "codegen/cpu/Schedule.h"

#include <algorithm>
#include <limits>

#include "codegen/KernelShape.h"
#include "codegen/ScalarBodies.h"
#include "codegen/ScalarRandom.h"
#include "codegen/TileProduct.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/Scan.h"

namespace tenc::codegen::cpu {
namespace {

constexpr size_t kNone = Schedule::kNone;

/// What making `var` the vector costs for one access, per vector.
double accessCost(const Access& a, size_t var, int lanes) {
  int64_t s = strideOf(a, var);
  const bool picked = s > 1 && s <= kMostStride;
  double cost = s == 0 ? 0.3 : s == 1 ? 1 : s == -1 ? 2 : picked ? 1.5 * static_cast<double>(s) : lanes * 1.2;
  if (!a.terms.empty() && s != 1) cost = lanes * 1.2;
  return cost;
}

double perElement(double cost, int64_t extent, int lanes) {
  int64_t vectors = (extent + lanes - 1) / lanes;
  return cost * static_cast<double>(vectors) / static_cast<double>(std::max<int64_t>(extent, 1));
}

/// The cost of a stage per element, when `var`, of `extent` values, is its vector.
double costPerElement(const Kernel& kernel, const Stage& stage, size_t var, int64_t extent, int lanes) {
  double cost = stageCost(kernel, stage);
  for (const Expr& e : stage.exprs)
    if (e.kind == Expr::Kind::Load) cost += accessCost(e.access, var, lanes);
  for (const Store& s : stage.stores) cost += 2 * accessCost(s.access, var, lanes);
  return perElement(cost, extent, lanes);
}

/// What each element of a sum of floats is taken to cost besides its loads, whatever is computed: which variable is the
/// vector decides the order of the sum, and so must follow from shapes and strides alone.
constexpr double kSumCost = 6;

/// costPerElement by which the vector of the stage is chosen.
double choiceCost(const Kernel& kernel, const Stage& stage, size_t var, int64_t extent, int lanes) {
  if (!sumsFloats(kernel, stage)) return costPerElement(kernel, stage, var, extent, lanes);
  double loads = 0;
  int count = 0;
  for (const Expr& e : stage.exprs) {
    if (e.kind != Expr::Kind::Load) continue;
    loads += accessCost(e.access, var, lanes);
    ++count;
  }
  return perElement(kSumCost + loads / std::max(count, 1), extent, lanes);
}

/// How many bodies of a reduction stand side by side in the code.
int bodiesOf(int cost) { return cost <= 16 ? 4 : cost <= 40 ? 2 : 1; }

int copiesFor(const Kernel& kernel, const Stage& stage, bool outer) {
  int cost = stageCost(kernel, stage);
  if (stage.ordered && outer) return 4;  // an index is found once for all copies
  if (stage.reductions.empty()) return cost <= 4 ? 4 : cost <= 10 ? 2 : 1;
  if (outer) return cost <= 2 ? 16 : cost <= 4 ? 8 : cost <= 16 ? 4 : cost <= 40 ? 2 : 1;
  // Copies are accumulators: what else a kernel does must not change how many there are.
  return hasChunks(kernel, stage) ? bodiesOf(cost) : 4;
}

/// Whether `var`, an outer variable, may run over lanes around all stages.
bool canBeOuterVector(const Kernel& kernel, size_t var) {
  bool hasReductions = false, full = true;
  for (const Stage& s : kernel.stages) {
    if (hasChunks(kernel, s)) return false;
    hasReductions = hasReductions || !s.reductions.empty();
    full = full && coversAll(kernel, s, var);
    for (const Store& st : s.stores) {
      // Each lane needs elements of its own.
      if (strideOf(st.access, var) == 0 && st.access.terms.empty()) return false;
      if (kernel.buffers[st.access.buffer].role == Buffer::Role::Scratch) return false;
    }
  }
  return !hasReductions || full;
}

void chooseTile(const Kernel& kernel, Schedule& s) {
  if (kernel.stages.size() != 1) return;
  const Stage& stage = kernel.stages[0];
  size_t v = s.outerVector;
  if (!stage.innerLo.empty() || kernel.outer[v] < s.lanes || !coversAll(kernel, stage, v)) return;
  for (const Store& st : stage.stores)
    if (strideOf(st.access, v) != 1 || !st.access.terms.empty()) return;
  for (size_t d = 0; d < kernel.outer.size(); ++d) {
    if (d == v || kernel.outer[d] < s.lanes || !coversAll(kernel, stage, d)) continue;
    for (const Expr& e : stage.exprs) {
      if (e.kind != Expr::Kind::Load || !e.access.terms.empty()) continue;
      if (strideOf(e.access, d) != 1 || std::abs(strideOf(e.access, v)) <= 1) continue;
      // Runs of 256 bytes both ways; the turned square stays in the first cache.
      s.tileVar = d;
      s.tile = s.lanes * (ir::byteSize(kernel.buffers[e.access.buffer].dtype) == 8 ? 2 : 4);
    }
  }
}

bool isRunning(const Kernel& kernel, const Stage& stage) {
  return !stage.reductions.empty() && kernel.reductions[stage.reductions[0]].running;
}

constexpr int64_t kLeastWideColumns = 256;

/// Columns of an item: long runs of memory, two items at least.
int64_t wideBlock(int64_t columns, int lanes) {
  if (columns >= 1024) return std::clamp<int64_t>(columns / 4 / lanes * lanes, 512, 1024);
  return (columns / 2 + lanes - 1) / lanes * lanes;
}

/// Whether the stages reduce long rows into columns, one after the other, or use only the results.
bool isWideColumns(const Kernel& kernel, size_t v) {
  if (kernel.outer[v] < kLeastWideColumns || kernel.stages[0].reductions.empty()) return false;
  int64_t rows = 0;
  int loops = 0;
  for (const Stage& stage : kernel.stages) {
    for (size_t d = 0; d < kernel.outer.size(); ++d)
      if (!coversAll(kernel, stage, d)) return false;
    if (stage.innerLo.empty()) {
      if (!stage.reductions.empty()) return false;
      continue;
    }
    if (stage.ordered) return false;
    ++loops;
    rows = std::max(rows, trips(stage.innerLo, stage.innerHi));
    for (uint32_t r : stage.reductions) {
      const Reduction& red = kernel.reductions[r];
      if (red.running || red.accumulator == ir::DType::Bool) return false;
      if (red.kind == Reduction::Kind::Any || red.kind == Reduction::Kind::All) return false;
    }
    for (const Expr& e : stage.exprs)
      if (e.kind == Expr::Kind::Load &&
          (!e.access.terms.empty() || (strideOf(e.access, v) != 1 && strideOf(e.access, v) != 0)))
        return false;
    for (const Store& st : stage.stores)
      if (!st.access.terms.empty() || strideOf(st.access, v) != 1) return false;
  }
  // Heavy code, of one stage, hides how its rows come from memory, unless they are some pages apart.
  if (loops == 1 && stageCost(kernel, kernel.stages[0]) > 8 && kernel.outer[v] < 1024) return false;
  return rows >= 32;
}

/// Whether the body of a tile product is light enough to stand many times over in registers.
bool isLight(const Kernel& kernel, const Stage& stage) {
  if (stageCost(kernel, stage) > 16 && !sumsFloats(kernel, stage)) return false;
  return std::none_of(stage.exprs.begin(), stage.exprs.end(), [](const Expr& e) {
    return e.kind == Expr::Kind::Op && !ir::isFloat(e.dtype) && elementwiseCost(e.op, e.dtype) > 4;
  });
}

constexpr int64_t kTurnedBytes = 64 << 10;  // on the stack, and in the second-level cache

/// Fills in a generalised product where the kernel is one.
bool chooseProduct(const Kernel& kernel, Schedule& s, Level level) {
  const size_t inner = kernel.outer.size();
  if (inner < 2 || !isPlainReduction(kernel) || !isLight(kernel, kernel.stages[0])) return false;
  const Stage& first = kernel.stages[0];
  int64_t k = first.innerHi[0] - first.innerLo[0];
  int64_t widest = 4;
  for (uint32_t r : first.reductions)
    widest = std::max<int64_t>(widest, ir::byteSize(kernel.reductions[r].accumulator));
  for (size_t v = inner; v-- > 0;) {
    for (size_t u = 0; u < inner; ++u) {
      if (u == v || kernel.outer[v] < s.lanes / 2 || kernel.outer[u] < 4 || !canBeOuterVector(kernel, v)) continue;
      const std::optional<TileProduct> product = tileProductOf(kernel, u, v);
      if (!product) continue;
      bool turned = product->turned;
      s.block = s.lanes * (widest > 4 ? 2 : 4);
      while (s.block > s.lanes && kernel.outer[v] <= s.block / 2) s.block /= 2;
      if (turned && (k < s.lanes / 2 || k * s.block * widest > kTurnedBytes)) continue;
      if (level == Level::Quick) turned = false;  // turning is much code; what is not turned is gathered
      s.outerVector = v;
      s.rowVar = u;
      s.tileVar = turned ? inner : kNone;
      s.tile = turned ? s.block : 0;
      std::fill(s.copies.begin(), s.copies.end(), static_cast<int>(s.block / s.lanes));
      std::fill(s.stageVector.begin(), s.stageVector.end(), kNone);
      s.blocks = (kernel.outer[v] + s.block - 1) / s.block;
      // Items of some ten microseconds, so that turning is paid many times over.
      double rowWork = static_cast<double>(stageCost(kernel, first) + 1) * static_cast<double>(k * s.block) /
                       static_cast<double>(s.lanes) * static_cast<double>(widest) / 4;
      s.rows = std::clamp<int64_t>(static_cast<int64_t>(48000 / rowWork), 1, 16) * 12;
      s.items = s.blocks * ((kernel.outer[u] + s.rows - 1) / s.rows);
      for (size_t d = 0; d < inner; ++d)
        if (d != u && d != v) s.items *= kernel.outer[d];
      double itemWork = rowWork * static_cast<double>(std::min(s.rows, kernel.outer[u]));
      s.work = itemWork * static_cast<double>(s.items);
      s.grain =
          std::clamp<int64_t>(static_cast<int64_t>(12000 / std::max(itemWork, 1.0)), 1, std::max<int64_t>(s.items, 1));
      return true;
    }
  }
  return false;
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

Schedule makeSchedule(const Kernel& kernel, Level level) {
  Schedule s;
  const bool quick = s.rolled = level == Level::Quick;
  const size_t outerRank = kernel.outer.size();
  int64_t points = 1;
  for (int64_t d : kernel.outer) points *= d;

  // Each stage on its own: the best of its inner variables, or scalar.
  // Where floats are summed, only the stages that do have a say.
  const bool hasSums =
      std::any_of(kernel.stages.begin(), kernel.stages.end(), [&](const Stage& x) { return sumsFloats(kernel, x); });
  double innerCost = 0, pointWork = 0;
  for (const Stage& stage : kernel.stages) {
    int64_t n = trips(stage.innerLo, stage.innerHi);
    const bool sums = sumsFloats(kernel, stage);
    double best = sums ? kSumCost + 1 : stageCost(kernel, stage) + 1;
    size_t choice = kNone;
    for (size_t i = 0; i < stage.innerLo.size() && !stage.ordered; ++i) {
      int64_t extent = stage.innerHi[i] - stage.innerLo[i];
      double cost = choiceCost(kernel, stage, outerRank + i, extent, s.lanes);
      if (isRunning(kernel, stage) ? hasChunks(kernel, stage) : cost < best) {
        best = cost;
        choice = outerRank + i;
      }
    }
    s.stageVector.push_back(choice);
    int copies = choice == kNone ? 1 : copiesFor(kernel, stage, false);
    while (copies > 1 && stage.innerHi[choice - outerRank] - stage.innerLo[choice - outerRank] <= s.lanes * copies / 2)
      copies /= 2;
    // Of a scan in chunks, copies are no accumulators.
    const bool single = quick && (stage.reductions.empty() || hasChunks(kernel, stage));
    if (single) copies = 1;
    s.copies.push_back(copies);
    s.heavy.push_back(stageCost(kernel, stage) > 48 || single);
    s.together.push_back(quick ? 1 : bodiesOf(stageCost(kernel, stage)));
    // Reducing across lanes and starting loops costs something for each point.
    if (sums || !hasSums)
      innerCost +=
          best * static_cast<double>(n) + 2 + (sums ? 12.0 : 12.0 * static_cast<double>(stage.reductions.size()));
    if (sums && choice != kNone) {
      const size_t i = choice - outerRank;
      best = costPerElement(kernel, stage, choice, stage.innerHi[i] - stage.innerLo[i], s.lanes);
    } else if (sums) {
      best = stageCost(kernel, stage) + 1;
    }
    pointWork += best * static_cast<double>(n) + 2;
  }

  if (chooseProduct(kernel, s, level)) return s;

  double outerCost = innerCost;
  for (size_t v = outerRank; v-- > 0;) {
    if (!canBeOuterVector(kernel, v)) continue;
    double cost = 0;
    for (const Stage& stage : kernel.stages)
      if (!hasSums || sumsFloats(kernel, stage))
        cost += choiceCost(kernel, stage, v, kernel.outer[v], s.lanes) *
                static_cast<double>(trips(stage.innerLo, stage.innerHi));
    if (cost < outerCost * 0.999) {
      outerCost = cost;
      s.outerVector = v;
    }
  }
  if (hasSums && s.outerVector != kNone) {
    outerCost = 0;
    for (const Stage& stage : kernel.stages)
      outerCost += costPerElement(kernel, stage, s.outerVector, kernel.outer[s.outerVector], s.lanes) *
                   static_cast<double>(trips(stage.innerLo, stage.innerHi));
  }
  // A unit is about a third of a nanosecond.
  constexpr double kGrainWork = 12000;
  if (s.outerVector == kNone) {
    s.items = points;
    s.work = pointWork * static_cast<double>(points);
    s.grain = std::clamp<int64_t>(static_cast<int64_t>(kGrainWork / std::max(pointWork, 1.0)), 1,
                                  std::max<int64_t>(points, 1));
    return s;
  }

  int copies = 16;
  for (const Stage& stage : kernel.stages) copies = std::min(copies, copiesFor(kernel, stage, true));
  int64_t extent = kernel.outer[s.outerVector];
  bool loops =
      std::any_of(kernel.stages.begin(), kernel.stages.end(), [](const Stage& x) { return !x.innerLo.empty(); });
  const bool ordered =
      std::any_of(kernel.stages.begin(), kernel.stages.end(), [](const Stage& x) { return x.ordered; });
  const int64_t least = ordered ? 2 : 1;  // blocks
  while (copies > 1 && extent < least * copies * s.lanes) copies /= 2;
  if (quick) copies = 1;  // columns side by side: each has accumulators of its own either way
  if (quick) std::fill(s.heavy.begin(), s.heavy.end(), true);
  std::fill(s.copies.begin(), s.copies.end(), copies);
  std::fill(s.stageVector.begin(), s.stageVector.end(), kNone);
  if (!quick) chooseTile(kernel, s);
  int64_t unit = int64_t{s.lanes} * copies;
  auto wanted = static_cast<int64_t>(kGrainWork / std::max(outerCost, 0.01));
  s.block = loops ? unit : std::max<int64_t>(unit, wanted / unit * unit);
  if (s.tileVar != kNone) s.block = std::max<int64_t>(2 * s.tile, s.block / s.tile * s.tile);
  s.wideColumns = !quick && isWideColumns(kernel, s.outerVector);
  if (s.wideColumns) s.block = wideBlock(extent, s.lanes);
  s.blocks = std::max<int64_t>(1, (extent + s.block - 1) / s.block);
  s.work = outerCost * static_cast<double>(points);
  s.items = extent == 0 ? 0 : points / extent * s.blocks;
  if (s.tileVar != kNone) {
    int64_t d = kernel.outer[s.tileVar];
    s.items = s.items / d * ((d + s.tile - 1) / s.tile);
    outerCost *= static_cast<double>(s.tile);
  }
  double itemWork = outerCost * static_cast<double>(std::min(s.block, extent));
  s.grain =
      std::clamp<int64_t>(static_cast<int64_t>(kGrainWork / std::max(itemWork, 1.0)), 1, std::max<int64_t>(s.items, 1));
  return s;
}

}  // namespace tenc::codegen::cpu
