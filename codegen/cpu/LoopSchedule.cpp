#include "codegen/cpu/LoopSchedule.h"

#include <algorithm>

#include "codegen/ImplicitProduct.h"
#include "codegen/KernelShape.h"
#include "codegen/ScalarBodies.h"
#include "codegen/cpu/Cost.h"
#include "codegen/cpu/KernelFunction.h"
#include "codegen/cpu/RowWindows.h"
#include "codegen/cpu/Scan.h"
#include "codegen/cpu/Schedule.h"

namespace tenc::codegen::cpu {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

LaneBlocks blocksOf(const Kernel& kernel, size_t var, int64_t size) {
  return {var, size, std::max<int64_t>(1, ceilDiv(kernel.outer[var], size))};
}

/// How many of `items`, of so much work each, make a grain.
int64_t grainOf(double itemWork, int64_t items) {
  return std::clamp<int64_t>(static_cast<int64_t>(kGrainWork / std::max(itemWork, 1.0)), 1,
                             std::max<int64_t>(items, 1));
}

int64_t pointsOf(const Kernel& kernel) {
  int64_t points = 1;
  for (int64_t d : kernel.outer) points *= d;
  return points;
}

bool hasSums(const Kernel& kernel) {
  return std::any_of(kernel.stages.begin(), kernel.stages.end(), [&](const Stage& x) { return sumsFloats(kernel, x); });
}

/// Whether the stage has a say in the choice of the vector variable: where floats are summed, only the stages that do.
bool hasSay(const Kernel& kernel, const Stage& stage) { return sumsFloats(kernel, stage) || !hasSums(kernel); }

// ---- rows

bool isRunning(const Kernel& kernel, const Stage& stage) {
  return !stage.reductions.empty() && kernel.reductions[stage.reductions[0]].running;
}

int64_t innerExtent(const Stage& stage, size_t i) { return stage.innerHi[i] - stage.innerLo[i]; }

/// The inner variable, numbered from 0, that is best as the vector, if any is better than scalar code.
std::optional<size_t> bestInner(const Kernel& kernel, const Stage& stage) {
  std::optional<size_t> choice;
  double best = scalarChoiceCost(kernel, stage);
  for (size_t i = 0; i < stage.innerLo.size() && !stage.ordered; ++i) {
    const double cost = choiceCost(kernel, stage, kernel.outer.size() + i, innerExtent(stage, i));
    if (!(isRunning(kernel, stage) ? hasChunks(kernel, stage) : cost < best)) continue;
    best = cost;
    choice = i;
  }
  return choice;
}

RowSchedule::InnerVector innerVector(const Kernel& kernel, const Stage& stage, size_t i, Level level) {
  const bool quick = level == Level::Quick;
  int copies = innerCopies(kernel, stage);
  while (copies > 1 && innerExtent(stage, i) <= kLanes * copies / 2) copies /= 2;
  // Of a scan in chunks, copies are no accumulators.
  const bool single = quick && (stage.reductions.empty() || hasChunks(kernel, stage));
  return {kernel.outer.size() + i, single ? 1 : copies, isLong(kernel, stage) || single,
          quick ? 1 : bodiesOf(stageCost(kernel, stage))};
}

struct RowChoice {
  RowSchedule schedule;
  double cost = 0;  ///< of one outer point, for the choice of the vector variable
  double work = 0;  ///< of one outer point
};

RowChoice rowsOf(const Kernel& kernel, Level level) {
  RowChoice rows;
  for (const Stage& stage : kernel.stages) {
    const auto n = static_cast<double>(trips(stage.innerLo, stage.innerHi));
    const std::optional<size_t> inner = bestInner(kernel, stage);
    double choice = scalarChoiceCost(kernel, stage), work = scalarCost(kernel, stage);
    if (inner) {
      const size_t var = kernel.outer.size() + *inner;
      choice = choiceCost(kernel, stage, var, innerExtent(stage, *inner));
      work = costPerElement(kernel, stage, var, innerExtent(stage, *inner));
      rows.schedule.stages.push_back(innerVector(kernel, stage, *inner, level));
    } else {
      rows.schedule.stages.push_back(std::nullopt);
    }
    // Reducing across lanes and starting loops costs something for each point.
    if (hasSay(kernel, stage))
      rows.cost +=
          choice * n + 2 + (sumsFloats(kernel, stage) ? 12.0 : 12.0 * static_cast<double>(stage.reductions.size()));
    rows.work += work * n + 2;
  }
  return rows;
}

// ---- an outer variable as the vector

/// Whether `var`, an outer variable, may run over lanes around all stages.
bool canBeOuterVector(const Kernel& kernel, size_t var) {
  bool hasReductions = false, full = true;
  for (const Stage& s : kernel.stages) {
    if (hasChunks(kernel, s)) return false;
    hasReductions = hasReductions || !s.reductions.empty();
    full = full && coversAll(kernel, s, var);
    for (const Store& st : s.stores) {
      const bool scratch = kernel.buffers[st.access.buffer].role == Buffer::Role::Scratch;
      if (scratch && (kernel.outer[var] < kLanes || !hasShortScratch(kernel))) return false;
      // Each lane needs elements of its own.
      if (!scratch && strideOf(st.access, var) == 0 && st.access.terms.empty()) return false;
      // What is read, changed and stored in order is faster one by one than by gathers that wait for scatters.
      if (s.ordered && std::abs(strideOf(st.access, var)) != 1) return false;
    }
  }
  return !hasReductions || full;
}

struct OuterChoice {
  size_t var;
  double work;  ///< of one outer point
};

/// The outer variable that is best as the vector, if any costs less than `most` for each point.
std::optional<OuterChoice> bestOuter(const Kernel& kernel, double most) {
  auto total = [&](size_t v, auto cost, auto counts) {
    double sum = 0;
    for (const Stage& stage : kernel.stages)
      if (counts(stage))
        sum += cost(kernel, stage, v, kernel.outer[v]) * static_cast<double>(trips(stage.innerLo, stage.innerHi));
    return sum;
  };
  std::optional<OuterChoice> best;
  for (size_t v = kernel.outer.size(); v-- > 0;) {
    if (!canBeOuterVector(kernel, v)) continue;
    const double cost = total(v, choiceCost, [&](const Stage& s) { return hasSay(kernel, s); });
    if (cost >= most * 0.999) continue;
    most = cost;
    best = OuterChoice{v, cost};
  }
  if (!best || !hasSums(kernel)) return best;
  // Each lane adds in order, whichever outer variable is the vector: between these, all that the kernel does decides.
  auto work = [&](size_t v) { return total(v, costPerElement, [](const Stage&) { return true; }); };
  best->work = work(best->var);
  constexpr double kClearly = 0.6;
  for (size_t v = kernel.outer.size(); v-- > 0;) {
    if (v == best->var || !canBeOuterVector(kernel, v)) continue;
    if (const double cost = work(v); cost < kClearly * best->work) best = OuterChoice{v, cost};
  }
  return best;
}

constexpr int64_t kTransposedRowBytes = 16 << 10;  // on the stack, and in the first cache

/// Whether all that a kernel does is to store values that it knows.
bool isFill(const Kernel& kernel) {
  return std::all_of(kernel.stages.begin(), kernel.stages.end(), [](const Stage& stage) {
    return std::all_of(stage.exprs.begin(), stage.exprs.end(),
                       [](const Expr& e) { return e.kind == Expr::Kind::Constant; });
  });
}

/// Vectors of quick code side by side, which for columns have accumulators of their own either way: as many as fill 64
/// bytes in a fill, where what a trip costs beside its stores counts.
int quickCopies(const Kernel& kernel) {
  constexpr int kStored = 64;
  if (!isFill(kernel)) return 1;
  int least = kStored;
  for (const Stage& stage : kernel.stages)
    for (const Store& store : stage.stores)
      least = std::min(least, ir::byteSize(kernel.buffers[store.access.buffer].dtype));
  return std::max(1, kStored / (kLanes * least));
}

int columnCopies(const Kernel& kernel, size_t v, const Workers& workers, Level level) {
  if (level == Level::Quick) return quickCopies(kernel);
  int copies = 16;
  bool ordered = false;
  const bool loops = std::ranges::any_of(kernel.stages, [](const Stage& x) { return !x.innerLo.empty(); });
  for (const Stage& stage : kernel.stages) {
    // What runs once for a loop of another stage has the vectors of that: it counts by its code alone.
    const bool isOnce = loops && stage.innerLo.empty() && !stage.ordered;
    copies = std::min(copies, isOnce ? bodiesOf(stageCost(kernel, stage)) : outerCopies(kernel, stage));
    ordered = ordered || stage.ordered;
  }
  const int64_t rowBytes = bytesOf(rowWindows(kernel, v), kernel);
  while (copies > 1 && rowBytes * copies > kTransposedRowBytes) copies /= 2;
  if (ordered) {
    // Each walks along all that is ordered: no more blocks than threads want.
    const int64_t blocks = std::min<int64_t>(workers.threads, 2);
    return static_cast<int>(std::clamp<int64_t>(kernel.outer[v] / (blocks * kLanes), 1, copies));
  }
  if (loops && rowBytes == 0) return static_cast<int>(std::clamp<int64_t>(kernel.outer[v] / kLanes, 1, copies));
  while (copies > 1 && kernel.outer[v] < copies * kLanes) copies /= 2;
  return copies;
}

struct TransposedLoad {
  size_t source;  ///< the outer variable along which its memory runs
  int64_t tile;
  bool isFar;  ///< from memory, or the last cache
};
constexpr int64_t kFarBytes = int64_t{8} << 20;

/// A load of the kernel, of one elementwise stage, that is to be transposed to be read along `v`.
std::optional<TransposedLoad> transposedLoad(const Kernel& kernel, size_t v) {
  if (kernel.stages.size() != 1) return std::nullopt;
  const Stage& stage = kernel.stages[0];
  if (!stage.innerLo.empty() || kernel.outer[v] < kLanes || !coversAll(kernel, stage, v)) return std::nullopt;
  for (const Store& st : stage.stores)
    if (strideOf(st.access, v) != 1 || !st.access.terms.empty()) return std::nullopt;
  std::optional<TransposedLoad> found;
  for (size_t d = 0; d < kernel.outer.size(); ++d) {
    if (d == v || kernel.outer[d] < kLanes || !coversAll(kernel, stage, d)) continue;
    for (const Expr& e : stage.exprs) {
      if (e.kind != Expr::Kind::Load || !e.access.terms.empty()) continue;
      if (strideOf(e.access, d) != 1 || std::abs(strideOf(e.access, v)) <= 1) continue;
      // Runs of 256 bytes both ways; the transposed square stays in the first cache.
      const int64_t size = ir::byteSize(kernel.buffers[e.access.buffer].dtype);
      found = TransposedLoad{d, kLanes * (size == 8 ? 2 : 4), pointsOf(kernel) * size >= kFarBytes};
    }
  }
  return found;
}

constexpr int64_t kLeastWideColumns = 256;
/// The same of kernels that read their rows more than once: what is between the columns of an item is read, and
/// written, by others, and by each of them again.
constexpr int64_t kLeastWideColumnsAgain = 64;

/// Columns of an item: long runs of memory, two items at least.
int64_t wideBlock(int64_t columns) {
  if (columns >= 1024) return std::clamp<int64_t>(columns / 4 / kLanes * kLanes, 512, 1024);
  return ceilDiv(columns / 2, kLanes) * kLanes;
}

/// Whether the stages reduce long rows into columns, one after the other, or use only the results.
bool isWideColumns(const Kernel& kernel, size_t v) {
  if (kernel.outer[v] < kLeastWideColumnsAgain || kernel.stages[0].reductions.empty()) return false;
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
  if (loops == 1 && kernel.outer[v] < kLeastWideColumns) return false;
  // Heavy code, of one stage, hides how its rows come from memory, unless they are some pages apart.
  if (loops == 1 && stageCost(kernel, kernel.stages[0]) > 8 && kernel.outer[v] < 1024) return false;
  return rows >= 32;
}

/// Columns, or one of its special cases.
Schedule scheduleColumns(const Kernel& kernel, const OuterChoice& outer, const Workers& workers, Level level) {
  Schedule s;
  const bool quick = level == Level::Quick;
  const int64_t extent = kernel.outer[outer.var], points = pointsOf(kernel);
  const int copies = columnCopies(kernel, outer.var, workers, level);
  const bool transposes = !quick && !rowWindows(kernel, outer.var).empty();
  // Rows of vectors that are not whole are not transposed.
  const bool oneBody =
      (quick && !isFill(kernel)) || (!transposes && std::any_of(kernel.stages.begin(), kernel.stages.end(),
                                                                [&](const Stage& x) { return isLong(kernel, x); }));
  const bool loops =
      std::any_of(kernel.stages.begin(), kernel.stages.end(), [](const Stage& x) { return !x.innerLo.empty(); });
  const int64_t unit = int64_t{kLanes} * copies;
  const auto wanted = static_cast<int64_t>(kGrainWork / std::max(outer.work, 0.01));
  const int64_t block = loops ? unit : std::max<int64_t>(unit, wanted / unit * unit);
  int64_t items = extent == 0 ? 0 : points / extent;
  double work = outer.work;  // of an item, for each element of the block
  LaneBlocks blocks{};
  if (std::optional<TransposedLoad> load = quick ? std::nullopt : transposedLoad(kernel, outer.var)) {
    blocks = blocksOf(kernel, outer.var, std::max<int64_t>(2 * load->tile, block / load->tile * load->tile));
    const int64_t values = kernel.outer[load->source];
    items = items / values * ceilDiv(values, load->tile);
    work *= static_cast<double>(load->tile);
    s.form = LoopSchedule{TransposeSchedule{blocks, load->source, load->tile, load->isFar, copies, oneBody}};
  } else if (!quick && !transposes && isWideColumns(kernel, outer.var)) {
    blocks = blocksOf(kernel, outer.var, wideBlock(extent));
    s.form = LoopSchedule{WideColumnSchedule{blocks}};
  } else {
    blocks = blocksOf(kernel, outer.var, block);
    s.form = LoopSchedule{ColumnSchedule{blocks, copies, oneBody, transposes}};
  }
  s.items = items * blocks.count;
  s.work = outer.work * static_cast<double>(points);
  s.grain = grainOf(work * static_cast<double>(std::min(blocks.size, extent)), s.items);
  return s;
}

// ---- implicit products

/// Whether the body of an implicit product is light enough to stand many times over in registers.
bool isLight(const Kernel& kernel, const Stage& stage) {
  if (stageCost(kernel, stage) > 16 && !sumsFloats(kernel, stage)) return false;
  return std::none_of(stage.exprs.begin(), stage.exprs.end(), [](const Expr& e) {
    return e.kind == Expr::Kind::Op && !ir::isFloat(e.dtype) && elementwiseCost(e.op, e.dtype) > 4;
  });
}

constexpr int64_t kTurnedBytes = 64 << 10;  // on the stack, and in the second-level cache

std::optional<Schedule> scheduleImplicitProduct(const Kernel& kernel, Level level) {
  const size_t inner = kernel.outer.size();
  if (inner < 2 || !isPlainReduction(kernel) || !isLight(kernel, kernel.stages[0])) return std::nullopt;
  const Stage& first = kernel.stages[0];
  const int64_t k = innerExtent(first, 0);
  int64_t widest = 4;
  for (uint32_t r : first.reductions)
    widest = std::max<int64_t>(widest, ir::byteSize(kernel.reductions[r].accumulator));
  for (size_t v = inner; v-- > 0;) {
    for (size_t u = 0; u < inner; ++u) {
      if (u == v || kernel.outer[v] < kLanes / 2 || kernel.outer[u] < 4 || !canBeOuterVector(kernel, v)) continue;
      const std::optional<ImplicitProduct> product = implicitProductOf(kernel, u, v);
      if (!product) continue;
      int64_t block = kLanes * (widest > 4 ? 2 : 4);
      while (block > kLanes && kernel.outer[v] <= block / 2) block /= 2;
      if (product->turned && (k < kLanes / 2 || k * block * widest > kTurnedBytes)) continue;
      // Items of some ten microseconds, so that transposing is paid many times over.
      const double rowWork = static_cast<double>(stageCost(kernel, first) + 1) * static_cast<double>(k * block) /
                             static_cast<double>(kLanes) * static_cast<double>(widest) / 4;
      const int64_t rows = std::clamp<int64_t>(static_cast<int64_t>(48000 / rowWork), 1, 16) * 12;
      const LaneBlocks blocks = blocksOf(kernel, v, block);
      const bool quick = level == Level::Quick;
      Schedule s;
      // Transposing is much code; in short code such loads are gathered.
      s.form = LoopSchedule{ImplicitProductSchedule{blocks, u, rows, product->turned && !quick,
                                                    quick ? 1 : bodiesOf(stageCost(kernel, first))}};
      s.items = blocks.count * ceilDiv(kernel.outer[u], rows);
      for (size_t d = 0; d < inner; ++d)
        if (d != u && d != v) s.items *= kernel.outer[d];
      const double itemWork = rowWork * static_cast<double>(std::min(rows, kernel.outer[u]));
      s.work = itemWork * static_cast<double>(s.items);
      s.grain = grainOf(itemWork, s.items);
      return s;
    }
  }
  return std::nullopt;
}

// ---- updates in parts

/// How many values a run-time index may have.
int64_t valuesOf(const Access::Term& t) { return std::max(t.size, t.extent); }

/// The updates of a kernel shared out by where they go, where they are many and nothing else can be shared out.
std::optional<UpdateSchedule> updatesInParts(const Kernel& kernel, const Workers& workers, Level level) {
  constexpr int64_t kLeastUpdates = 32768, kLeastValues = 64, kMostParts = 16;
  if (level == Level::Quick || kernel.stages.size() != 1 || pointsOf(kernel) >= workers.threads) return std::nullopt;
  const Stage& stage = kernel.stages[0];
  if (!stage.ordered || !stage.reductions.empty() || stage.stores.size() != 1) return std::nullopt;
  // The last inner variable is looked through in vectors.
  if (trips(stage.innerLo, stage.innerHi) < kLeastUpdates || innerExtent(stage, stage.innerLo.size() - 1) < 1024)
    return std::nullopt;
  const std::vector<Access::Term>& terms = stage.stores[0].access.terms;
  const auto most = std::max_element(terms.begin(), terms.end(),
                                     [](const auto& a, const auto& b) { return valuesOf(a) < valuesOf(b); });
  // Updates all over a large target wait for its memory: without compressing stores, two threads take as long as one
  // that looks at nothing twice.
  constexpr int64_t kNearBytes = int64_t{512} << 10;
  const Buffer& target = kernel.buffers[stage.stores[0].access.buffer];
  if (workers.threads < 4 && workers.vectors.registerBytes < 64 &&
      target.elements * ir::byteSize(target.dtype) > kNearBytes)
    return std::nullopt;
  const int64_t parts = std::min<int64_t>(workers.threads, kMostParts);
  if (most == terms.end() || valuesOf(*most) < kLeastValues * parts) return std::nullopt;
  return UpdateSchedule{static_cast<size_t>(most - terms.begin()), valuesOf(*most), parts};
}

Schedule scheduleRows(const Kernel& kernel, RowChoice rows) {
  Schedule s;
  s.items = pointsOf(kernel);
  s.work = rows.work * static_cast<double>(s.items);
  s.grain = grainOf(rows.work, s.items);
  s.form = LoopSchedule{std::move(rows.schedule)};
  return s;
}

}  // namespace

Schedule scheduleLoops(const Kernel& kernel, const Workers& workers, Level level) {
  auto choose = [&]() -> Schedule {
    if (std::optional<Schedule> product = scheduleImplicitProduct(kernel, level)) return *std::move(product);
    RowChoice rows = rowsOf(kernel, level);
    if (const std::optional<OuterChoice> outer = bestOuter(kernel, rows.cost))
      return scheduleColumns(kernel, *outer, workers, level);
    Schedule s = scheduleRows(kernel, std::move(rows));
    if (const auto updates = updatesInParts(kernel, workers, level)) {
      s.form = LoopSchedule{*updates};
      s.items *= updates->parts;
      s.grain = 1;
    }
    return s;
  };
  Schedule s = choose();
  s.scratchBytes = scratchBytes(kernel);
  return s;
}

// ---- for people

namespace {

std::string number(int64_t n) { return std::to_string(n); }
/// As in the text of kernels.
std::string loopVar(size_t v) { return "i" + std::to_string(v); }

std::string text(const LaneBlocks& b) {
  return "vectors of " + loopVar(b.var) + " in " + number(b.count) + " blocks of " + number(b.size);
}

std::string text(const RowSchedule& s) {
  std::string all = "rows:";
  for (size_t i = 0; i < s.stages.size(); ++i) {
    all += i == 0 ? " " : ", ";
    const auto& v = s.stages[i];
    all += v ? "vectors of " + loopVar(v->var) + " x " + number(v->copies) : "scalar";
  }
  return all;
}

std::string text(const ColumnSchedule& s) {
  return "columns: " + text(s.blocks) + ", x " + number(s.copies) + (s.transposes ? ", transposed" : "");
}
std::string text(const WideColumnSchedule& s) { return "wide columns: " + text(s.blocks); }
std::string text(const TransposeSchedule& s) {
  return "transpose: " + text(s.blocks) + ", squares of " + number(s.tile) + " with " + loopVar(s.source);
}
std::string text(const UpdateSchedule& s) { return "updates: scalar, in " + number(s.parts) + " parts"; }
std::string text(const ImplicitProductSchedule& s) {
  return "implicit product: " + text(s.blocks) + ", " + number(s.rows) + " rows of " + loopVar(s.row) +
         (s.transposes ? ", transposed" : "");
}

}  // namespace

std::string describe(const LoopSchedule& schedule) {
  return std::visit([](const auto& s) { return text(s); }, schedule.strategy);
}

}  // namespace tenc::codegen::cpu
