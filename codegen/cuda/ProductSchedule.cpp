#include "codegen/cuda/ProductSchedule.h"

#include <algorithm>

namespace tenc::codegen::cuda {
namespace {

// Tiles of 256 threads. A thread of the small ones has as many elements as shared memory can feed; then threads are
// left for parts of the terms.
constexpr Tile tile(int rows, int columns, int depth, int threadRows, int threadColumns, int parts = 1) {
  Tile t{rows, columns, depth, threadRows, threadColumns};
  t.parts = parts;
  return t;
}
constexpr TileChoice kChoices[] = {{tile(128, 128, 8, 8, 8), 1},      {tile(128, 64, 8, 8, 4), 0.9},
                                   {tile(64, 128, 8, 4, 8), 0.9},     {tile(64, 64, 16, 4, 8, 2), 0.8},
                                   {tile(32, 64, 16, 4, 8, 4), 0.7},  {tile(64, 32, 16, 4, 8, 4), 0.7},
                                   {tile(32, 32, 32, 4, 8, 8), 0.65}, {tile(16, 16, 32, 2, 4, 8), 0.3}};
// What parts come to takes twice the shared memory of f64.
constexpr TileChoice kWideChoices[] = {{tile(64, 64, 16, 4, 4), 0.75},
                                       {tile(32, 64, 16, 2, 4), 0.55},
                                       {tile(64, 32, 16, 4, 2), 0.55},
                                       {tile(32, 32, 16, 2, 2), 0.4},
                                       {tile(16, 16, 32, 2, 4, 8), 0.3}};

int64_t over(int64_t n, int64_t by) { return (n + by - 1) / by; }

// Matrices of so many elements and terms are loops: most of a block's threads, and of its tiles, would be for nothing.
constexpr int64_t kSmall = 256, kFewTerms = 32;

/// An access of an operand in the loops (batch..., m, n, sums..., k).
Access accessOf(const Product& p, const MatrixView& view, bool isLeft) {
  Access a;
  a.buffer = view.buffer;
  a.offset = view.offset;
  a.strides = view.batch;
  a.strides.push_back(isLeft ? view.row : 0);
  a.strides.push_back(isLeft ? 0 : view.col);
  for (const Product::Sum& s : p.sums) a.strides.push_back(isLeft ? s.a : s.b);
  a.strides.push_back(isLeft ? view.col : view.row);
  return a;
}

}  // namespace

double chooseTiles(std::span<const TileChoice> choices, const ProductDims& d, Schedule& s) {
  double least = 0;
  for (const TileChoice& c : choices) {
    const int64_t tiles = over(d.m, c.tile.rows) * over(d.n, c.tile.columns) * d.count;
    const double time =
        static_cast<double>(over(tiles, kMultiprocessors) * c.tile.rows * c.tile.columns) / c.efficiency;
    if (least != 0 && time >= least) continue;
    least = time;
    s.tile = c.tile;
    s.blocks = static_cast<uint32_t>(std::max<int64_t>(tiles, 1));
  }
  s.threads = static_cast<uint32_t>(s.tile.threads());
  return least;
}

int64_t partialBytes(const Tile& t, ir::DType dtype) {
  return t.parts == 1 ? 0 : int64_t{t.parts} * t.rows * partialPitch(t) * ir::byteSize(dtype);
}

int stepsOf(const Tile& tile) {
  constexpr int kMostMultiplications = 256, kMostSteps = 32;
  const int most = std::clamp(kMostMultiplications / (tile.threadRows * tile.threadColumns), 1, kMostSteps);
  const int terms = tile.depth / tile.parts;
  int steps = std::min(terms, most);
  while (terms % steps != 0) --steps;
  return steps;
}

namespace {

/// Where blocks are few, a thread loads more terms at a time: it waits for memory once for each tile of them. Tiles
/// that divide the terms need no checks.
void deepen(const Product& p, Schedule& s) {
  constexpr int64_t kMostLoads = 16, kMostShared = 46000, kPadding = 8, kUnit = 16;
  if (s.blocks > kMultiprocessors) return;
  Tile& t = s.tile;
  const int64_t lines = t.rows + t.columns;
  const int64_t most = std::min(kMostLoads * t.threads() / lines, (kMostShared - partialBytes(t, p.dtype)) /
                                                                      ((lines + kPadding) * ir::byteSize(p.dtype)));
  for (int64_t depth = most / kUnit * kUnit; depth > t.depth; depth -= kUnit)
    if (p.depth() % depth == 0) {
      t.depth = static_cast<int>(depth);
      return;
    }
  while (p.depth() >= int64_t{4} * t.depth && int64_t{2} * t.depth <= most) t.depth *= 2;
}

/// Where there are fewer terms than a tile has, some of its parts would have none.
void shorten(const Product& p, Tile& t) {
  constexpr int kLeastDepth = 16;
  while (t.depth >= 2 * kLeastDepth && p.depth() <= t.depth / 2 && t.depth / 2 % t.parts == 0) t.depth /= 2;
}

}  // namespace

int64_t extentOf(const Product& p, size_t variable) {
  return variable < p.batch.size() ? p.batch[variable] : variable == p.batch.size() ? p.m : p.n;
}

ProductDims productDims(const Product& p) {
  ProductDims d;
  for (size_t v = 0; v < p.batch.size(); ++v)
    (p.a.batch[v] == 0 ? d.columns : p.b.batch[v] == 0 ? d.rows : d.matrices).push_back(v);
  d.rows.push_back(p.batch.size());
  d.columns.push_back(p.batch.size() + 1);
  for (size_t v : d.rows) d.m *= extentOf(p, v);
  for (size_t v : d.columns) d.n *= extentOf(p, v);
  for (size_t v : d.matrices) d.count *= extentOf(p, v);
  return d;
}

std::optional<Kernel> asLoops(const Kernel& k) {
  const Product& p = k.product;
  const ProductDims d = productDims(p);
  const bool isFew = d.m < kFewLines || d.n < kFewLines, isSmall = d.m * d.n <= kSmall && p.depth() <= kFewTerms;
  if (!p.edges.empty() || !(isFew || isSmall)) return std::nullopt;
  Kernel loops = k;
  loops.kind = Kernel::Kind::Loop;
  loops.product = {};
  loops.outer = p.batch;
  loops.outer.insert(loops.outer.end(), {p.m, p.n});
  Stage s;
  s.outerLo.assign(loops.outer.size(), 0);
  s.outerHi = loops.outer;
  for (const Product::Sum& sum : p.sums) s.innerHi.push_back(sum.extent);
  s.innerHi.push_back(p.k);
  s.innerLo.assign(s.innerHi.size(), 0);
  const auto op = [&](ir::OpKind kind, std::vector<ExprId> args) {
    Expr e;
    e.kind = Expr::Kind::Op;
    e.op = kind;
    e.dtype = p.dtype;
    e.args = std::move(args);
    s.exprs.push_back(std::move(e));
    return static_cast<ExprId>(s.exprs.size() - 1);
  };
  std::vector<ExprId> factors;
  for (const bool isLeft : {true, false}) {
    Expr e;
    e.kind = Expr::Kind::Load;
    e.dtype = p.operands;
    e.access = accessOf(p, isLeft ? p.a : p.b, isLeft);
    s.exprs.push_back(std::move(e));
    const auto id = static_cast<ExprId>(s.exprs.size() - 1);
    factors.push_back(p.operands == p.dtype ? id : op(ir::OpKind::Cast, {id}));
  }
  loops.reductions[0].value = op(ir::OpKind::Mul, factors);
  s.reductions = {0};
  loops.stages = {std::move(s), p.epilogue};
  return loops;
}

int64_t lineStride(const Product& p, bool isLeft, size_t variable) {
  const MatrixView& view = isLeft ? p.a : p.b;
  if (variable < p.batch.size()) return view.batch[variable];
  const bool isRow = variable == p.batch.size();
  return isRow == isLeft ? (isLeft ? view.row : view.col) : 0;
}

int64_t termStride(const Product& p, bool isLeft, size_t sum) {
  if (sum == p.sums.size()) return isLeft ? p.a.col : p.b.row;
  return isLeft ? p.sums[sum].a : p.sums[sum].b;
}

bool isEdgeOf(const ProductDims& d, const Product::Edge& e, bool isLeft) {
  const auto has = [&](const std::vector<size_t>& list) {
    return std::find(list.begin(), list.end(), e.var) != list.end();
  };
  return has(isLeft ? d.rows : d.columns) || (!isLeft && has(d.matrices));
}

Schedule productSchedule(const Kernel& k, const Features& features) {
  const Product& p = k.product;
  const ProductDims d = productDims(p);
  Schedule s;
  if (d.m < kFewLines || d.n < kFewLines) {
    const int64_t elements = d.m * d.n * d.count;
    s.threads = 128;
    s.blocks = static_cast<uint32_t>(std::clamp<int64_t>(over(elements, s.threads), 1, 65536));
    return s;
  }
  s.family = Schedule::Family::Tiles;
  const size_t last = p.batch.size() + 1;
  if (features.tensorCores && (p.operands == ir::DType::F16 || p.operands == ir::DType::BF16)) {
    chooseTensorTiles(k, d, features, s);
    s.vector = std::min(vectorWidth(k, p.epilogue, last, {p.n}), 4);
    return s;
  }
  const bool isWide = p.dtype == ir::DType::F64;
  chooseTiles(isWide ? std::span<const TileChoice>(kWideChoices) : std::span<const TileChoice>(kChoices), d, s);
  shorten(p, s.tile);
  deepen(p, s);
  s.vector = std::min({vectorWidth(k, p.epilogue, last, {p.n}), resultColumns(s.tile), 4});
  return s;
}

}  // namespace tenc::codegen::cuda
