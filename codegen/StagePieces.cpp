// Values made of pieces: pad, concat and update_slice, where each box of points reads one of them.
#include <algorithm>

#include "codegen/KernelBuilder.h"

namespace tenc::codegen {

using ir::DType;
using ir::OpKind;

namespace {

/// Whether an index is in [lo, hi).
ExprId within(ExprGraph& g, const Affine& a, int64_t lo, int64_t hi) {
  ExprId e = g.affine(a);
  ExprId above = g.op(OpKind::Ge, DType::Bool, {e, g.constant(DType::I64, static_cast<uint64_t>(lo))});
  ExprId below = g.op(OpKind::Lt, DType::Bool, {e, g.constant(DType::I64, static_cast<uint64_t>(hi))});
  return g.op(OpKind::And, DType::Bool, {above, below});
}

/// An index, forced into [0, size).
Affine clamped(ExprGraph& g, const Affine& a, int64_t size) {
  ExprId e = g.op(OpKind::Max, DType::I64, {g.affine(a), g.constant(DType::I64, 0)});
  e = g.op(OpKind::Min, DType::I64, {e, g.constant(DType::I64, static_cast<uint64_t>(std::max<int64_t>(size - 1, 0)))});
  return g.term(e, -1, 0, 0, 0);
}

/// One of the pieces that lie side by side along a dim, and where it begins there.
struct Piece {
  int64_t start;
  ExprId value;
};

/// The piece in which `index` lies; a tree, so that many pieces do not nest deeply.
ExprId pieceAt(ExprGraph& g, ExprId index, DType type, std::span<const Piece> pieces) {
  if (pieces.size() == 1) return pieces[0].value;
  const size_t half = pieces.size() / 2;
  ExprId first =
      g.op(OpKind::Lt, DType::Bool, {index, g.constant(DType::I64, static_cast<uint64_t>(pieces[half].start))});
  ExprId low = pieceAt(g, index, type, pieces.first(half));
  return g.op(OpKind::Where, type, {first, low, pieceAt(g, index, type, pieces.subspan(half))});
}

}  // namespace

StageBuilder::Side StageBuilder::sideOf(const Affine& a, int64_t lo, int64_t hi) {
  if (a.terms.empty()) {
    auto [least, largest] = bounds(a, ranges_);
    if (largest < lo) return Side::Below;
    if (least >= hi) return Side::Above;
    if (least >= lo && largest < hi) return Side::Inside;
    if (split_) {
      size_t var = 0;
      int used = 0;
      for (size_t v = 0; v < a.coef.size(); ++v) {
        if (a.coef[v] != 0) {
          var = v;
          ++used;
        }
      }
      if (used == 1) {
        // The first value of the variable on the far side of the bound that the box straddles.
        int64_t c = a.coef[var];
        int64_t bound = least < lo ? lo : hi;
        int64_t at = c > 0 ? (bound - a.offset + c - 1) / c : (a.offset - bound) / -c + 1;
        if (at > ranges_[var].lo && at < ranges_[var].hi) cut = BoxCut{var, at};
        if (cut) return Side::Mixed;
      }
    }
  }
  return Side::Mixed;
}

ExprId StageBuilder::concat(const ir::Op& o, const std::vector<Affine>& at) {
  const DType t = o.result()->type.dtype;
  size_t axis = static_cast<size_t>(o.intAttr("axis"));
  int64_t start = 0;
  std::vector<Piece> mixed;
  for (const ir::Value* part : o.operands()) {
    int64_t size = part->type.shape[axis];
    if (size == 0) continue;
    Side side = sideOf(at[axis], start, start + size);
    if (cut) return 0;
    if (side == Side::Inside || side == Side::Mixed) {
      Index inside{at, std::nullopt};
      inside.dims[axis].offset -= start;
      if (side == Side::Mixed) inside.dims[axis] = clamped(*this, inside.dims[axis], size);
      ExprId e = value(part, inside);
      if (stopped()) return 0;
      if (side == Side::Inside) return e;
      mixed.push_back({start, e});
    }
    start += size;
  }
  if (!mixed.empty()) return pieceAt(*this, affine(at[axis]), t, mixed);
  fail("a concat without elements");
  return 0;
}

/// Pad, concat and update_slice: one operand or another, by where the element lies. The box is cut so that it is one of
/// them throughout; where that cannot be, both are computed (at clamped indices) and one is selected.
ExprId StageBuilder::piecewise(const ir::Op& o, const Index& index) {
  auto at = dims(index, o.result()->type.shape);
  if (stopped()) return 0;
  DType t = o.result()->type.dtype;
  if (o.kind == OpKind::Concat) return concat(o, at);
  const ir::Value* inner = o.kind == OpKind::Pad ? o.operand(0) : o.operand(1);
  const auto& starts = o.intsAttr(o.kind == OpKind::Pad ? "lo" : "starts");
  static const std::vector<int64_t> kNone;
  const auto& steps = o.kind == OpKind::Pad ? kNone : o.intsAttr("steps");
  Index inside;
  ExprId condition = kNoExpr;
  bool outside = false;
  for (size_t d = 0; d < at.size() && !outside; ++d) {
    int64_t size = inner->type.shape[d];
    int64_t step = steps.empty() ? 1 : steps[d];
    Affine a = at[d];
    if (step != 1 && size > 1) {
      fail("update_slice with steps must be done in place");
      return 0;
    }
    Side side = sideOf(a, starts[d], starts[d] + size);
    if (cut) return 0;
    outside = side == Side::Below || side == Side::Above;
    a.offset -= starts[d];
    if (side == Side::Mixed) {
      ExprId c = within(*this, at[d], starts[d], starts[d] + size);
      condition = condition == kNoExpr ? c : op(OpKind::And, DType::Bool, {condition, c});
      a = clamped(*this, a, size);
    }
    inside.dims.push_back(std::move(a));
  }
  auto around = [&] {
    return o.kind == OpKind::Pad ? value(o.operand(1), Index{}) : value(o.operand(0), Index{at, std::nullopt});
  };
  if (outside || inner->type.size() == 0) return around();
  ExprId e = value(inner, inside);
  if (stopped() || condition == kNoExpr) return e;
  ExprId other = around();
  return stopped() ? 0 : op(OpKind::Where, t, {condition, e, other});
}

}  // namespace tenc::codegen
