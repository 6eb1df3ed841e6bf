#include "interp/Tape.h"

#include <cmath>
#include <numbers>

#include "interp/Number.h"
#include "ir/Scalar.h"

namespace tenc::interp {

using ir::OpKind;

namespace {

class Adjoints {
 public:
  Adjoints(Tape& tape, int64_t begin, int64_t end)
      : tape_(tape), begin_(begin), sums_(static_cast<size_t>(end - begin)) {}
  const std::optional<Var>& of(int64_t at) const { return sums_[static_cast<size_t>(at - begin_)]; }
  /// What stands before belongs to outer differentiations.
  void add(Var to, Var share) {
    if (to.at < begin_) return;
    std::optional<Var>& sum = sums_[static_cast<size_t>(to.at - begin_)];
    sum = sum ? tape_.add(*sum, share) : share;
  }

 private:
  Tape& tape_;
  int64_t begin_;
  std::vector<std::optional<Var>> sums_;
};

/// With the derivative of the number itself.
Var roundedTo(std::optional<ir::DType> to, Var x) {
  if (to) x.v = roundTo(*to, x.v);
  return x;
}

}  // namespace

void Tape::clear() {
  nodes_.clear();
  blocks_.clear();
}

Var Tape::push(Node n) {
  nodes_.push_back(n);
  return {n.value, static_cast<int64_t>(nodes_.size()) - 1};
}

Var Tape::input(Var x) { return push({OpKind::Call, x, {}, x.v, -1}); }

Var Tape::record(OpKind kind, Var a, Var b, double value) {
  if (!a.traced() && !b.traced()) return {value, Var::kNone};
  return push({kind, a, b, value, -1});
}

Var Tape::apply(OpKind kind, Var a, Var b) {
  const Number args[2] = {{a.v, 0}, {b.v, 0}};
  Fault fault = Fault::None;
  const auto count = static_cast<size_t>(ir::opInfo(kind).maxOperands);
  const Number y = interp::apply(kind, ir::DType::F64, ir::DType::F64, std::span(args, count), fault);
  return record(kind, a, b, y.f);
}

Var Tape::rounding(Var x, ir::DType to, bool back) {
  if (!x.traced()) return x;
  Node n{OpKind::Call, x, {}, x.v};
  (back ? n.roundsBack : n.roundsAhead) = to;
  return push(n);
}

std::vector<Var> Tape::ruled(const std::vector<Var>& values, std::vector<Var> operands, Pull pull) {
  const auto block = static_cast<int32_t>(blocks_.size());
  blocks_.push_back({static_cast<int64_t>(nodes_.size()), static_cast<int64_t>(values.size()), level_,
                     std::move(operands), std::move(pull)});
  std::vector<Var> made;
  for (const Var& v : values) made.push_back(push({OpKind::Call, v, {}, v.v, block}));
  return made;
}

std::optional<std::vector<Var>> Tape::reverse(int64_t begin, size_t inputs,
                                              const std::vector<std::pair<int64_t, Var>>& results) {
  const auto end = static_cast<int64_t>(nodes_.size());
  Adjoints adjoints(*this, begin, end);
  for (const auto& [at, cotangent] : results) adjoints.add({0, at}, cotangent);
  const int64_t first = begin + static_cast<int64_t>(inputs);
  for (int64_t i = end - 1; i >= first; --i) {
    const Node n = nodes_[static_cast<size_t>(i)];
    // The rule is of the innermost differentiation around the call; the others go through what the call computes.
    if (n.block >= 0 && blocks_[static_cast<size_t>(n.block)].level == level_ + 1) {
      const Block block = blocks_[static_cast<size_t>(n.block)];
      if (i != block.first) continue;
      std::vector<Var> cotangents;
      bool any = false;
      for (int64_t k = 0; k < block.count; ++k) {
        any = any || adjoints.of(i + k);
        cotangents.push_back(adjoints.of(i + k).value_or(Var{}));
      }
      if (!any) continue;
      ++sweeps_;
      const auto shares = block.pull(cotangents);
      --sweeps_;
      if (!shares) return std::nullopt;
      for (size_t k = 0; k < block.operands.size(); ++k) adjoints.add(block.operands[k], (*shares)[k]);
      continue;
    }
    const std::optional<Var> own = adjoints.of(i);
    if (!own) continue;
    for (int k = 0; k < 2; ++k) {
      const Var& operand = k == 0 ? n.a : n.b;
      if (operand.at < begin) continue;
      if (n.kind == OpKind::Call)
        adjoints.add(operand, roundedTo(n.roundsBack, *own));
      else if (const auto p = partial(i, k))
        adjoints.add(operand, mul(*p, *own));
    }
  }
  std::vector<Var> found;
  for (size_t i = 0; i < inputs; ++i) found.push_back(adjoints.of(begin + static_cast<int64_t>(i)).value_or(Var{}));
  return found;
}

std::vector<Var> Tape::forward(int64_t begin, const std::vector<Var>& inputs, const std::vector<int64_t>& results) {
  const auto end = static_cast<int64_t>(nodes_.size());
  std::vector<std::optional<Var>> tangents(static_cast<size_t>(end - begin));
  for (size_t i = 0; i < inputs.size(); ++i) tangents[i] = inputs[i];
  for (auto i = begin + static_cast<int64_t>(inputs.size()); i < end; ++i) {
    const Node n = nodes_[static_cast<size_t>(i)];
    std::optional<Var>& own = tangents[static_cast<size_t>(i - begin)];
    for (int k = 0; k < 2; ++k) {
      const Var& operand = k == 0 ? n.a : n.b;
      if (operand.at < begin) continue;
      const std::optional<Var> tangent = tangents[static_cast<size_t>(operand.at - begin)];
      if (!tangent) continue;
      std::optional<Var> share = roundedTo(n.roundsAhead, *tangent);
      if (n.kind != OpKind::Call) {
        const auto p = partial(i, k);
        share = p ? std::optional(mul(*p, *tangent)) : std::nullopt;
      }
      if (share) own = own ? add(*own, *share) : *share;
    }
  }
  std::vector<Var> found;
  for (const int64_t at : results)
    found.push_back(at < begin ? Var{} : tangents[static_cast<size_t>(at - begin)].value_or(Var{}));
  return found;
}

// ---- rules

std::optional<Var> Tape::partial(int64_t at, int operand) {
  const Node n = nodes_[static_cast<size_t>(at)];
  const Var y{n.value, at};
  if (ir::opInfo(n.kind).maxOperands == 1) return partialOfOne(n.kind, n.a, y);
  return partialOfTwo(n.kind, operand, n.a, n.b, y);
}

/// d/dx digamma(x) for x > 0: the recurrence up to 12, then the asymptotic series (Abramowitz and
/// Stegun 6.4.6, 6.4.12).
Var Tape::trigamma(Var x) {
  Var sum;
  for (; x.v < 12; x = add(x, {1})) sum = add(sum, div({1}, mul(x, x)));
  const Var inverse = div({1}, x), square = mul(inverse, inverse);
  Var power = mul(inverse, square);
  sum = add(sum, add(inverse, mul({0.5}, square)));
  for (const double b : {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730}) {
    sum = add(sum, mul({b}, power));
    power = mul(power, square);
  }
  return sum;
}

std::optional<Var> Tape::partialOfOne(OpKind kind, Var a, Var y) {
  const Var one{1};
  const auto rootOf = [&](Var x) { return apply(OpKind::Sqrt, x); };
  switch (kind) {
    case OpKind::Neg: return Var{-1};
    case OpKind::Abs: return Var{a.v > 0 ? 1.0 : a.v < 0 ? -1.0 : 0.0};
    case OpKind::Square: return mul({2}, a);
    case OpKind::Sqrt: return div({0.5}, y);
    case OpKind::Rsqrt: return mul({-0.5}, div(y, a));
    case OpKind::Reciprocal: return mul({-1}, mul(y, y));
    case OpKind::Cbrt: return div(one, mul({3}, mul(y, y)));
    case OpKind::Exp: return y;
    case OpKind::Exp2: return mul({std::numbers::ln2}, y);
    case OpKind::Expm1: return add(y, one);
    case OpKind::Log: return div(one, a);
    case OpKind::Log2: return div({1 / std::numbers::ln2}, a);
    case OpKind::Log10: return div({1 / std::numbers::ln10}, a);
    case OpKind::Log1p: return div(one, add(one, a));
    case OpKind::Sin: return apply(OpKind::Cos, a);
    case OpKind::Cos: return mul({-1}, apply(OpKind::Sin, a));
    case OpKind::Tan: return add(one, mul(y, y));
    case OpKind::Asin: return div(one, rootOf(sub(one, mul(a, a))));
    case OpKind::Acos: return div({-1}, rootOf(sub(one, mul(a, a))));
    case OpKind::Atan: return div(one, add(one, mul(a, a)));
    case OpKind::Sinh: return apply(OpKind::Cosh, a);
    case OpKind::Cosh: return apply(OpKind::Sinh, a);
    case OpKind::Tanh: return sub(one, mul(y, y));
    case OpKind::Asinh: return div(one, rootOf(add(mul(a, a), one)));
    case OpKind::Acosh: return div(one, rootOf(sub(mul(a, a), one)));
    case OpKind::Atanh: return div(one, sub(one, mul(a, a)));
    case OpKind::Erf: return mul({2 * std::numbers::inv_sqrtpi}, apply(OpKind::Exp, mul({-1}, mul(a, a))));
    case OpKind::Erfc: return mul({-2 * std::numbers::inv_sqrtpi}, apply(OpKind::Exp, mul({-1}, mul(a, a))));
    case OpKind::Lgamma: return apply(OpKind::Digamma, a);
    case OpKind::Digamma: return trigamma(a);
    case OpKind::Sigmoid: return mul(y, sub(one, y));
    default: return std::nullopt;  // steps
  }
}

std::optional<Var> Tape::partialOfTwo(OpKind kind, int operand, Var a, Var b, Var y) {
  const bool first = operand == 0;
  switch (kind) {
    case OpKind::Add: return Var{1};
    case OpKind::Sub: return Var{first ? 1.0 : -1.0};
    case OpKind::Mul: return first ? b : a;
    case OpKind::Div: return first ? div({1}, b) : mul({-1}, div(y, b));
    case OpKind::Mod: return first ? Var{1} : Var{-ir::floorQuotient(a.v, b.v)};
    case OpKind::Fmod: return first ? Var{1} : Var{-std::trunc(a.v / b.v)};
    case OpKind::Pow:
      if (first) {
        if (b.v == 0 && !b.traced()) return std::nullopt;
        return mul(b, apply(OpKind::Pow, a, sub(b, {1})));
      }
      if (a.v == 0 && b.v >= 0) return std::nullopt;
      return mul(y, apply(OpKind::Log, a));
    case OpKind::Atan2: {
      const Var square = add(mul(a, a), mul(b, b));
      return first ? div(b, square) : mul({-1}, div(a, square));
    }
    case OpKind::Hypot:
      if (y.v == 0) return std::nullopt;
      return div(first ? a : b, y);
    case OpKind::CopySign:
      if (!first) return std::nullopt;
      return Var{a.v == 0 ? 0.0 : std::signbit(a.v) == std::signbit(b.v) ? 1.0 : -1.0};
    case OpKind::LogAddExp: return apply(OpKind::Sigmoid, first ? sub(a, b) : sub(b, a));
    default: return std::nullopt;  // steps
  }
}

}  // namespace tenc::interp
