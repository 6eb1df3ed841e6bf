// Convolutions before fusion: which are sums over few shifted inputs, and for the others whether the columns of their
// matrix product are places or output channels.
#include <algorithm>

#include "ir/Windows.h"
#include "passes/decompose/Decompose.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

class Convolution {
 public:
  Convolution(Op& op, const TargetTraits& traits)
      : op_(op),
        traits_(traits),
        b_(&op),
        x_(op.operand(0)),
        w_(op.operand(1)),
        stride_(op.intsAttr("stride")),
        dilation_(op.intsAttr("dilation")),
        groups_(op.intAttr("groups")),
        outLast_(op.boolAttr("out_last")) {
    b_.setLoc(op.loc);
    for (size_t i = 0; i < stride_.size(); ++i) dims_.push_back(windowDim(op, i));
  }

  /// The value that replaces the op's result, or null when it stays as it is.
  Value* build() {
    const DType t = x_->type.dtype, rounded = op_.dtypeAttr("rounds").value_or(t);
    const DType computed = accumulatorOf(rounded);
    if (computed == t && rounded == t) return other();
    x_ = cast(x_, rounded), w_ = cast(w_, rounded);
    if (traits_.narrowProducts.contains(rounded) && isPointwise()) return matrixProduct();
    // A sum of shifted inputs would be rounded one by one.
    if (traits_.narrowConvolutions.contains(rounded) && !isSumOfTaps()) {
      Value* v = other();
      if (!v && rounded != t) v = conv(outLast_);
      return v ? cast(v, t) : nullptr;
    }
    x_ = cast(x_, computed), w_ = cast(w_, computed);
    Value* v = other();
    return cast(v ? v : conv(outLast_), t);
  }

 private:
  /// Whether each place is a product of the weights and its channels.
  bool isPointwise() const {
    return !outLast_ && groups_ == 1 && depth() > traits_.loopDepth && op_.result()->type.size() > 0 &&
           std::all_of(dims_.begin(), dims_.end(), [](const WindowDim& d) {
             return d.taps == 1 && d.stride == 1 && d.lo == 0 && d.places == d.extent;
           });
  }

  /// Of one channel in for each out, or for a few, which is no product.
  bool isSumOfTaps() const {
    constexpr int64_t kMostOuts = 7;  // more are rows or columns of a product's tiles
    return !outLast_ && depth() == 1 && taps() <= traits_.depthwise.mostTaps &&
           w_->type.shape[0] <= kMostOuts * groups_;
  }

  /// The same as the matrix product [outs, channels] @ [channels, places] for each image.
  Value* matrixProduct() {
    const Type& out = op_.result()->type;
    const int64_t images = out.shape[0], outs = out.shape[1], places = out.size() / (images * outs);
    Value* weights = b_.value(OpKind::Reshape, {w_}, {{"shape", Dims{outs, depth()}}});
    Value* image = b_.value(OpKind::Reshape, {x_}, {{"shape", Dims{images, depth(), places}}});
    std::vector<Builder::NamedAttr> attrs;
    if (out.dtype != x_->type.dtype) attrs.push_back({"dtype", out.dtype});
    Value* v = b_.value(OpKind::Matmul, {b_.broadcastTo(weights, {images, outs, depth()}), image}, std::move(attrs));
    return b_.value(OpKind::Reshape, {v}, {{"shape", out.shape}});
  }

  Value* other() {
    if (outLast_) return nullptr;
    const Type& out = op_.result()->type;
    if (out.size() == 0 || depth() == 0 || !dropUnusedTaps()) return zeros();
    if (taps() > traits_.depthwise.fewTaps && isDepthwise(dims_, depth(), out.shape[1] / groups_, traits_))
      return w_ == op_.operand(1) ? nullptr : conv(false);
    if (isSumOfTaps()) return sumOfTaps();
    if (columnsAreChannels()) {
      layOutWeights();
      return conv(true);
    }
    return w_ == op_.operand(1) ? nullptr : conv(false);
  }

  size_t spatial() const { return stride_.size(); }
  int64_t depth() const { return WeightDims(w_->type.shape, spatial(), outLast_).depth; }
  int64_t taps() const {
    int64_t n = 1;
    for (const WindowDim& d : dims_) n *= d.taps;
    return n;
  }

  /// Takes the taps off the window that meet padding at all places: of a 3 by 3 window on one padded element one tap is
  /// left. False when none is.
  bool dropUnusedTaps() {
    Dims starts = {0, 0}, sizes = {w_->type.shape[0], w_->type.shape[1]};
    for (WindowDim& d : dims_) {
      const int64_t first = d.firstTap(d.places - 1), end = d.endTap(0);
      if (first >= end) return false;
      starts.push_back(first);
      sizes.push_back(end - first);
      d.taps = end - first;
      d.lo -= first * d.dilation;
    }
    const Dims steps(starts.size(), 1);
    if (sizes != w_->type.shape) {
      w_ = b_.value(OpKind::Slice, {w_}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}});
    }
    return true;
  }

  /// Output channels become the innermost dim. Where they fill registers, it is in blocks of one register each, so that
  /// the weights which a tile meets lie side by side: rows of all channels are apart by what is often a large power of
  /// two, and of those caches hold few.
  void layOutWeights() {
    const int64_t block = traits_.vectorBytes / byteSize(w_->type.dtype), outs = w_->type.shape[0];
    const bool blocked = traits_.sideBySide && depth() > 1 && taps() > 1 && outs / groups_ % block == 0;
    Dims shape = w_->type.shape, perm;
    if (blocked) {
      shape[0] = block;
      shape.insert(shape.begin(), outs / block);
      w_ = b_.value(OpKind::Reshape, {w_}, {{"shape", shape}});
      perm.push_back(0);
    }
    const int64_t out = blocked ? 1 : 0;
    for (int64_t d = out + 1; d < w_->type.rank(); ++d) perm.push_back(d);
    perm.push_back(out);
    w_ = b_.value(OpKind::Permute, {w_}, {{"perm", perm}});
  }

  /// Padding after dim `d`: what its last window reaches beyond the elements. Less than 0 crops.
  static int64_t after(const WindowDim& d) {
    return (d.places - 1) * d.stride + (d.taps - 1) * d.dilation + 1 - d.lo - d.extent;
  }

  Value* conv(bool outLast) {
    std::vector<Builder::NamedAttr> attrs = {{"stride", stride_}, {"dilation", dilation_}, {"groups", groups_}};
    Dims lo, hi;
    bool padded = false;
    for (const WindowDim& d : dims_) {
      lo.push_back(d.lo);
      hi.push_back(after(d));
      // What a stride leaves over at the end is no crop.
      const int64_t unpadded = (d.extent - (d.taps - 1) * d.dilation - 1) / d.stride + 1;
      padded = padded || d.lo != 0 || hi.back() > 0 || unpadded != d.places;
    }
    if (padded) {
      attrs.push_back({"lo", lo});
      attrs.push_back({"hi", hi});
    }
    if (outLast) attrs.push_back({"out_last", true});
    // What has been rounded for this product alone gives its sums as they are.
    if (const DType given = op_.result()->type.dtype; isNarrow(x_->type.dtype) && given != x_->type.dtype)
      attrs.push_back({"dtype", given});
    return b_.value(OpKind::Conv, {x_, w_}, std::move(attrs));
  }

  Value* zeros() {
    const Type t = {x_->type.dtype, op_.result()->type.shape, op_.result()->type.place};
    return b_.makeTyped(OpKind::Fill, {b_.scalar(t.dtype, 0)}, {t}, {{"shape", t.shape}})->result();
  }

  /// The part of a vector register that columns fill, over all registers of a row of them.
  double filled(int64_t columns) const {
    const int64_t lanes = traits_.vectorBytes / byteSize(x_->type.dtype);
    const int64_t registers = (columns + lanes - 1) / lanes;
    return static_cast<double>(columns) / static_cast<double>(registers * lanes);
  }

  static bool isNarrow(DType t) { return accumulatorOf(t) != t; }

  /// Places side by side are vectors only when the window moves by one.
  bool columnsAreChannels() const {
    if (traits_.sideBySide && stride_.back() != 1) return true;
    if (traits_.convColumns != TargetTraits::ConvColumns::Fuller)
      return traits_.convColumns == TargetTraits::ConvColumns::Channels;
    const Dims& out = op_.result()->type.shape;
    // Where the window is one place, all places are one long row.
    int64_t places = out.back();
    if (taps() == 1 && std::all_of(stride_.begin(), stride_.end(), [](int64_t s) { return s == 1; })) {
      for (size_t d = 2; d + 1 < out.size(); ++d) places *= out[d];
    }
    return filled(out[1] / groups_) > 1.1 * filled(places);
  }

  /// One channel in for each out: the shifted inputs, each times its weight, added up row by row of the window.
  Value* sumOfTaps() {
    padInput();
    Dims tap(spatial(), 0);
    return sumFrom(0, tap);
  }

  /// Zeros around the input, and no more of it than windows reach.
  void padInput() {
    Dims starts = {0, 0}, sizes = {x_->type.shape[0], x_->type.shape[1]}, lo = {0, 0}, hi = {0, 0};
    bool padded = false;
    for (WindowDim& d : dims_) {
      const int64_t before = std::max<int64_t>(d.lo, 0), behind = std::max<int64_t>(after(d), 0);
      starts.push_back(std::max<int64_t>(-d.lo, 0));
      sizes.push_back(d.extent - starts.back());
      lo.push_back(before);
      hi.push_back(behind);
      padded = padded || before > 0 || behind > 0;
    }
    const Dims steps(starts.size(), 1);
    if (sizes != x_->type.shape) {
      x_ = b_.value(OpKind::Slice, {x_}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}});
    }
    if (padded) x_ = b_.value(OpKind::Pad, {x_, b_.scalar(x_->type.dtype, 0)}, {{"lo", lo}, {"hi", hi}});
  }

  /// The sum over the taps of dims `d` on, at given taps of the dims before.
  Value* sumFrom(size_t d, Dims& tap) {
    const Dims& out = op_.result()->type.shape;
    if (d == dims_.size()) { return b_.value(OpKind::Mul, {shifted(tap, out, out[1] / groups_), weightOf(tap, out)}); }
    Value* sum = nullptr;
    for (tap[d] = 0; tap[d] < dims_[d].taps; ++tap[d]) {
      Value* part = inside(d, tap[d], sumFrom(d + 1, tap));
      sum = sum ? b_.value(OpKind::Add, {sum, part}) : part;
    }
    return sum;
  }

  /// `v` where tap `t` of dim `d` meets an element, 0 where it meets padding: 0 times an infinite weight would be NaN.
  Value* inside(size_t d, int64_t t, Value* v) {
    const Dims& out = op_.result()->type.shape;
    Dims along(out.size(), 1);
    along[2 + d] = out[2 + d];
    const int64_t first = dims_[d].firstPlace(t), end = dims_[d].endPlace(t);
    Value* there = nullptr;
    auto require = [&](OpKind kind, int64_t bound) {
      const Type t64 = {DType::I64, along, op_.result()->type.place};
      Value* place = b_.makeTyped(OpKind::Iota, {}, {t64},
                                  {{"shape", along}, {"dtype", DType::I64}, {"axis", static_cast<int64_t>(2 + d)}})
                         ->result();
      Value* holds = b_.value(kind, {place, b_.broadcastTo(b_.scalarInt(DType::I64, bound), along)});
      there = there ? b_.value(OpKind::And, {there, holds}) : holds;
    };
    if (first > 0) require(OpKind::Ge, first);
    if (end < dims_[d].places) require(OpKind::Lt, end);
    if (!there) return v;
    return b_.value(OpKind::Where, {b_.broadcastTo(there, out), v, b_.broadcastTo(b_.scalar(v->type.dtype, 0), out)});
  }

  Value* shifted(const Dims& tap, const Dims& out, int64_t perGroup) {
    Dims starts = {0, 0}, sizes = {out[0], groups_}, steps = {1, 1};
    for (size_t i = 0; i < spatial(); ++i) {
      starts.push_back(tap[i] * dilation_[i]);
      sizes.push_back(out[2 + i]);
      steps.push_back(stride_[i]);
    }
    Value* v = b_.value(OpKind::Slice, {x_}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}});
    if (perGroup == 1) return v;
    Dims apart = sizes, repeated = sizes;
    apart.insert(apart.begin() + 2, 1);
    repeated.insert(repeated.begin() + 2, perGroup);
    v = b_.value(OpKind::Reshape, {v}, {{"shape", apart}});
    return b_.value(OpKind::Reshape, {b_.broadcastTo(v, repeated)}, {{"shape", out}});
  }

  Value* weightOf(const Dims& tap, const Dims& out) {
    Dims starts = {0, 0}, sizes = {out[1], 1};
    for (int64_t at : tap) starts.push_back(at), sizes.push_back(1);
    Value* v = b_.value(OpKind::Slice, {w_}, {{"starts", starts}, {"sizes", sizes}, {"steps", Dims(sizes.size(), 1)}});
    Dims channel(spatial() + 1, 1);
    channel[0] = out[1];
    return b_.broadcastTo(b_.value(OpKind::Reshape, {v}, {{"shape", channel}}), out);
  }

  Value* cast(Value* v, DType t) { return v->type.dtype == t ? v : b_.value(OpKind::Cast, {v}, {{"dtype", t}}); }

  Op& op_;
  const TargetTraits& traits_;
  Builder b_;
  Value *x_, *w_;
  const Dims stride_, dilation_;
  const int64_t groups_;
  const bool outLast_;
  std::vector<WindowDim> dims_;  ///< of what is left of the window
};

}  // namespace

ir::Value* decomposeConv(ir::Op& conv, const ir::TargetTraits& traits) { return Convolution(conv, traits).build(); }

}  // namespace tenc::passes
