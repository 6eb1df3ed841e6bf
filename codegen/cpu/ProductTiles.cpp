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

GemmRim GemmRim::of(const Product& product, const TiledProduct& plan, Level level) {
  GemmRim rim;
  for (const Product::Edge& e : product.edges) {
    if (e.var < product.batch.size()) continue;
    rim.edge = &e;
    rim.rows = e.var == product.batch.size();
    rim.blocks = rim.rows ? Rim::of(e.window, plan.rows, 1, level) : Rim::of(e.window, plan.vectors, plan.lanes, level);
  }
  return rim;
}

int64_t placesOf(const TiledProduct& plan, int64_t width, bool tail) {
  return width * plan.lanes - (tail ? plan.lanes - plan.tail : 0);
}

std::vector<int64_t> rimPlaces(const TiledProduct& plan, const GemmRim& rim, int64_t size, bool tail) {
  const Blocks& blocks = rim.rows ? plan.rows : plan.vectors;
  std::vector<int64_t> places;
  for (int64_t i = 0; i < blocks.count; ++i) {
    if (i >= rim.blocks.before && i < rim.blocks.after) continue;
    const bool isLast = i + 1 == blocks.count;
    const bool like =
        blocks.size + (i < blocks.larger ? 1 : 0) == size && (rim.rows || tail == (plan.tail > 0 && isLast));
    if (like) places.push_back(blocks.start(i) * (rim.rows ? 1 : plan.lanes));
  }
  return places;
}

TileCode tileCode(const Product& product, const TiledProduct& plan, int64_t height, int64_t width, bool tail,
                  int64_t rowOfC) {
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
  for (const Product::Edge& e : product.edges) t.arguments += e.var < product.batch.size() ? 2 : 0;
  return t;
}

void meetPadding(TileCode& tile, const Product::Edge& edge, std::vector<bool> mayMiss) {
  const ir::WindowDim& w = edge.window;
  tile.places = TileCode::Places{w.stride, w.lo, w.dilation, w.extent, std::move(mayMiss)};
  ++tile.arguments;
}

void meetPadding(TileCode& tile, const TiledProduct& plan, const GemmRim& rim, bool tail) {
  const ir::WindowDim& w = rim.edge->window;
  const int64_t places = placesOf(plan, tile.width, tail);
  const auto lanesThatMeet = [&](int64_t first, int64_t trip) {
    uint32_t lanes = 0;
    for (int64_t l = 0; l < plan.lanes; ++l)
      if (w.firstTap(first + l) <= trip && trip < w.endTap(first + l)) lanes |= 1U << l;
    return lanes;
  };
  ++tile.arguments;
  for (const int64_t place : rimPlaces(plan, rim, tile.width, tail)) {
    const TapRange taps = Rim::taps(w, place, places);
    TileCode::Rim& code = tile.rims.emplace_back(TileCode::Rim{place, taps.allFirst, taps.allEnd, {}});
    for (int64_t k = taps.first; k < taps.end; ++k) {
      if (k >= taps.allFirst && k < taps.allEnd) continue;
      TileCode::Rim::Trip& trip = code.apart.emplace_back(TileCode::Rim::Trip{k, {}});
      for (int64_t j = 0; j < tile.width; ++j) {
        const uint32_t used = tail && j + 1 == tile.width ? (1U << plan.tail) - 1 : ~0U;
        trip.lanes.push_back(lanesThatMeet(place + j * plan.lanes, k) & used);
      }
    }
  }
}

PackCode packCode(const Product& product, const TiledProduct& plan, int64_t width, int64_t columns) {
  const int64_t size = ir::byteSize(product.dtype);
  const bool turned = plan.pack == PackB::Transpose;
  return {{static_cast<int>(plan.lanes * size), static_cast<int>(size)},
          turned,
          product.k,
          columns,
          width,
          (turned ? product.b.col : product.b.row) * size};
}

bool hasAssembledPack(const Product& product, const TiledProduct& plan) {
  if (plan.pack != PackB::Rows && plan.pack != PackB::Transpose) return false;
  return isAssembled(packCode(product, plan, plan.width(), plan.lanes));
}

bool hasAssembledTiles(const Kernel& kernel, const TiledProduct& plan, const VectorUnit& unit) {
  const Product& p = kernel.product;
  const bool isFloat = p.dtype == ir::DType::F32 || p.dtype == ir::DType::F64;
  if (!isFloat || p.operands != p.dtype || plan.terms != Terms::Same) return false;
  if (plan.lanes * ir::byteSize(p.dtype) != unit.registerBytes) return false;
  const size_t rows = p.batch.size();
  const GemmRim rim = GemmRim::of(p, plan, Level::Full);
  const bool hasColumns = rim.edge != nullptr && !rim.rows;
  if (hasColumns && (!rim.blocks.fixed || plan.pack != PackB::None)) return false;
  const int64_t rowOfC = plan.sums.direct ? p.epilogue.stores[0].access.strides[rows] : plan.rowOfSums();
  TileCode tile = tileCode(p, plan, plan.rows.most(), plan.width(), plan.tail > 0, rowOfC);
  if (rim.edge != nullptr && rim.rows)
    meetPadding(tile, *rim.edge, std::vector<bool>(static_cast<size_t>(plan.rows.most()), true));
  if (hasColumns) tile.rims.push_back({plan.vectors.start(plan.vectors.count) * plan.lanes, 0, 0, {}});
  return isAssembled(tile);
}

}  // namespace tenc::codegen::cpu
