#include "codegen/cuda/AttentionSchedule.h"

#include <algorithm>
#include <span>
#include <vector>

namespace tenc::codegen::cuda {
namespace {

constexpr int64_t kSharedBytes = 48 * 1024;

int64_t over(int64_t n, int64_t by) { return (n + by - 1) / by; }

/// Elements of a row that lie side by side and can be loaded together.
int widthOf(const Attention& a, const MatrixView& m, int64_t rows, int64_t columns, int64_t most) {
  if (m.col != 1) return 1;
  int64_t width = most;
  const auto divides = [&](int64_t n) {
    while (n % width != 0) width /= 2;
  };
  divides(columns);
  divides(m.offset);
  if (rows > 1) divides(m.row);
  for (size_t d = 0; d < a.batch.size(); ++d)
    if (a.batch[d] > 1) divides(m.batch[d]);
  return static_cast<int>(width);
}

/// Shared memory without tensor cores: queries, 32 keys or values by 64 columns, weights. All of floats, rows padded.
int64_t bytesOfFloats(const Attention& a, int rows) {
  const int64_t pitch = 4 * (over(a.depth, 4) | 1);
  return 4 * (rows * pitch + 32 * 68 + int64_t{rows} * 40);
}

struct Choice {
  int rows;
  double efficiency;
};
constexpr Choice kChoices[] = {{64, 1}, {32, 0.8}, {16, 0.55}};

/// Of warpgroups, which have 64 rows each.
constexpr Choice kGroupChoices[] = {{128, 1.8}, {64, 1.4}};

/// The number of rows of a block for which the time of all blocks on a device is least, where tiles of more rows do
/// more with what they load. `blocks`: with so many rows each, 0 where they cannot be.
template <class Blocks>
Choice choiceOf(std::span<const Choice> choices, const Blocks& blocks) {
  Choice best{0, 0};
  double least = 0;
  for (const Choice& c : choices) {
    const int64_t n = blocks(c.rows);
    if (n == 0) continue;
    const double time = static_cast<double>(over(n, kMultiprocessors) * c.rows) / c.efficiency;
    if (best.rows != 0 && time >= least) continue;
    best = c, least = time;
  }
  return best;
}
template <class Blocks>
int rowsOf(const Blocks& blocks) {
  return choiceOf(kChoices, blocks).rows;
}

/// Warpgroups of a block, or 0 where warps do as well: of few queries.
template <class Blocks>
int groupsOf(const Blocks& blocks) {
  std::vector<Choice> all(std::begin(kGroupChoices), std::end(kGroupChoices));
  all.insert(all.end(), std::begin(kChoices), std::end(kChoices));
  const Choice best = choiceOf(all, blocks);
  return best.efficiency > 1 ? best.rows / 64 : 0;
}

int64_t headsOf(const Attention& a) {
  int64_t heads = 1;
  for (const int64_t n : a.batch) heads *= n;
  return heads;
}

/// Rows of floats in shared memory, for products along them four at a time, and across them 32.
int64_t floatPitch(int64_t columns) { return over(columns, 32) * 32 + 4; }

/// Shared memory of the gradient: rows of one side, a step of the other, weights and what becomes of them, and two
/// numbers of each query.
int64_t gradientBytesOfFloats(const Attention& a, int rows, int step) {
  return 4 * ((rows + step) * (floatPitch(a.depth) + floatPitch(a.width)) + 2 * rows * (step + 8) + 2 * step);
}

/// The same on tensor cores, where rows are in registers, so that the memory is that of two steps, or of results.
int64_t gradientBytesOfHalves(const Attention& a, int rows, int step) {
  const int64_t depth = over(a.depth, 16) * 16, width = over(a.width, 16) * 16;
  const int64_t of = 2 * (depth + 8 + width + 8), chunk = std::min<int64_t>(64, std::max(depth, width));
  return std::max({rows * of, 2 * (step * of + 8 * step), 4 * rows * (chunk + 8)});
}

/// Of warpgroups: bytes of a row in tiles of 64 columns each, and of results on their way to memory.
int64_t tileRow(int64_t columns) { return 128 * over(columns, 64); }
int64_t bytesOfResults(int rows, int64_t columns) {
  return int64_t{4} * rows * (std::min<int64_t>(64, over(columns, 16) * 16) + 8);
}

template <class Plan>
Schedule scheduleOf(const Plan& p, uint32_t blocks) {
  Schedule s;
  s.family = Schedule::Family::Attention;
  s.blocks = blocks;
  s.threads = static_cast<uint32_t>(p.threads);
  s.vector = p.vector;
  s.tile.rows = p.rows;
  s.tile.columns = p.step;
  if (p.onTensorCores) s.tile.warpRows = 16, s.tile.warpColumns = p.step;
  s.groups = p.groups, s.resident = p.resident, s.shared = p.shared;
  return s;
}

}  // namespace

AttentionPlan planAttention(const Kernel& k, const Features& features) {
  const Attention& a = k.attention;
  AttentionPlan p;
  p.onTensorCores = features.tensorCores && a.operands != ir::DType::F32;
  const int64_t heads = headsOf(a);
  const int64_t longest = std::max(a.depth, a.width);
  const auto blocks = [&](int rows) {
    return !p.onTensorCores && bytesOfFloats(a, rows) > kSharedBytes ? 0 : over(a.queries, rows) * heads;
  };
  p.groups = p.onTensorCores && features.warpgroups ? groupsOf(blocks) : 0;
  p.rows = p.groups > 0 ? 64 * p.groups : rowsOf(blocks);
  p.step = !p.onTensorCores ? 32 : longest <= 64 ? 64 : longest <= 128 ? 32 : 16;
  p.threads = p.onTensorCores ? 2 * p.rows : 64;
  if (p.groups > 0) {
    p.step = longest <= 128 ? 64 : 32;
    p.held = longest <= 64 ? 128 : p.step;
    p.resident = longest <= 128 ? 2 : 1;
    const int64_t queries = tileRow(a.depth), keys = tileRow(a.depth) + tileRow(a.width);
    p.shared =
        static_cast<uint32_t>(std::max(p.rows * queries + p.stages * p.held * keys, bytesOfResults(p.rows, a.width)));
  }
  const int64_t most = p.onTensorCores ? 8 : 4;
  p.q = widthOf(a, a.q, a.queries, a.depth, most);
  p.k = widthOf(a, a.k, a.keys, a.depth, most);
  p.v = widthOf(a, a.v, a.keys, a.width, most);
  p.vector = std::min(vectorWidth(k, a.epilogue, a.batch.size() + 1, {a.width}), 4);
  p.tiles = over(a.queries, p.rows);
  p.blocks = static_cast<uint32_t>(p.tiles * heads);
  return p;
}

GradientPlan planGradient(const Kernel& k, const Features& features) {
  const Attention& a = k.attention;
  const AttentionGradient& g = k.gradient;
  GradientPlan p;
  p.onTensorCores = features.tensorCores && a.operands != ir::DType::F32;
  p.heads = headsOf(a);
  const bool ofKeys = g.k.wanted || g.v.wanted;
  const int64_t longest = std::max(a.depth, a.width);
  const auto blocks = [&](int rows) {
    return p.heads * ((ofKeys ? over(a.keys, rows) : 0) + (g.q.wanted ? over(a.queries, rows) : 0));
  };
  if (p.onTensorCores && features.warpgroups) p.groups = groupsOf(blocks);
  if (p.groups > 0) {
    p.rows = 64 * p.groups;
    p.step = longest <= 64 ? 64 : 32;
    p.threads = 2 * p.rows;
    constexpr int64_t kNumbers = 1024;  // two of each query of a step, and what the swizzle's repeat leaves free
    const int64_t row = tileRow(a.depth) + tileRow(a.width);
    p.shared = static_cast<uint32_t>(
        std::max(p.rows * row + p.stages * (p.step * row + kNumbers), bytesOfResults(p.rows, longest)));
  } else if (p.onTensorCores) {
    p.rows = rowsOf(blocks);
    p.step = longest <= 64 ? 32 : 16;
    p.threads = 2 * p.rows;
    p.bytes = static_cast<int>(gradientBytesOfHalves(a, p.rows, p.step));
  } else {
    p.threads = 64;
    p.rows = p.step = gradientBytesOfFloats(a, 32, 32) <= kSharedBytes ? 32 : 16;
    p.bytes = static_cast<int>(gradientBytesOfFloats(a, p.rows, p.step));
  }
  const int64_t most = p.onTensorCores ? 8 : 4;
  p.q = widthOf(a, a.q, a.queries, a.depth, most);
  p.k = widthOf(a, a.k, a.keys, a.depth, most);
  p.v = widthOf(a, a.v, a.keys, a.width, most);
  p.c = widthOf(a, g.cotangent, a.queries, a.width, most);
  p.vector = 4;
  for (const auto& [result, columns] : {std::pair{&g.q, a.depth}, {&g.k, a.depth}, {&g.v, a.width}})
    if (result->wanted) p.vector = std::min(p.vector, vectorWidth(k, result->epilogue, a.batch.size() + 1, {columns}));
  p.keyTiles = ofKeys ? over(a.keys, p.rows) : 0;
  p.queryTiles = g.q.wanted ? over(a.queries, p.rows) : 0;
  return p;
}

std::vector<std::pair<uint32_t, int>> attentionWidths(const Kernel& k, const Features& features) {
  const Attention& a = k.attention;
  if (k.kind == Kernel::Kind::AttentionGradient) {
    const GradientPlan p = planGradient(k, features);
    return {{a.q.buffer, p.q}, {a.k.buffer, p.k}, {a.v.buffer, p.v}, {k.gradient.cotangent.buffer, p.c}};
  }
  const AttentionPlan p = planAttention(k, features);
  return {{a.q.buffer, p.q}, {a.k.buffer, p.k}, {a.v.buffer, p.v}};
}

Schedule attentionSchedule(const Kernel& k, const Features& features) {
  if (k.kind == Kernel::Kind::AttentionGradient) {
    const GradientPlan g = planGradient(k, features);
    return scheduleOf(g, static_cast<uint32_t>(g.heads * (g.keyTiles + g.queryTiles)));
  }
  const AttentionPlan p = planAttention(k, features);
  return scheduleOf(p, p.blocks);
}

}  // namespace tenc::codegen::cuda
