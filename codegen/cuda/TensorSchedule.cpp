// Products of halves on tensor cores: in which pieces operands come, and which tiles keep all multiprocessors busy.
#include <algorithm>
#include <cstdlib>
#include <span>

#include "codegen/cuda/ProductSchedule.h"

namespace tenc::codegen::cuda {
namespace {

constexpr int64_t kSharedBytes = 48 << 10;
constexpr int kMostStages = 4;

constexpr TileChoice choice(int rows, int columns, int depth, int warpRows, int warpColumns, double efficiency) {
  TileChoice c{{}, efficiency};
  c.tile.rows = rows, c.tile.columns = columns, c.tile.depth = depth;
  c.tile.warpRows = warpRows, c.tile.warpColumns = warpColumns;
  return c;
}
constexpr TileChoice kChoices[] = {
    choice(128, 256, 16, 64, 64, 1),   choice(256, 128, 16, 64, 64, 1),   choice(128, 128, 32, 64, 64, 0.85),
    choice(128, 64, 32, 64, 32, 0.65), choice(64, 128, 32, 32, 64, 0.65), choice(64, 64, 64, 32, 32, 0.5),
    choice(32, 64, 64, 16, 32, 0.35),  choice(64, 32, 64, 32, 16, 0.35),  choice(32, 32, 64, 16, 16, 0.2),
    choice(16, 64, 64, 16, 16, 0.2),   choice(64, 16, 64, 16, 16, 0.2)};
/// Of warpgroups, which multiply 64 rows each; 64 terms are what their swizzle has in a row.
constexpr TileChoice kByGroups[] = {choice(128, 256, 64, 16, 256, 1.6), choice(128, 128, 64, 16, 128, 1.4),
                                    choice(64, 128, 64, 16, 128, 1), choice(64, 64, 64, 16, 64, 0.7)};
constexpr int64_t kSharedOfGroups =
    96 << 10;  // of two blocks on a multiprocessor; the largest tile has a multiprocessor to itself

/// Where elements come one by one: more threads, which keep fewer of them in registers.
constexpr TileChoice kGathering[] = {
    choice(128, 128, 32, 64, 32, 1),  choice(128, 64, 32, 32, 32, 0.8), choice(64, 128, 32, 32, 32, 0.8),
    choice(64, 64, 32, 32, 16, 0.6),  choice(32, 64, 64, 16, 16, 0.4),  choice(64, 32, 64, 16, 16, 0.4),
    choice(32, 32, 64, 16, 16, 0.25), choice(16, 64, 64, 16, 16, 0.25), choice(64, 16, 64, 16, 16, 0.25)};

/// Adds a dim inside the others, to the last run where it goes on in memory as that does. `joins`: whether the last run
/// may be joined.
void add(std::vector<Run>& runs, Run next, bool edge, bool& joins) {
  if (next.extent == 1 && !edge) return;
  if (joins && !edge && runs.back().stride == next.extent * next.stride)
    runs.back() = {runs.back().extent * next.extent, next.stride};
  else
    runs.push_back(next);
  joins = !edge;
}

bool hasEdge(const Product& p, const ProductDims& d, bool isLeft, auto&& which) {
  return std::any_of(p.edges.begin(), p.edges.end(),
                     [&](const Product::Edge& e) { return isEdgeOf(d, e, isLeft) && which(e); });
}

/// The dims that number an operand's lines.
std::vector<Run> lineRuns(const Product& p, const ProductDims& d, bool isLeft) {
  std::vector<Run> runs;
  bool joins = false;
  for (size_t v : isLeft ? d.rows : d.columns)
    add(runs, {extentOf(p, v), lineStride(p, isLeft, v)},
        hasEdge(p, d, isLeft, [&](const Product::Edge& e) { return e.var == v; }), joins);
  return runs;
}

Pieces piecesOf(const Kernel& k, const ProductDims& d, bool isLeft) {
  const Product& p = k.product;
  const std::vector<Run> terms = termRuns(p, d, isLeft), lines = lineRuns(p, d, isLeft);
  const auto edgeOfLast = [&](const std::vector<Run>& runs, bool isTerms) {
    if (runs.empty()) return true;
    const size_t variable = isTerms ? p.sums.size() : (isLeft ? d.rows : d.columns).back();
    return hasEdge(p, d, isLeft, [&](const Product::Edge& e) { return (isTerms ? e.sum : e.var) == variable; });
  };
  // Of a run side by side in memory; all else moves by multiples of a piece.
  const auto widthAlong = [&](const std::vector<Run>& along, const std::vector<Run>& others, bool isTerms) {
    if (edgeOfLast(along, isTerms) || along.back().stride != 1) return 1;
    int64_t width = 8;
    const auto divides = [&](int64_t n) {
      while (n % width != 0) width /= 2;
    };
    divides(along.back().extent);
    divides((isLeft ? p.a : p.b).offset);
    for (size_t r = 0; r + 1 < along.size(); ++r) divides(along[r].stride);
    for (const Run& r : others) divides(r.stride);
    for (size_t v : d.matrices) divides(lineStride(p, isLeft, v));
    return static_cast<int>(width);
  };
  const int ofTerms = widthAlong(terms, lines, true), ofLines = widthAlong(lines, terms, false);
  if (std::max(ofTerms, ofLines) > 1) return {ofTerms >= ofLines, std::max(ofTerms, ofLines)};
  const auto isUnit = [](const std::vector<Run>& runs) { return !runs.empty() && std::abs(runs.back().stride) == 1; };
  return {!isUnit(lines) && isUnit(terms), 1};
}

}  // namespace

std::vector<Run> termRuns(const Product& p, const ProductDims& d, bool isLeft) {
  std::vector<Run> runs;
  bool joins = false;
  for (size_t s = 0; s <= p.sums.size(); ++s)
    add(runs, {s == p.sums.size() ? p.k : p.sums[s].extent, termStride(p, isLeft, s)},
        hasEdge(p, d, isLeft, [&](const Product::Edge& e) { return e.sum == s; }), joins);
  return runs;
}

int64_t stageBytes(const Tile& t) { return int64_t{2} * (t.rows + t.columns) * t.depth; }

std::optional<TermTable> termTable(const Kernel& k, const ProductDims& d, bool isLeft) {
  constexpr int kWord = 32;
  const Product& p = k.product;
  TermTable table;
  for (const Product::Edge& e : p.edges)
    if (isEdgeOf(d, e, isLeft)) {
      const int64_t taps = e.sum == p.sums.size() ? p.k : p.sums[e.sum].extent;
      if (table.bits + taps > kWord) return std::nullopt;
      table.bits += static_cast<int>(taps);
    }
  int64_t most = 0;
  for (const Run& r : termRuns(p, d, isLeft)) {
    table.isWide = table.isWide || r.stride < 0;
    most += 2 * (r.extent - 1) * r.stride;  // bytes
  }
  table.isWide = table.isWide || table.bits == kWord || most >> (kWord - table.bits) != 0;
  return table;
}

int64_t tableBytes(const Kernel& k, const ProductDims& d, const Schedule& s) {
  int64_t words = 0;
  for (const bool isLeft : {true, false})
    if ((isLeft ? s.a : s.b).packed) words += termTable(k, d, isLeft)->words();
  return 2 * 4 * words * s.tile.depth;  // of the tile that is fetched, and of the next one
}

namespace {

/// Elements one by one, whose terms take some arithmetic.
void pack(const Kernel& k, const ProductDims& d, bool isLeft, Pieces& pieces) {
  const MatrixView& view = isLeft ? k.product.a : k.product.b;
  if (pieces.width > 1 || k.buffers[view.buffer].elements >= int64_t{1} << 31) return;
  const bool edged = hasEdge(k.product, d, isLeft, [](const auto&) { return true; });
  if (!edged && (pieces.alongTerms || termRuns(k.product, d, isLeft).size() <= 1)) return;
  if (termTable(k, d, isLeft)) pieces.packed = pieces.alongTerms = true;
}

/// Whether warpgroups multiply: of few rows or terms their tiles would be mostly empty.
bool suitGroups(const Product& p, const ProductDims& d, const Features& features) {
  constexpr int64_t kLeastLines = 48, kLeastTerms = 64;
  return features.warpgroups && d.m >= kLeastLines && d.n >= kLeastLines && p.depth() >= kLeastTerms;
}

}  // namespace

void chooseTensorTiles(const Kernel& k, const ProductDims& d, const Features& features, Schedule& s) {
  s.a = piecesOf(k, d, true), s.b = piecesOf(k, d, false);
  pack(k, d, true, s.a);
  pack(k, d, false, s.b);
  const bool gathers = s.a.width == 1 || s.b.width == 1;
  Schedule byWarps = s;
  const double time = chooseTiles(
      gathers ? std::span<const TileChoice>(kGathering) : std::span<const TileChoice>(kChoices), d, byWarps);
  if (!gathers && suitGroups(k.product, d, features) && chooseTiles(kByGroups, d, s) <= time) {
    s.groups = s.tile.rows / 64;
    s.resident = s.tile.columns > 128 ? 1 : 2;
    s.stages = static_cast<int>(std::min<int64_t>(kMostStages, 2 * kSharedOfGroups / s.resident / stageBytes(s.tile)));
    const int64_t results = int64_t{4} * s.tile.rows * (s.tile.columns + kPadded);
    s.shared = static_cast<uint32_t>(std::max(stageBytes(s.tile) * s.stages, results));
    return;
  }
  s = byWarps;
  const int64_t fit = (kSharedBytes - tableBytes(k, d, s)) / stageBytes(s.tile);
  s.stages = static_cast<int>(std::clamp<int64_t>(fit, 2, kMostStages));
}

}  // namespace tenc::codegen::cuda
