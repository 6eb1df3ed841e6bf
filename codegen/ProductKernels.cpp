// Product groups: matrix products and convolutions with their epilogue.
#include <algorithm>
#include <unordered_set>

#include "codegen/KernelBuilder.h"
#include "ir/Views.h"

namespace tenc::codegen {

using ir::DType;
using ir::OpKind;
using ir::Trait;

const ir::Op* productOf(const ir::Region& region) {
  for (const auto& op : region.ops) {
    if (op->has(Trait::Product)) return op.get();
  }
  return nullptr;
}

namespace {
/// Whether `v` is computed from the result of the product.
bool isOfProduct(const ir::Value* v, std::unordered_set<const ir::Op*>& seen) {
  if (v->op == nullptr || !seen.insert(v->op).second) return false;
  return v->op->has(Trait::Product) ||
         std::ranges::any_of(v->op->operands(), [&](const ir::Value* x) { return isOfProduct(x, seen); });
}
bool isOfProduct(const ir::Value* v) {
  std::unordered_set<const ir::Op*> seen;
  return isOfProduct(v, seen);
}
}  // namespace

void storeResults(const KernelBuild& g, StageBuilder& b, const Index& index) {
  const ir::Op* yield = g.fused.regions[0]->terminator();
  for (uint32_t i = 0; i < g.kernel.buffers.size(); ++i) {
    if (g.kernel.bufferResult[i] < 0) continue;
    const ir::Value* v = yield->operand(static_cast<size_t>(g.kernel.bufferResult[i]));
    Index to = index;
    const ir::Dims& shape = v->type.shape;
    // What is permuted is computed where the product is, and stored elsewhere.
    if (v->op != nullptr && v->op->kind == OpKind::Permute && isOfProduct(v)) {
      const auto& perm = v->op->intsAttr("perm");
      for (size_t d = 0; d < perm.size(); ++d) to.dims[d] = index.dims[static_cast<size_t>(perm[d])];
      v = v->op->operand(0);
    }
    ExprId e = b.value(v, index);
    b.stage.stores.push_back({b.access(i, linearise(to, shape)), e});
  }
}

namespace {

using Views = std::array<ir::StridedView, 2>;

/// The dtype that sums are kept in. Integers that are narrowed again at the end have wrapped the same way.
DType sumsOf(DType operands) {
  const bool narrow = operands == DType::I8 || operands == DType::U8 || operands == DType::I16;
  return narrow ? DType::I32 : ir::accumulatorOf(operands);
}

/// The axes of the result are the loop variables (batch..., m, n), in this order.
void planMatmul(KernelBuild& g, const ir::Op& op, const Views& v) {
  Product& p = g.kernel.product;
  const ir::Dims& shape = op.result()->type.shape;
  const size_t rank = shape.size() - 2;
  p.batch.assign(shape.begin(), shape.end() - 2);
  p.m = shape[rank];
  p.n = shape[rank + 1];
  p.k = op.operand(0)->type.shape.back();
  for (int side : {0, 1}) {
    const auto& strides = v[static_cast<size_t>(side)].strides;
    MatrixView& m = side == 0 ? p.a : p.b;
    m.batch.assign(strides.begin(), strides.end() - 2);
    m.row = strides[rank];
    m.col = strides[rank + 1];
  }
  p.mirrored = op.boolAttr("mirrored");
  for (int64_t n : shape) g.space.factors.push_back({n});
  g.space.number();
}

/// Direct convolution: for each image, group and all but the last spatial dim a product that sums over channels and
/// window, read where they stand. Its rows are output channels and its columns places side by side, or, with weights
/// laid out for it, the other way round.
void planConv(KernelBuild& g, const ir::Op& op, const Views& v) {
  Product& p = g.kernel.product;
  const ir::Dims& out = op.result()->type.shape;
  const ir::WeightDims dims = ir::weightDims(op);
  const auto &stride = op.intsAttr("stride"), &dilation = op.intsAttr("dilation");
  const bool outLast = op.boolAttr("out_last");
  const int64_t groups = op.intAttr("groups"), outs = out[1] / groups;
  const size_t n = stride.size();
  ir::Dims xs = v[0].strides;
  // A view's stride along one element means nothing; there may be places beside it that meet padding.
  if (op.operand(0)->type.shape.back() == 1) xs.back() = 1;
  const ir::Dims& wst = v[1].strides;
  const int64_t outStride = outLast ? wst.back() : wst[0], channel = wst[dims.channel], depth = dims.depth;
  MatrixView &image = outLast ? p.a : p.b, &weights = outLast ? p.b : p.a;

  p.batch = {out[0], groups};
  image.batch = {xs[0], depth * xs[1]};
  weights.batch = {0, dims.offsetOf(outs, wst)};
  if (outLast && dims.block < dims.outs) weights.block = dims.block, weights.acrossBlocks = wst[0];
  for (size_t i = 0; i + 1 < n; ++i) {
    p.batch.push_back(out[2 + i]);
    image.batch.push_back(stride[i] * xs[2 + i]);
    weights.batch.push_back(0);
  }
  std::vector<ir::WindowDim> windows;
  for (size_t i = 0; i < n; ++i) windows.push_back(ir::windowDim(op, i));
  // Masks of a row compare numbers of elements in 32 bits.
  constexpr int64_t kLongestRow = int64_t{1} << 30;
  const auto fits = [](const ir::WindowDim& w) {
    return w.extent < kLongestRow && (w.taps - 1) * w.dilation < kLongestRow && w.lo > -kLongestRow &&
           w.lo < kLongestRow;
  };
  const bool depthwise =
      !outLast && ir::isDepthwise(windows, depth, outs, g.traits) && xs.back() == 1 && fits(windows.back());
  if (depthwise) p.depthwise = {2, windows[0], windows[1]};
  // Sums from the outside in; those of one trip go unless it is left out at some places, and the innermost is k: what
  // lies side by side in memory.
  std::vector<Product::Sum> sums;
  auto sum = [&](int64_t extent, int64_t ofImage, int64_t ofWeights, bool edge) {
    if (extent != 1 || edge || depthwise)
      sums.push_back({extent, outLast ? ofImage : ofWeights, outLast ? ofWeights : ofImage});
  };
  // Of an image with one place a row both are side by side, which is said above; then the window is.
  const bool channelsInside = xs[1] == 1 && channel == 1 && xs.back() != 1;
  if (!depthwise && !channelsInside) sum(depth, xs[1], channel, false);
  for (size_t i = 0; i < n; ++i) {
    const ir::WindowDim& w = windows[i];
    image.offset -= w.lo * xs[2 + i];
    sum(w.taps, dilation[i] * xs[2 + i], wst[dims.window + i], !w.whole());
    if (w.whole() || depthwise) continue;
    const size_t var = i + 1 < n ? 2 + i : 2 + n - 1 + (outLast ? 0 : 1);
    p.edges.push_back({static_cast<uint32_t>(sums.size() - 1), static_cast<uint32_t>(var), w});
  }
  if (!depthwise && channelsInside) sum(depth, xs[1], channel, false);
  if (sums.empty()) sums.push_back({1, 0, 0});
  p.k = sums.back().extent;
  p.a.col = sums.back().a;
  p.b.row = sums.back().b;
  sums.pop_back();
  p.sums = std::move(sums);

  const int64_t places = out.back(), step = stride.back() * xs.back();
  p.m = outLast ? places : outs;
  p.n = outLast ? outs : places;
  p.a.row = outLast ? step : outStride;
  p.b.col = outLast ? outStride : step;

  // The loop variables: image, group, rows of places, then m and n.
  Space& s = g.space;
  const size_t last = p.batch.size();
  s.outer = p.batch;
  s.outer.insert(s.outer.end(), {p.m, p.n});
  s.factors = {{out[0]}, {groups, outs}};
  s.vars = {{0}, {1, last + (outLast ? 1 : 0)}};
  for (size_t i = 0; i < n; ++i) {
    s.factors.push_back({out[2 + i]});
    s.vars.push_back({i + 1 < n ? 2 + i : last + (outLast ? 0 : 1)});
  }
}

}  // namespace

/// Operands are strided views of region arguments.
void buildProduct(KernelBuild& g) {
  Kernel& k = g.kernel;
  const ir::Region& region = *g.fused.regions[0];
  const ir::Op* op = productOf(region);
  if (!op) {
    k.error = "a product group without a product";
    return;
  }
  Product& p = k.product;
  p.operands = op->operand(0)->type.dtype;
  p.dtype = sumsOf(p.operands);
  Views views;
  for (size_t side : {0u, 1u}) {
    auto view = ir::stridedView(op->operand(side), [&](const ir::Value* x) { return g.buffers.count(x) != 0; });
    if (!view) {
      k.error = "an operand of a product is no view of a buffer";
      return;
    }
    views[side] = *view;
  }
  const size_t first = op->boolAttr("out_last") ? 0 : op->kind == OpKind::Conv ? 1 : 0;  // which operand is A
  for (size_t side : {0u, 1u}) {
    MatrixView& m = side == first ? p.a : p.b;
    m.buffer = g.buffers.at(views[side].base);
    m.offset = views[side].offset;
  }
  Reduction total;
  total.kind = Reduction::Kind::Sum;
  total.value = kNoExpr;
  total.accumulator = p.dtype;
  total.result = op->result()->type.dtype;
  k.reductions.push_back(total);
  g.reductions[op] = 0;
  Space& s = g.space;
  s.domain = op->result()->type.shape;
  s.reduced.assign(s.domain.size(), false);
  if (op->kind == OpKind::Conv) {
    planConv(g, *op, views);
  } else {
    planMatmul(g, *op, views);
  }
  if (g.traits.sideBySide && (!p.sums.empty() || !p.edges.empty()) && !p.depthwise && p.b.col != 1 && p.n != 1) {
    k.error = "the columns of a convolution are not side by side";
    return;
  }
  std::vector<VarRange> box;
  for (int64_t n : s.outer) box.push_back({0, n, n});
  Index identity;
  for (size_t a = 0; a < s.domain.size(); ++a) identity.dims.push_back(s.along(a));
  StageBuilder b(g, box, false);
  b.refinable = false;
  p.product = b.value(op->result(), identity);
  storeResults(g, b, identity);
  b.stage.outerLo.assign(s.outer.size(), 0);
  b.stage.outerHi = s.outer;
  p.epilogue = std::move(b.stage);
}

}  // namespace tenc::codegen
