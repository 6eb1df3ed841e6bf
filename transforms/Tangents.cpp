// The table of derivatives, and the rules of elementwise ops: partial derivatives as small expressions. Where a
// function has no derivative docs/ops.md says what stands for it.
#include <array>
#include <iterator>
#include <numbers>

#include "ir/HiddenDims.h"
#include "transforms/TangentRules.h"

namespace tenc::transforms {

using ir::OpKind;
using ir::Trait;
using V = ir::Value*;

V TangentCall::same(ir::Compose& at, std::vector<V> operands) const {
  std::vector<ir::Builder::NamedAttr> attrs;
  for (const auto& [name, value] : op.attrs()) {
    if (name.find('.') == std::string::npos) attrs.push_back({name, value});
  }
  V v = at.b.value(op.kind, std::move(operands), std::move(attrs));
  ir::keepWritten(op, *v->op);
  return v;
}

namespace {

// ---- building blocks

/// `coefficient` times the tangent of operand `k`.
void scaled(TangentCall& c, size_t k, V coefficient) { c.add(c.t.mul(coefficient, c.dx(k))); }

/// A rule of one operand from its derivative.
template <V (*Derivative)(TangentCall&)>
void unary(TangentCall& c) {
  scaled(c, 0, Derivative(c));
}

/// A rule of two operands from the derivatives by each; one is computed only where its operand has a tangent.
template <V (*ByFirst)(TangentCall&), V (*BySecond)(TangentCall&)>
void binary(TangentCall& c) {
  if (c.dx(0) != nullptr) scaled(c, 0, ByFirst(c));
  if (c.dx(1) != nullptr) scaled(c, 1, BySecond(c));
}

/// The op is linear in its operands together: the tangent is the same op of their tangents, zeros where there is none.
void linear(TangentCall& c) {
  std::vector<V> operands;
  for (size_t i = 0; i < c.in.size(); ++i) operands.push_back(c.whole(i));
  c.add(c.same(c.t, std::move(operands)));
}

/// Linear in operand 0; the others (indices) are as they are.
void linearInFirst(TangentCall& c) {
  std::vector<V> operands = c.in;
  operands[0] = c.dx(0);
  c.add(c.same(c.t, std::move(operands)));
}

/// Linear in operands 0 and 1, what is updated and what is written; the others are places.
void update(TangentCall& c) {
  std::vector<V> operands = c.in;
  operands[0] = c.changed(0), operands[1] = c.whole(1);
  c.add(c.same(c.t, std::move(operands)));
}

/// The derivative is 0 wherever there is one; still a path for the purposes of E0402.
void flat(TangentCall&) {}

V square(TangentCall& c, V x) { return c.p.mul(x, x); }
V half(TangentCall& c, V x) { return c.p.mul(x, c.number(0.5)); }
V reciprocal(TangentCall& c, V x) { return c.p.unary(OpKind::Reciprocal, x); }
V negative(TangentCall& c, V x) { return c.p.unary(OpKind::Neg, x); }
V rsqrt(TangentCall& c, V x) { return c.p.unary(OpKind::Rsqrt, x); }
V isZero(TangentCall& c, V x) { return c.p.binary(OpKind::Eq, x, 0.0); }
V zeroWhere(TangentCall& c, V condition, V x) { return c.p.where(condition, c.number(0), x); }

// ---- one operand

void neg(TangentCall& c) { c.add(c.t.unary(OpKind::Neg, c.dx())); }
V abs(TangentCall& c) { return c.p.unary(OpKind::Sign, c.x()); }
V squared(TangentCall& c) { return c.p.add(c.x(), c.x()); }
V sqrt(TangentCall& c) {
  if (!c.op.hasAttr(ir::Compose::kFlatAtZero)) return c.p.div(c.number(0.5), c.y());
  V none = isZero(c, c.y());
  return zeroWhere(c, none, c.p.div(c.number(0.5), c.p.where(none, c.number(1), c.y())));
}
V rsqrtOf(TangentCall& c) { return c.p.mul(c.p.mul(square(c, c.y()), c.y()), c.number(-0.5)); }
V cbrt(TangentCall& c) { return c.p.div(c.number(1.0 / 3.0), square(c, c.y())); }
V exp(TangentCall& c) { return c.y(); }
V exp2(TangentCall& c) { return c.p.mul(c.y(), c.number(std::numbers::ln2)); }
V expm1(TangentCall& c) { return c.p.unary(OpKind::Exp, c.x()); }
V log(TangentCall& c) { return reciprocal(c, c.x()); }
V log2(TangentCall& c) { return c.p.div(c.number(std::numbers::log2e), c.x()); }
V log10(TangentCall& c) { return c.p.div(c.number(std::numbers::log10e), c.x()); }
V log1p(TangentCall& c) { return reciprocal(c, c.p.add(c.x(), c.number(1))); }
V sin(TangentCall& c) { return c.p.unary(OpKind::Cos, c.x()); }
V cos(TangentCall& c) { return negative(c, c.p.unary(OpKind::Sin, c.x())); }
V tan(TangentCall& c) { return c.p.add(square(c, c.y()), c.number(1)); }
/// (1 - x) (1 + x): exact near the ends, where 1 - x * x is not.
V besideOne(TangentCall& c) { return c.p.mul(c.p.sub(c.number(1), c.x()), c.p.add(c.x(), c.number(1))); }
V asin(TangentCall& c) { return rsqrt(c, besideOne(c)); }
V acos(TangentCall& c) { return negative(c, asin(c)); }
V atan(TangentCall& c) { return reciprocal(c, c.p.add(square(c, c.x()), c.number(1))); }
V sinh(TangentCall& c) { return c.p.unary(OpKind::Cosh, c.x()); }
V cosh(TangentCall& c) { return c.p.unary(OpKind::Sinh, c.x()); }
V tanh(TangentCall& c) { return c.p.sub(c.number(1), square(c, c.y())); }
V asinh(TangentCall& c) { return reciprocal(c, c.p.binary(OpKind::Hypot, c.x(), 1.0)); }
V acosh(TangentCall& c) {
  return c.p.mul(rsqrt(c, c.p.sub(c.x(), c.number(1))), rsqrt(c, c.p.add(c.x(), c.number(1))));
}
V atanh(TangentCall& c) { return reciprocal(c, besideOne(c)); }
V erf(TangentCall& c) {
  constexpr double kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi;
  return c.p.mul(c.p.unary(OpKind::Exp, negative(c, square(c, c.x()))), c.number(kTwoOverSqrtPi));
}
V erfc(TangentCall& c) { return negative(c, erf(c)); }
V lgamma(TangentCall& c) { return c.p.unary(OpKind::Digamma, c.x()); }
/// By the recurrence to arguments above 8 and the asymptotic series there, and left of 1/2 by reflection (Abramowitz
/// and Stegun 1964, 6.4.6, 6.4.7, 6.4.12).
V trigamma(TangentCall& c) {
  constexpr int kSteps = 8;
  // Bernoulli numbers B2, B4, ...: the series is 1/z + 1/(2 z^2) + sum of B2k / z^(2k + 1).
  constexpr double kBernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
  V x = c.x();
  V left = c.p.binary(OpKind::Lt, x, 0.5);
  V z = c.p.where(left, c.p.sub(c.number(1), x), x);
  V sum = reciprocal(c, square(c, z));
  for (int i = 1; i < kSteps; ++i) sum = c.p.add(sum, reciprocal(c, square(c, c.p.add(z, c.number(i)))));
  V inverse = reciprocal(c, c.p.add(z, c.number(kSteps)));
  V inverse2 = square(c, inverse);
  V series = c.number(kBernoulli[std::size(kBernoulli) - 1]);
  for (size_t i = std::size(kBernoulli) - 1; i-- > 0;)
    series = c.p.add(c.p.mul(series, inverse2), c.number(kBernoulli[i]));
  V tail = c.p.mul(inverse, c.p.add(c.p.add(c.number(1), half(c, inverse)), c.p.mul(inverse2, series)));
  V right = c.p.add(sum, tail);
  V wave = c.p.div(c.number(std::numbers::pi), c.p.unary(OpKind::Sin, c.p.mul(x, c.number(std::numbers::pi))));
  return c.p.where(left, c.p.sub(square(c, wave), right), right);
}
V sigmoid(TangentCall& c) { return c.p.mul(c.y(), c.p.sub(c.number(1), c.y())); }
V reciprocalOf(TangentCall& c) { return negative(c, square(c, c.y())); }

/// x Phi(x), or its tanh form (Hendrycks and Gimpel 2016).
V gelu(TangentCall& c) {
  V x = c.x();
  if (!c.op.boolAttr("tanh")) {
    constexpr double kInvSqrt2Pi = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    V phi = c.p.mul(c.p.unary(OpKind::Exp, c.p.mul(square(c, x), c.number(-0.5))), c.number(kInvSqrt2Pi));
    // By erf, as gelu itself is computed: far below 0 what erfc would know better is small beside x phi.
    V e = c.p.unary(OpKind::Erf, c.p.mul(x, c.number(std::numbers::sqrt2 / 2)));
    return c.p.add(half(c, c.p.add(e, c.number(1))), c.p.mul(x, phi));
  }
  constexpr double kScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kCubic = 0.044715;
  V x2 = square(c, x);
  V u = c.p.mul(c.p.mul(x, c.number(kScale)), c.p.add(c.p.mul(x2, c.number(kCubic)), c.number(1)));
  V du = c.p.mul(c.p.add(c.p.mul(x2, c.number(3 * kCubic)), c.number(1)), c.number(kScale));
  V s = c.p.unary(OpKind::Sigmoid, c.p.add(u, u));  // (1 + tanh(u)) / 2
  V ds = c.p.mul(c.p.mul(s, c.p.sub(c.number(1), s)), c.number(2));
  return c.p.add(s, c.p.mul(c.p.mul(x, ds), du));
}

// ---- two operands and more

void add(TangentCall& c) {
  c.add(c.dx(0));
  c.add(c.dx(1));
}
void sub(TangentCall& c) {
  if (c.dx(0) != nullptr && c.dx(1) != nullptr)
    c.add(c.t.sub(c.dx(0), c.dx(1)));
  else
    c.add(c.dx(0) != nullptr ? c.dx(0) : c.t.unary(OpKind::Neg, c.dx(1)));
}
V second(TangentCall& c) { return c.x(1); }
V first(TangentCall& c) { return c.x(0); }
V divBySecond(TangentCall& c) { return negative(c, c.p.div(c.y(), c.x(1))); }
void div(TangentCall& c) {
  if (c.dx(0) != nullptr) c.add(c.t.div(c.dx(0), c.x(1)));
  if (c.dx(1) != nullptr) scaled(c, 1, divBySecond(c));
}
V remainderByFirst(TangentCall& c) { return c.number(1); }
V modBySecond(TangentCall& c) { return negative(c, c.p.binary(OpKind::FloorDiv, c.x(0), c.x(1))); }
V fmodBySecond(TangentCall& c) { return negative(c, c.p.binary(OpKind::TruncDiv, c.x(0), c.x(1))); }

/// The larger (or smaller) operand's tangent; at ties the second operand's.
void chosen(TangentCall& c, OpKind isFirst) {
  auto part = [&](size_t k) { return c.dx(k) != nullptr ? c.dx(k) : c.t.literal(c.in[k], 0); };
  c.add(c.t.where(c.p.binary(isFirst, c.x(0), c.x(1)), part(0), part(1)));
}
void max(TangentCall& c) { chosen(c, OpKind::Gt); }
void min(TangentCall& c) { chosen(c, OpKind::Lt); }

/// p x ** (p - 1), 0 where p is 0.
V powByFirst(TangentCall& c) {
  if (c.op.hasAttr(ir::Compose::kFlatAtZero)) {
    V none = isZero(c, c.x(0)), less = c.p.sub(c.x(1), c.number(1));
    V base = c.p.where(none, c.number(1), c.x(0));
    return zeroWhere(c, none, c.p.mul(c.x(1), c.p.binary(OpKind::Pow, base, less)));
  }
  V less = c.p.sub(c.x(1), c.number(1));
  return zeroWhere(c, isZero(c, c.x(1)), c.p.mul(c.x(1), c.p.binary(OpKind::Pow, c.x(0), less)));
}
/// x ** p log x, 0 where x is 0 and p is not negative.
V powBySecond(TangentCall& c) {
  V none = c.p.binary(OpKind::And, isZero(c, c.x(0)), c.p.binary(OpKind::Ge, c.x(1), 0.0));
  return zeroWhere(c, none, c.p.mul(c.y(), c.p.unary(OpKind::Log, c.x(0))));
}
V atan2ByFirst(TangentCall& c) { return c.p.div(c.x(1), c.p.add(square(c, c.x(0)), square(c, c.x(1)))); }
V atan2BySecond(TangentCall& c) { return negative(c, c.p.div(c.x(0), c.p.add(square(c, c.x(0)), square(c, c.x(1))))); }
V hypotByFirst(TangentCall& c) { return zeroWhere(c, isZero(c, c.y()), c.p.div(c.x(0), c.y())); }
V hypotBySecond(TangentCall& c) { return zeroWhere(c, isZero(c, c.y()), c.p.div(c.x(1), c.y())); }
void copySign(TangentCall& c) {
  if (c.dx(0) == nullptr) return;
  V one = c.p.broadcastTo(c.number(1), c.x(1)->type.shape);
  scaled(c, 0, c.p.mul(c.p.unary(OpKind::Sign, c.x(0)), c.p.b.value(OpKind::CopySign, {one, c.x(1)})));
}
/// The sigmoid of the difference, which of equal infinities counts as 0: half to each, as of equal numbers.
V logAddExpBy(TangentCall& c, size_t k) {
  V infinite = c.p.binary(OpKind::And, c.p.binary(OpKind::Eq, c.x(0), c.x(1)), c.p.unary(OpKind::IsInf, c.x(0)));
  V difference = c.p.sub(c.p.where(infinite, c.number(0), c.x(k)), c.p.where(infinite, c.number(0), c.x(1 - k)));
  return c.p.unary(OpKind::Sigmoid, difference);
}
V logAddExpByFirst(TangentCall& c) { return logAddExpBy(c, 0); }
V logAddExpBySecond(TangentCall& c) { return logAddExpBy(c, 1); }

void where(TangentCall& c) {
  if (c.dx(1) == nullptr && c.dx(2) == nullptr) return;
  auto part = [&](size_t k) { return c.dx(k) != nullptr ? c.dx(k) : c.t.literal(c.in[k], 0); };
  c.add(c.t.where(c.x(0), part(1), part(2)));
}
void fma(TangentCall& c) {
  if (c.dx(0) != nullptr) scaled(c, 0, c.x(1));
  if (c.dx(1) != nullptr) scaled(c, 1, c.x(0));
  c.add(c.dx(2));
}
/// A conversion to an integer or bool is no path, and its operand's tangent does not get here.
void cast(TangentCall& c) { c.add(c.t.cast(c.dx(), c.out[0]->type.dtype)); }

// ---- the table

struct Row {
  OpKind kind;
  TangentRule rule;
};

constexpr Row kRows[] = {
    {OpKind::Neg, neg},
    {OpKind::Abs, unary<abs>},
    {OpKind::Sign, flat},
    {OpKind::Square, unary<squared>},
    {OpKind::Sqrt, unary<sqrt>},
    {OpKind::Rsqrt, unary<rsqrtOf>},
    {OpKind::Cbrt, unary<cbrt>},
    {OpKind::Exp, unary<exp>},
    {OpKind::Exp2, unary<exp2>},
    {OpKind::Expm1, unary<expm1>},
    {OpKind::Log, unary<log>},
    {OpKind::Log2, unary<log2>},
    {OpKind::Log10, unary<log10>},
    {OpKind::Log1p, unary<log1p>},
    {OpKind::Sin, unary<sin>},
    {OpKind::Cos, unary<cos>},
    {OpKind::Tan, unary<tan>},
    {OpKind::Asin, unary<asin>},
    {OpKind::Acos, unary<acos>},
    {OpKind::Atan, unary<atan>},
    {OpKind::Sinh, unary<sinh>},
    {OpKind::Cosh, unary<cosh>},
    {OpKind::Tanh, unary<tanh>},
    {OpKind::Asinh, unary<asinh>},
    {OpKind::Acosh, unary<acosh>},
    {OpKind::Atanh, unary<atanh>},
    {OpKind::Erf, unary<erf>},
    {OpKind::Erfc, unary<erfc>},
    {OpKind::Lgamma, unary<lgamma>},
    {OpKind::Digamma, unary<trigamma>},
    {OpKind::Floor, flat},
    {OpKind::Ceil, flat},
    {OpKind::Round, flat},
    {OpKind::Trunc, flat},
    {OpKind::Sigmoid, unary<sigmoid>},
    {OpKind::Gelu, unary<gelu>},
    {OpKind::Add, add},
    {OpKind::Sub, sub},
    {OpKind::Mul, binary<second, first>},
    {OpKind::Div, div},
    {OpKind::FloorDiv, flat},
    {OpKind::Mod, binary<remainderByFirst, modBySecond>},
    {OpKind::TruncDiv, flat},
    {OpKind::Fmod, binary<remainderByFirst, fmodBySecond>},
    {OpKind::Max, max},
    {OpKind::Min, min},
    {OpKind::Pow, binary<powByFirst, powBySecond>},
    {OpKind::Reciprocal, unary<reciprocalOf>},
    {OpKind::Atan2, binary<atan2ByFirst, atan2BySecond>},
    {OpKind::Hypot, binary<hypotByFirst, hypotBySecond>},
    {OpKind::CopySign, copySign},
    {OpKind::LogAddExp, binary<logAddExpByFirst, logAddExpBySecond>},
    {OpKind::Where, where},
    {OpKind::Fma, fma},
    {OpKind::Cast, cast},
    {OpKind::Sum, linear},
    {OpKind::Mean, linear},
    {OpKind::Prod, rules::prod},
    {OpKind::ReduceMax, rules::extremum},
    {OpKind::ReduceMin, rules::extremum},
    {OpKind::Cumulate, rules::cumulate},
    {OpKind::Softmax, rules::softmax},
    {OpKind::LogSoftmax, rules::logSoftmax},
    {OpKind::LogSumExp, rules::logSumExp},
    {OpKind::LayerNorm, rules::layerNorm},
    {OpKind::Variance, rules::variance},
    {OpKind::Reshape, linear},
    {OpKind::Permute, linear},
    {OpKind::Broadcast, linear},
    {OpKind::Slice, linear},
    {OpKind::Pad, linear},
    {OpKind::Concat, linear},
    {OpKind::Flip, linear},
    {OpKind::Fill, linear},
    {OpKind::Barrier, linear},
    {OpKind::Gather, linearInFirst},
    {OpKind::DynamicSlice, linearInFirst},
    {OpKind::UpdateSlice, update},
    {OpKind::DynamicUpdate, update},
    {OpKind::Scatter, rules::scatter},
    {OpKind::Matmul, rules::bilinear},
    {OpKind::Conv, rules::bilinear},
    {OpKind::Attention, rules::attention},
    {OpKind::Sort, rules::sort},
    {OpKind::TopK, rules::topK},
    {OpKind::Inverse, rules::inverse},
    {OpKind::Solve, rules::solve},
    {OpKind::SolveTriangular, rules::solveTriangular},
    {OpKind::Cholesky, rules::cholesky},
    {OpKind::Pivots, rules::pivots},
    {OpKind::Qr, rules::qr},
    {OpKind::Eigh, rules::eigh},
    {OpKind::Svd, rules::svd},
    {OpKind::SingularValues, rules::singularValues},
    {OpKind::Lstsq, rules::lstsq},
    {OpKind::To, linearInFirst},
    {OpKind::CheckPlace, linearInFirst},
    {OpKind::SamePlace, linearInFirst},
};

constexpr auto kByKind = [] {
  std::array<TangentRule, static_cast<size_t>(OpKind::Count)> table{};
  for (const Row& r : kRows) table[static_cast<size_t>(r.kind)] = r.rule;
  return table;
}();

constexpr bool isComplete() {
  bool complete = true;
#define TENC_OP(kind, mnemonic, minOperands, maxOperands, results, traits, rule, attrs, doc) \
  complete =                                                                                 \
      complete && contains(traits, Trait::Differentiable) == (kByKind[static_cast<size_t>(OpKind::kind)] != nullptr);
  using ir::ShapeRule;
#include "ir/Ops.def"
  return complete;
}
static_assert(isComplete(), "an op is marked Differentiable and has no rule, or has one and is not");

}  // namespace

TangentRule tangentRule(OpKind kind) { return kByKind[static_cast<size_t>(kind)]; }

}  // namespace tenc::transforms
