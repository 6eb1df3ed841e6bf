#include "codegen/cpu/ProductTiles.h"

#include <algorithm>
#include <utility>

namespace tenc::codegen::cpu {

BatchEdge batchEdge(const Product& product, size_t level) {
  constexpr int64_t kMostLookedAt = 4096;  // places; with more of them compiling would take long
  BatchEdge found;
  for (const Product::Edge& e : product.edges) {
    if (e.var >= product.batch.size()) continue;
    if (e.sum == level) found.edge = &e;
    found.argument += found.edge != nullptr ? 0 : 2;
  }
  if (found.edge == nullptr) return {};
  const ir::WindowDim& window = found.edge->window;
  found.mayBeNone = window.places > kMostLookedAt;
  for (int64_t p = 0; !found.mayBeNone && p < window.places; ++p)
    found.mayBeNone = window.firstTap(p) >= window.endTap(p);
  return found;
}

TileCode tileCode(const Product& product, const TiledProduct& plan, int64_t height, int64_t width, bool tail,
                  int64_t rowOfC, std::vector<bool> mayMiss) {
  const int64_t size = ir::byteSize(product.dtype);
  const bool packed = plan.pack != PackB::None;
  TileCode t{};
  t.form = {static_cast<int>(plan.lanes * size), static_cast<int>(size)};
  t.height = height;
  t.width = width;
  t.tail = tail ? plan.tail : 0;
  t.masksB = tail && !packed;
  t.masksC = tail && plan.sums.direct;
  t.rowOfA = product.a.row * size;
  t.rowOfC = rowOfC * size;
  for (int64_t j = 0; j < width; ++j)
    t.columnsOfB.push_back((packed ? j * plan.lanes : columnsBefore(product, j, plan.lanes)) * size);
  if (plan.prefetchRows > 0) t.prefetchB = plan.prefetchRows * product.b.row * size;
  t.prefetchC = plan.prefetchesC;
  t.addsToC = plan.split();
  for (size_t level = 0; level <= product.sums.size(); ++level) {
    const bool innermost = level == product.sums.size();
    TileCode::Loop loop{};
    loop.trips = innermost ? product.k : product.sums[level].extent;
    loop.stepA = (innermost ? product.a.col : product.sums[level].a) * size;
    loop.stepB = (packed ? width * plan.lanes : innermost ? product.b.row : product.sums[level].b) * size;
    if (const BatchEdge edge = batchEdge(product, level); edge.edge != nullptr) {
      loop.first = edge.argument;
      loop.mayBeNone = edge.mayBeNone;
    }
    if (plan.split()) {
      loop.first = 0;
      loop.countIsArgument = true;
    }
    t.loops.push_back(loop);
  }
  t.arguments = plan.split() ? 1 : 0;
  for (const Product::Edge& e : product.edges) {
    if (e.var < product.batch.size()) {
      t.arguments += 2;
    } else if (!mayMiss.empty()) {
      const ir::WindowDim& w = e.window;
      t.places = TileCode::Places{w.stride, w.lo, w.dilation, w.extent, std::exchange(mayMiss, {})};
      ++t.arguments;
    }
  }
  return t;
}

bool hasAssembledTiles(const Kernel& kernel, const TiledProduct& plan, const VectorUnit& unit) {
  const Product& p = kernel.product;
  const bool isFloat = p.dtype == ir::DType::F32 || p.dtype == ir::DType::F64;
  if (!isFloat || p.operands != p.dtype || plan.terms != Terms::Same) return false;
  if (plan.lanes * ir::byteSize(p.dtype) != unit.registerBytes) return false;
  const size_t rows = p.batch.size();
  bool atRows = false;
  for (const Product::Edge& e : p.edges) {
    if (e.var > rows) return false;
    atRows = atRows || e.var == rows;
  }
  const int64_t rowOfC = plan.sums.direct ? p.epilogue.stores[0].access.strides[rows] : plan.rowOfSums();
  std::vector<bool> mayMiss(atRows ? static_cast<size_t>(plan.rows.most()) : 0, true);
  return isAssembled(tileCode(p, plan, plan.rows.most(), plan.width(), plan.tail > 0, rowOfC, std::move(mayMiss)));
}

}  // namespace tenc::codegen::cpu
