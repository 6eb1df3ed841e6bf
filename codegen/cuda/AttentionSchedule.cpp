#include "codegen/cuda/AttentionSchedule.h"

#include <algorithm>

namespace tenc::codegen::cuda {
namespace {

constexpr int64_t kMultiprocessors = 132;  // of the devices that blocks are chosen for
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

/// The number of queries of a block for which the time of all blocks on a device is least, where tiles of more queries
/// do more with what they load.
int rowsOf(const Attention& a, int64_t heads, bool onTensorCores) {
  constexpr struct {
    int rows;
    double efficiency;
  } kChoices[] = {{64, 1}, {32, 0.8}, {16, 0.55}};
  int best = 0;
  double least = 0;
  for (const auto& c : kChoices) {
    if (!onTensorCores && bytesOfFloats(a, c.rows) > kSharedBytes) continue;
    const int64_t blocks = over(a.queries, c.rows) * heads;
    const double time = static_cast<double>(over(blocks, kMultiprocessors) * c.rows) / c.efficiency;
    if (best != 0 && time >= least) continue;
    best = c.rows, least = time;
  }
  return best;
}

}  // namespace

AttentionPlan planAttention(const Kernel& k, const Features& features) {
  const Attention& a = k.attention;
  AttentionPlan p;
  p.onTensorCores = features.tensorCores && a.operands != ir::DType::F32;
  int64_t heads = 1;
  for (const int64_t n : a.batch) heads *= n;
  p.rows = rowsOf(a, heads, p.onTensorCores);
  const int64_t longest = std::max(a.depth, a.width);
  p.step = !p.onTensorCores ? 32 : longest <= 64 ? 64 : longest <= 128 ? 32 : 16;
  p.threads = p.onTensorCores ? 2 * p.rows : 64;
  const int64_t most = p.onTensorCores ? 8 : 4;
  p.q = widthOf(a, a.q, a.queries, a.depth, most);
  p.k = widthOf(a, a.k, a.keys, a.depth, most);
  p.v = widthOf(a, a.v, a.keys, a.width, most);
  p.vector = std::min(vectorWidth(k, a.epilogue, a.batch.size() + 1, {a.width}), 4);
  p.tiles = over(a.queries, p.rows);
  p.blocks = static_cast<uint32_t>(p.tiles * heads);
  return p;
}

Schedule attentionSchedule(const Kernel& k, const Features& features) {
  const AttentionPlan p = planAttention(k, features);
  Schedule s;
  s.family = Schedule::Family::Attention;
  s.blocks = p.blocks;
  s.threads = static_cast<uint32_t>(p.threads);
  s.vector = p.vector;
  s.tile.rows = p.rows;
  s.tile.columns = p.step;
  if (p.onTensorCores) s.tile.warpRows = 16, s.tile.warpColumns = p.step;
  return s;
}

}  // namespace tenc::codegen::cuda
