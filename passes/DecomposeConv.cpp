// Convolutions before fusion: which are sums over few shifted inputs, and for the others whether the columns of their
// matrix product are places or output channels.
#include <algorithm>

#include "passes/Decompose.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

constexpr int64_t kMostTaps = 25;       // shifted inputs that one loop adds up
constexpr int64_t kRegisterBytes = 64;  // of a vector; only a choice of layout follows from it

class Convolution {
 public:
  explicit Convolution(Op& op)
      : op_(op),
        b_(&op),
        x_(op.operand(0)),
        w_(op.operand(1)),
        stride_(op.intsAttr("stride")),
        dilation_(op.intsAttr("dilation")),
        groups_(op.intAttr("groups")),
        outLast_(op.boolAttr("out_last")) {
    b_.setLoc(op.loc);
  }

  /// The value that replaces the op's result, or null when it stays as it is.
  Value* build() {
    const DType t = x_->type.dtype;
    const bool half = t == DType::F16 || t == DType::BF16;
    if (half) x_ = cast(x_, DType::F32), w_ = cast(w_, DType::F32);
    Value* v = other();
    return half ? cast(v ? v : conv(outLast_), t) : v;
  }

 private:
  Value* other() {
    if (outLast_) return nullptr;
    const Type& out = op_.result()->type;
    if (out.size() == 0 || depth() == 0) return zeros();
    if (depth() == 1 && taps() <= kMostTaps) return sumOfTaps();
    if (columnsAreChannels()) {
      Dims perm;
      for (int64_t d = 1; d < w_->type.rank(); ++d) perm.push_back(d);
      perm.push_back(0);
      w_ = b_.value(OpKind::Permute, {w_}, {{"perm", perm}});
      return conv(true);
    }
    return nullptr;
  }

  size_t spatial() const { return stride_.size(); }
  int64_t window(size_t i) const { return w_->type.shape[(outLast_ ? 1 : 2) + i]; }
  int64_t depth() const { return w_->type.shape[outLast_ ? 0 : 1]; }
  int64_t taps() const {
    int64_t n = 1;
    for (size_t i = 0; i < spatial(); ++i) n *= window(i);
    return n;
  }

  Value* conv(bool outLast) {
    std::vector<Builder::NamedAttr> attrs = {{"stride", stride_}, {"dilation", dilation_}, {"groups", groups_}};
    if (outLast) attrs.push_back({"out_last", true});
    return b_.value(OpKind::Conv, {x_, w_}, std::move(attrs));
  }

  Value* zeros() {
    const Type t = {x_->type.dtype, op_.result()->type.shape, op_.result()->type.place};
    return b_.makeTyped(OpKind::Fill, {b_.scalar(t.dtype, 0)}, {t}, {{"shape", t.shape}})->result();
  }

  /// The part of a vector register that columns fill, over all registers of a row of them.
  double filled(int64_t columns) const {
    const int64_t lanes = kRegisterBytes / byteSize(x_->type.dtype);
    return static_cast<double>(columns) / static_cast<double>((columns + lanes - 1) / lanes * lanes);
  }

  /// Places side by side are vectors only when the window moves by one.
  bool columnsAreChannels() const {
    if (stride_.back() != 1) return true;
    const Dims& out = op_.result()->type.shape;
    // Where the window is one place, all places are one long row.
    int64_t places = out.back();
    if (taps() == 1 && std::all_of(stride_.begin(), stride_.end(), [](int64_t s) { return s == 1; })) {
      for (size_t d = 2; d + 1 < out.size(); ++d) places *= out[d];
    }
    return filled(out[1] / groups_) > 1.1 * filled(places);
  }

  /// One channel in for each out: the shifted inputs, each times its weight, added in the order of the window.
  Value* sumOfTaps() {
    const Dims out = op_.result()->type.shape;
    const int64_t perGroup = out[1] / groups_;
    Value* sum = nullptr;
    Dims tap(spatial(), 0);
    for (int64_t t = 0; t < taps(); ++t) {
      Value* product = b_.value(OpKind::Mul, {shifted(tap, out, perGroup), weightOf(tap, out)});
      sum = sum ? b_.value(OpKind::Add, {sum, product}) : product;
      for (size_t i = spatial(); i-- > 0 && ++tap[i] == window(i);) tap[i] = 0;
    }
    return sum;
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
  Builder b_;
  Value *x_, *w_;
  const Dims stride_, dilation_;
  const int64_t groups_;
  const bool outLast_;
};

}  // namespace

ir::Value* decomposeConv(ir::Op& conv) { return Convolution(conv).build(); }

}  // namespace tenc::passes
