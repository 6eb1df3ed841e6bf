// Ops with the trait `Decomposed` into others: softmax and its like into reductions and elementwise ops, with PyTorch's
// numerics (f16 and bf16 are computed in f32 and rounded once at the end); convolutions and attention in files of their
// own.
#include "passes/decompose/Decompose.h"

#include <cmath>
#include <numbers>

#include "passes/Passes.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

/// Builds the replacement of an op of one operand in its compute dtype, f32 for narrower floats.
class Composition {
 public:
  explicit Composition(Op& op) : op_(op), b_(&op), axes_(op.intsAttr("axes")) {
    b_.setLoc(op.loc);
    const DType t = op.operand(0)->type.dtype;
    compute_ = accumulatorOf(t);
    x_ = cast(op.operand(0), compute_);
  }

  /// The value that replaces the op's result, by one of the rules below.
  Value* build(Value* (Composition::*rule)()) {
    Value* v = (this->*rule)();
    // Reductions were kept as dims of size 1.
    if (v->type.shape != op_.result()->type.shape) {
      v = b_.value(OpKind::Reshape, {v}, {{"shape", op_.result()->type.shape}});
    }
    return cast(v, op_.result()->type.dtype);
  }

  /// exp(x - m) / sum(exp(x - m)). A row of -inf gives NaN.
  Value* softmax() {
    Value* e = unary(OpKind::Exp, binary(OpKind::Sub, x_, reduce(OpKind::ReduceMax, x_)));
    return binary(OpKind::Div, e, reduce(OpKind::Sum, e));
  }

  Value* logSoftmax() {
    Value* shifted = binary(OpKind::Sub, x_, reduce(OpKind::ReduceMax, x_));
    Value* sum = reduce(OpKind::Sum, unary(OpKind::Exp, shifted));
    return binary(OpKind::Sub, shifted, unary(OpKind::Log, sum));
  }

  /// An infinite maximum is not subtracted, as inf - inf has no value: log(sum(exp(x))) is then right by itself.
  Value* logSumExp() {
    Value* m = reduce(OpKind::ReduceMax, x_);
    Value* zero = b_.broadcastTo(b_.scalar(compute_, 0), m->type.shape);
    Value* shift = b_.value(OpKind::Where, {unary(OpKind::IsInf, m), zero, m});
    Value* sum = reduce(OpKind::Sum, unary(OpKind::Exp, binary(OpKind::Sub, x_, shift)));
    return binary(OpKind::Add, unary(OpKind::Log, sum), shift);
  }

  Value* layerNorm() {
    Value* centred = deviations();
    Value* spread = binary(OpKind::Add, variance(centred, 0), number(op_.floatAttr("eps")));
    return binary(OpKind::Div, centred, unary(OpKind::Sqrt, spread));
  }

  Value* gelu() { return op_.boolAttr("tanh") ? geluTanh() : geluErf(); }
  Value* variance() { return variance(deviations(), op_.floatAttr("correction")); }
  Value* mean() { return binary(OpKind::Div, reduce(OpKind::Sum, x_), number(count())); }

 private:
  /// x * Phi(x), Phi by the error function.
  Value* geluErf() {
    Value* e = unary(OpKind::Erf, binary(OpKind::Mul, x_, number(std::numbers::sqrt2 / 2)));
    return binary(OpKind::Mul, binary(OpKind::Mul, x_, number(0.5)), binary(OpKind::Add, e, number(1)));
  }

  /// Hendrycks and Gimpel, "Gaussian Error Linear Units": x/2 * (1 + tanh(u)) with u = sqrt(2/pi) * (x + 0.044715 x^3),
  /// written as x / (1 + exp(-2u)): one exp, and no cancellation for negative x.
  Value* geluTanh() {
    Value* cube = binary(OpKind::Mul, binary(OpKind::Mul, x_, x_), x_);
    Value* inner = binary(OpKind::Add, x_, binary(OpKind::Mul, cube, number(0.044715)));
    Value* power = binary(OpKind::Mul, inner, number(-2 * std::sqrt(2 / std::numbers::pi)));
    return binary(OpKind::Div, x_, binary(OpKind::Add, unary(OpKind::Exp, power), number(1)));
  }

  Value* deviations() { return binary(OpKind::Sub, x_, mean()); }
  /// The second pass over the deviations; too few elements for the correction divide by 0.
  Value* variance(Value* centred, double correction) {
    Value* sum = reduce(OpKind::Sum, unary(OpKind::Square, centred));
    return binary(OpKind::Div, sum, number(std::max(0.0, count() - correction)));
  }

  double count() const {
    double n = 1;
    for (int64_t a : axes_) n *= static_cast<double>(x_->type.shape[static_cast<size_t>(a)]);
    return n;
  }

  Value* number(double x) { return b_.scalar(compute_, x); }
  Value* unary(OpKind kind, Value* v) { return b_.value(kind, {v}); }
  Value* reduce(OpKind kind, Value* v) { return b_.value(kind, {v}, {{"axes", axes_}, {"keep", true}}); }
  Value* cast(Value* v, DType t) { return v->type.dtype == t ? v : b_.value(OpKind::Cast, {v}, {{"dtype", t}}); }
  /// The smaller operand (a reduction, a number) is broadcast to the other.
  Value* binary(OpKind kind, Value* a, Value* c) {
    const Dims shape = *broadcastShapes(a->type.shape, c->type.shape);
    return b_.value(kind, {b_.broadcastTo(a, shape), b_.broadcastTo(c, shape)});
  }

  Op& op_;
  Builder b_;
  const Dims axes_;
  DType compute_ = DType::F32;
  Value* x_ = nullptr;
};

template <Value* (Composition::*rule)()>
Value* composed(Op& op, const TargetTraits&) {
  return Composition(op).build(rule);
}

/// How an op is written in others: the value that replaces its result, or null when the op stays.
struct Rule {
  OpKind kind;
  Value* (*build)(Op&, const TargetTraits&);
};
constexpr Rule kRules[] = {
    {OpKind::Mean, composed<&Composition::mean>},
    {OpKind::Softmax, composed<&Composition::softmax>},
    {OpKind::LogSoftmax, composed<&Composition::logSoftmax>},
    {OpKind::LogSumExp, composed<&Composition::logSumExp>},
    {OpKind::LayerNorm, composed<&Composition::layerNorm>},
    {OpKind::Gelu, composed<&Composition::gelu>},
    {OpKind::Variance, composed<&Composition::variance>},
    {OpKind::Conv, decomposeConv},
    {OpKind::Attention, decomposeAttention},
};

constexpr const Rule* ruleOf(OpKind kind) {
  for (const Rule& rule : kRules) {
    if (rule.kind == kind) return &rule;
  }
  return nullptr;
}
#define TENC_OP(kind, mnemonic, minOperands, maxOperands, results, traits, rule, attrs, doc) \
  static_assert(contains(traits, Trait::Decomposed) == (ruleOf(OpKind::kind) != nullptr),    \
                "ops with Trait::Decomposed have a rule in kRules, and no others: " mnemonic);
#include "ir/Ops.def"

/// A matrix product under `@autocast`: one of the narrow dtype or, where the target has none, of operands that have
/// been rounded and made f32 again.
Value* roundOperands(Op& op, const TargetTraits& traits) {
  const auto to = op.dtypeAttr("rounds");
  if (!to || op.kind != OpKind::Matmul) return nullptr;
  Builder b(&op);
  b.setLoc(op.loc);
  const DType wide = op.operand(0)->type.dtype;
  const bool narrow = traits.narrowProducts.contains(*to);
  std::vector<Value*> operands;
  for (Value* v : op.operands()) {
    Value* rounded = b.value(OpKind::Cast, {v}, {{"dtype", *to}});
    operands.push_back(narrow ? rounded : b.value(OpKind::Cast, {rounded}, {{"dtype", wide}}));
  }
  std::vector<Builder::NamedAttr> attrs;
  if (narrow) attrs.push_back({"dtype", wide});
  return b.value(OpKind::Matmul, operands, std::move(attrs));
}

void decomposeRegion(Region& region, const Context& c) {
  for (auto it = region.ops.begin(); it != region.ops.end();) {
    Op& op = **it++;
    for (const auto& inner : op.regions) decomposeRegion(*inner, c);
    Value* made = roundOperands(op, c.traitsOf(op));
    if (const Rule* rule = ruleOf(op.kind); rule && !made) made = rule->build(op, c.traitsOf(op));
    if (!made) continue;
    Value* old = op.result();
    if (made->type.place.isFree()) made->type.place = old->type.place;
    if (made->name.empty()) made->name = old->name;
    old->replaceAllUsesWith(made);
    op.erase();
  }
}

}  // namespace

bool decompose(Module& m, Context& c) {
  for (const auto& f : m.funcs) decomposeRegion(*f->body, c);
  return true;
}

}  // namespace tenc::passes
