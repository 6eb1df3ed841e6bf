// Elementwise built-ins: single ops, compositions, selection, conversion of bits.
#include <algorithm>
#include <cmath>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/expressions/Elementwise.h"
#include "frontend/expressions/Operators.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Literals.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

using ir::DType;
using ir::OpKind;

std::optional<Val> foldElementwise(OpKind op, const std::vector<Val>& operands, Span span) {
  for (const Val& v : operands) {
    if (!v.isNumber() || (v.is(Val::Kind::Float) && !v.adopts)) return std::nullopt;
  }
  bool adopts = std::all_of(operands.begin(), operands.end(), [](const Val& v) { return v.adopts; });
  bool integers = std::all_of(operands.begin(), operands.end(), [](const Val& v) { return v.is(Val::Kind::Int); });
  if (integers && !std::all_of(operands.begin(), operands.end(), [](const Val& v) { return v.foldsExactly(); }))
    return std::nullopt;
  if (integers) {
    const bool dim = std::any_of(operands.begin(), operands.end(), [](const Val& v) { return v.dim; });
    auto whole = [&](Int v) {
      Val r = Val::ofInt(v, span, adopts);
      r.dim = dim;
      if (adopts) r.dtype = dtypeAlone(operands);
      return r;
    };
    Int a = operands[0].integer, b = operands.size() > 1 ? operands[1].integer : 0;
    switch (op) {
      case OpKind::Abs: return whole(a < 0 ? -a : a);
      case OpKind::Sign: return whole(a < 0 ? -1 : a > 0);
      case OpKind::Floor:
      case OpKind::Ceil:
      case OpKind::Round:
      case OpKind::Trunc: return whole(a);
      case OpKind::Max: return whole(std::max(a, b));
      case OpKind::Min: return whole(std::min(a, b));
      default: break;
    }
  }
  if (!adopts) return std::nullopt;
  auto real = [&](size_t i) {
    return operands[i].is(Val::Kind::Int) ? static_cast<double>(operands[i].integer) : operands[i].real;
  };
  auto number = [&](double v) {
    Val r = Val::ofFloat(v, span);
    const DType alone = dtypeAlone(operands);
    if (ir::isFloat(alone)) r.dtype = alone;
    return r;
  };
  double x = real(0);
  switch (op) {
    case OpKind::Abs: return number(std::fabs(x));
    case OpKind::Sqrt: return number(std::sqrt(x));
    case OpKind::Rsqrt: return number(1 / std::sqrt(x));
    case OpKind::Exp: return number(std::exp(x));
    case OpKind::Exp2: return number(std::exp2(x));
    case OpKind::Log: return number(std::log(x));
    case OpKind::Log2: return number(std::log2(x));
    case OpKind::Log10: return number(std::log10(x));
    case OpKind::Sin: return number(std::sin(x));
    case OpKind::Cos: return number(std::cos(x));
    case OpKind::Tan: return number(std::tan(x));
    case OpKind::Tanh: return number(std::tanh(x));
    case OpKind::Floor: return number(std::floor(x));
    case OpKind::Ceil: return number(std::ceil(x));
    case OpKind::Round: return number(std::nearbyint(x));
    case OpKind::Trunc: return number(std::trunc(x));
    case OpKind::Max:
    case OpKind::Min: {
      // NaN if either is, -0 below +0.
      const double y = real(1);
      if (std::isnan(x) || std::isnan(y)) return number(std::isnan(x) ? x : y);
      const bool less = x == y ? std::signbit(x) : x < y;
      return number(less == (op == OpKind::Max) ? y : x);
    }
    default: return std::nullopt;
  }
}

namespace {

/// The arguments; literals alone are of the dtype that is declared for the result.
std::vector<Val> declared(BuiltinCall& k, std::initializer_list<std::string_view> names, bool always = false) {
  std::vector<Val> operands;
  for (const std::string_view name : names) operands.push_back(k[name]);
  k.tensors.adoptDeclared(operands, k.expected, always);
  return operands;
}

Val unary(BuiltinCall& k) {
  if (auto folded = foldElementwise(k.row.op, {k["x"]}, k.span)) return *folded;
  return k.elementwise.elementwise(k.row.op, declared(k, {"x"}), k.span, k.row.name);
}

Val two(BuiltinCall& k) {
  if (auto folded = foldElementwise(k.row.op, {k["a"], k["b"]}, k.span)) return *folded;
  return k.elementwise.elementwise(k.row.op, declared(k, {"a", "b"}), k.span, k.row.name);
}

/// Of numbers whether they are not 0, as NumPy has it; NaN is not 0.
Val logical(BuiltinCall& k) {
  std::vector<Val> operands;
  for (const std::string_view name : {"x", "a", "b"}) {
    if (!k.has(name)) continue;
    const Val& given = k[name];
    const auto dtype = given.isTree() ? std::nullopt : ownDType(given);
    ir::Value* x = dtype && *dtype != DType::Bool ? k.tensor(name) : nullptr;
    operands.push_back(x ? Val::ofTensor(k.c.binary(OpKind::Ne, x, 0.0), given.span) : given);
  }
  return k.elementwise.elementwise(k.row.op, operands, k.span, k.row.name);
}

Val three(BuiltinCall& k) {
  return k.elementwise.elementwise(k.row.op, declared(k, {"a", "b", "c"}), k.span, k.row.name);
}

/// Of bools the one bit there is, as the array API standard has it.
Val invertBits(BuiltinCall& k) {
  return k.elementwise.elementwiseBy({k["x"]}, k.span, k.row.name, [&](const std::vector<ir::Value*>& v) {
    const bool bools = v[0]->type.dtype == DType::Bool;
    if (!bools && !ir::isInt(v[0]->type.dtype)) {
      return k.fail(Code::E0201, "`bitwise_invert` takes integers and bools, not " + ir::toString(v[0]->type));
    }
    return k.result(k.c.b.value(bools ? OpKind::Not : OpKind::BitNot, {v[0]}));
  });
}

Val power(BuiltinCall& k) { return k.operators.binary("**", k["a"], k["b"], k.span, k.span); }

/// A composition on every leaf of its only operand.
template <class F>
Val composed(BuiltinCall& k, bool floatsOnly, F f) {
  return k.elementwise.elementwiseBy(declared(k, {"x"}), k.span, k.row.name, [&](const std::vector<ir::Value*>& v) {
    if (floatsOnly && !k.checkFloat(v[0])) return k.lost();
    ir::Value* made = f(v[0]);
    return made ? k.result(made) : k.lost();
  });
}

/// isnan, isinf, isfinite: of integers and bools the answer is known, as the array API standard has it.
template <OpKind Op>
Val classified(BuiltinCall& k) {
  if (auto folded = foldElementwise(Op, {k["x"]}, k.span)) return *folded;
  return k.elementwise.elementwiseBy(declared(k, {"x"}), k.span, k.row.name, [&](const std::vector<ir::Value*>& v) {
    if (ir::isFloat(v[0]->type.dtype)) return k.result(k.c.b.value(Op, {v[0]}));
    return k.result(k.c.binary(Op == OpKind::IsFinite ? OpKind::Eq : OpKind::Ne, v[0], v[0]));
  });
}

Val relu(BuiltinCall& k) {
  return k.elementwise.elementwiseBy({k["x"]}, k.span, k.row.name, [&](const std::vector<ir::Value*>& v) {
    if (v[0]->type.dtype == DType::Bool) return k.fail(Code::E0201, "`relu` takes numbers, not bool");
    return k.result(k.c.relu(v[0]));
  });
}

/// What `f` makes of `x`, in f32 where x is of 16 bits: rounded once, as a function that is one operation is.
template <typename F>
ir::Value* inWideFloats(ir::Compose& c, ir::Value* x, const F& f) {
  const ir::DType t = x->type.dtype;
  return ir::byteSize(t) == 2 ? c.cast(f(c.cast(x, ir::DType::F32)), t) : f(x);
}

template <ir::Value* (ir::Compose::*F)(ir::Value*)>
Val activation(BuiltinCall& k) {
  return composed(k, true,
                  [&](ir::Value* x) { return inWideFloats(k.c, x, [&](ir::Value* wide) { return (k.c.*F)(wide); }); });
}

/// An activation with one parameter, a number or a rank-0 tensor.
template <ir::Value* (ir::Compose::*F)(ir::Value*, ir::Value*)>
Val activationWith(BuiltinCall& k, std::string_view name) {
  const Val parameter = k.value(name);
  return composed(k, true, [&](ir::Value* x) -> ir::Value* {
    // A literal is of the dtype that is computed in.
    const bool narrow = ir::byteSize(x->type.dtype) == 2 && parameter.isNumber();
    ir::Value* p = k.tensors.tensorOf(parameter, narrow ? ir::DType::F32 : x->type.dtype);
    if (p && p->type.rank() == 0 && (narrow || p->type.dtype == x->type.dtype)) {
      return inWideFloats(k.c, x, [&](ir::Value* wide) { return (k.c.*F)(wide, k.c.cast(p, wide->type.dtype)); });
    }
    if (p)
      k.context.error(Code::E0203, parameter.span,
                      "`" + std::string(name) + "` must be one float, not " + ir::toString(p->type));
    return nullptr;
  });
}

Val elu(BuiltinCall& k) { return activationWith<&ir::Compose::elu>(k, "alpha"); }
Val celu(BuiltinCall& k) { return activationWith<&ir::Compose::celu>(k, "alpha"); }
Val leakyRelu(BuiltinCall& k) { return activationWith<&ir::Compose::leakyRelu>(k, "slope"); }

Val gelu(BuiltinCall& k) {
  auto form = k.string("approximate");
  if (!form) return k.lost();
  if (*form != "none" && *form != "tanh")
    return k.failAt("approximate", Code::E0204, "`approximate` is \"none\" or \"tanh\"");
  return composed(k, true, [&](ir::Value* x) { return k.c.b.value(OpKind::Gelu, {x}, {{"tanh", *form == "tanh"}}); });
}

/// The dtype that an array of literals has alone.
std::optional<DType> typeOf(BuiltinCall& k, const Val& array) {
  const Val v = k.tensors.settle(array);
  return v.is(Val::Kind::Tensor) ? std::optional(v.tensor->type.dtype) : std::nullopt;
}

/// An infinite bound of integers is their least or largest number.
Val boundFor(BuiltinCall& k, std::string_view name) {
  const Val& bound = k[name];
  const bool infinite = bound.is(Val::Kind::Float) && bound.adopts && std::isinf(bound.real);
  std::optional<DType> t;
  for (const Val* v : {&k["x"], &k["lo"], &k["hi"]}) {
    if (v->is(Val::Kind::Tensor)) t = t && ir::isFloat(*t) ? t : v->tensor->type.dtype;
    if (v->is(Val::Kind::Array)) t = t ? t : typeOf(k, *v);
  }
  if (!infinite || !t || !ir::isInt(*t)) return bound;
  return Val::ofInt(saturated(bound.real, *t), bound.span);
}

Val clamp(BuiltinCall& k) {
  return k.elementwise.elementwiseBy({k["x"], boundFor(k, "lo"), boundFor(k, "hi")}, k.span, k.row.name,
                                     [&](const std::vector<ir::Value*>& v) {
                                       if (v[0]->type.dtype == DType::Bool)
                                         return k.fail(Code::E0201, "`clamp` takes numbers, not bool");
                                       return k.result(k.c.clamp(v[0], v[1], v[2]));
                                     });
}

/// From the nearer end, as PyTorch does it: lerp(a, b, 0) is a and lerp(a, b, 1) is b where b - a is finite.
Val lerp(BuiltinCall& k) {
  return k.elementwise.elementwiseBy(
      {k["a"], k["b"], k["t"]}, k.span, k.row.name, [&](const std::vector<ir::Value*>& v) {
        if (!k.checkFloat(v[0])) return k.lost();
        ir::Compose& c = k.c;
        // Numbers stay numbers: what is computed of them alone has no place of its own.
        ir::Value *a = c.withoutShape(v[0]), *b = c.withoutShape(v[1]), *t = c.withoutShape(v[2]), *far = c.sub(b, a);
        ir::Value* fromA = c.add(a, c.mul(t, far));
        ir::Value* fromB = c.sub(b, c.mul(far, c.sub(c.literal(t, 1), t)));
        ir::Value* nearer = c.where(c.binary(OpKind::Lt, c.unary(OpKind::Abs, t), 0.5), fromA, fromB);
        return k.result(c.broadcastTo(nearer, v[0]->type.shape));
      });
}

/// where(c, a, b) on trees: every leaf, `state` ones and integers too; a rank-0 operand goes to every leaf. A condition
/// that is a tree, as comparisons of trees make it, is no condition where its leaf is no bool: there `a` stays.
Val selectLeaves(BuiltinCall& k, const Val& c, const Val& a, const Val& b) {
  const Val* tree = nullptr;
  for (const Val* v : {&c, &b, &a}) {
    if (!v->isTree()) continue;
    if (tree && !sameStructure(*tree, *v)) {
      return k.fail(Code::E0203,
                    "`where` takes two trees of one structure, not " + describe(*v) + " and " + describe(*tree));
    }
    tree = v;
  }
  if (tree) {
    Val r = *tree;
    auto part = [](const Val& v, size_t i) { return v.isTree() ? v.elems[i] : v; };
    for (size_t i = 0; i < r.elems.size(); ++i) {
      r.elems.edit()[i] = selectLeaves(k, part(c, i), part(a, i), part(b, i));
      if (r.elems[i].poison()) return r.elems[i];
    }
    return r;
  }
  // A function among layers is in both.
  if (a.is(Val::Kind::Function) && b.is(Val::Kind::Function) && k["a"].isTree()) return b;
  ir::Value* condition = k.tensors.tensorOf(c);
  if (!condition) return k.lost();
  if (condition->type.dtype != DType::Bool) {
    if (k["c"].isTree()) return a;
    auto d = k.context.error(Code::E0201, k.span,
                             "the condition of `where` must be bool, not " + ir::toString(condition->type));
    if (a.is(Val::Kind::Tensor) && a.tensor->type.dtype == DType::Bool)
      d.help("the condition comes first, `where(c, a, b)`, also with a method: `c.where(a, b)`");
    return d;
  }
  return k.elementwise.elementwise(OpKind::Where, {Val::ofTensor(condition, k["c"].span), a, b}, k.span, "where");
}

Val where(BuiltinCall& k) {
  const Val& c = k["c"];
  if (c.poison() || k["a"].poison() || k["b"].poison()) return k.lost();
  const std::vector<Val> choices = declared(k, {"a", "b"}, true);
  return selectLeaves(k, c, choices[0], choices[1]);
}

Val bitcast(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto t = k.evaluator.constDType(k["dtype"], "`dtype`");
  if (!x || !t) return k.lost();
  if (*t == DType::Bool || x->type.dtype == DType::Bool || ir::byteSize(*t) != ir::byteSize(x->type.dtype)) {
    return k.fail(Code::E0201, "`bitcast` needs dtypes of the same width, not " + std::string(ir::name(x->type.dtype)) +
                                   " and " + std::string(ir::name(*t)));
  }
  return k.elementwise.make(OpKind::Bitcast, {x}, {{"dtype", *t}}, k.span);
}

constexpr BuiltinRow kRows[] = {
    {"abs(x)", "Absolute value; the smallest integer wraps to itself.", unary, OpKind::Abs},
    {"sign(x)", "-1, 0 or 1; NaN for NaN.", unary, OpKind::Sign},
    {"sqrt(x)", "Square root.", unary, OpKind::Sqrt},
    {"rsqrt(x)", "1 / sqrt(x).", unary, OpKind::Rsqrt},
    {"square(x)", "x * x.", unary, OpKind::Square},
    {"cbrt(x)", "Cube root.", unary, OpKind::Cbrt},
    {"exp(x)", "e to the x.", unary, OpKind::Exp},
    {"exp2(x)", "2 to the x.", unary, OpKind::Exp2},
    {"expm1(x)", "exp(x) - 1, accurate near 0.", unary, OpKind::Expm1},
    {"log(x)", "Natural logarithm.", unary, OpKind::Log},
    {"log2(x)", "Logarithm to base 2.", unary, OpKind::Log2},
    {"log10(x)", "Logarithm to base 10.", unary, OpKind::Log10},
    {"log1p(x)", "log(1 + x), accurate near 0.", unary, OpKind::Log1p},
    {"sin(x)", "Sine of radians.", unary, OpKind::Sin},
    {"cos(x)", "Cosine of radians.", unary, OpKind::Cos},
    {"tan(x)", "Tangent of radians.", unary, OpKind::Tan},
    {"asin(x)", "Inverse sine.", unary, OpKind::Asin},
    {"acos(x)", "Inverse cosine.", unary, OpKind::Acos},
    {"atan(x)", "Inverse tangent.", unary, OpKind::Atan},
    {"sinh(x)", "Hyperbolic sine.", unary, OpKind::Sinh},
    {"cosh(x)", "Hyperbolic cosine.", unary, OpKind::Cosh},
    {"tanh(x)", "Hyperbolic tangent.", unary, OpKind::Tanh},
    {"asinh(x)", "Inverse hyperbolic sine.", unary, OpKind::Asinh},
    {"acosh(x)", "Inverse hyperbolic cosine.", unary, OpKind::Acosh},
    {"atanh(x)", "Inverse hyperbolic tangent.", unary, OpKind::Atanh},
    {"floor(x)", "Rounded toward minus infinity; integers unchanged.", unary, OpKind::Floor},
    {"ceil(x)", "Rounded toward plus infinity; integers unchanged.", unary, OpKind::Ceil},
    {"round(x)", "Rounded to nearest, half to even; integers unchanged.", unary, OpKind::Round},
    {"trunc(x)", "Rounded toward zero; integers unchanged.", unary, OpKind::Trunc},
    {"reciprocal(x)", "1 / x.", unary, OpKind::Reciprocal},
    {"isnan(x)", "Whether an element is NaN; no integer is.", classified<OpKind::IsNan>},
    {"isinf(x)", "Whether an element is infinite; no integer is.", classified<OpKind::IsInf>},
    {"isfinite(x)", "Whether an element is neither infinite nor NaN, as every integer is.",
     classified<OpKind::IsFinite>},
    {"erf(x)", "Error function.", unary, OpKind::Erf},
    {"erfc(x)", "1 - erf(x).", unary, OpKind::Erfc},
    {"lgamma(x)", "Logarithm of |gamma(x)|.", unary, OpKind::Lgamma},
    {"digamma(x)", "Derivative of lgamma.", unary, OpKind::Digamma},
    {"sigmoid(x)", "1 / (1 + exp(-x)).", unary, OpKind::Sigmoid},
    {"bitwise_invert(x)", "All bits of an integer inverted; of bools their negation.", invertBits, OpKind::BitNot},
    {"logical_not(x)", "Negation; a number counts as true where it is not 0.", logical, OpKind::Not},
    {"popcount(x)", "Number of bits set in an integer.", unary, OpKind::Popcount},
    {"relu(x)", "max(x, 0).", relu},
    {"softplus(x)", "log(1 + exp(x)).", activation<&ir::Compose::softplus>},
    {"silu(x)", "x * sigmoid(x).", activation<&ir::Compose::silu>},
    {"mish(x)", "x * tanh(softplus(x)).", activation<&ir::Compose::mish>},
    {"hardswish(x)", "x * hardsigmoid(x).", activation<&ir::Compose::hardSwish>},
    {"hardsigmoid(x)", "(x + 3) / 6, clamped to [0, 1].", activation<&ir::Compose::hardSigmoid>},
    {"hardtanh(x)", "x clamped to [-1, 1].", activation<&ir::Compose::hardTanh>},
    {"elu(x; alpha: any = 1.0)", "x where positive, else alpha * (exp(x) - 1).", elu},
    {"selu(x)", "Scaled elu (Klambauer et al. 2017).", activation<&ir::Compose::selu>},
    {"celu(x; alpha: any = 1.0)", "x where positive, else alpha * (exp(x / alpha) - 1).", celu},
    {"leaky_relu(x; slope: any = 0.01)", "x where positive, else slope * x.", leakyRelu},
    {"gelu(x; approximate: \"none\")", "x times the normal distribution function of x; or its \"tanh\" form.", gelu},
    {"softsign(x)", "x / (1 + |x|).", activation<&ir::Compose::softsign>},
    {"maximum(a, b)", "The larger, element by element; NaN when either is NaN.", two, OpKind::Max},
    {"minimum(a, b)", "The smaller, element by element; NaN when either is NaN.", two, OpKind::Min},
    {"pow(a, b)", "a to the b, as `a ** b`.", power},
    {"atan2(a, b)", "Angle of the point (b, a).", two, OpKind::Atan2},
    {"hypot(a, b)", "sqrt(a * a + b * b) without overflow.", two, OpKind::Hypot},
    {"fmod(a, b)", "Remainder with the sign of a.", two, OpKind::Fmod},
    {"trunc_div(a, b)", "Quotient rounded toward zero.", two, OpKind::TruncDiv},
    {"copysign(a, b)", "|a| with the sign of b.", two, OpKind::CopySign},
    {"nextafter(a, b)", "The next float from a toward b.", two, OpKind::NextAfter},
    {"logaddexp(a, b)", "log(exp(a) + exp(b)).", two, OpKind::LogAddExp},
    {"logical_and(a, b)", "Both; a number counts as true where it is not 0.", logical, OpKind::And},
    {"logical_or(a, b)", "Either; a number counts as true where it is not 0.", logical, OpKind::Or},
    {"logical_xor(a, b)", "Exactly one; a number counts as true where it is not 0.", logical, OpKind::Xor},
    {"bitwise_and(a, b)", "Bits set in both.", two, OpKind::BitAnd},
    {"bitwise_or(a, b)", "Bits set in either.", two, OpKind::BitOr},
    {"bitwise_xor(a, b)", "Bits set in exactly one.", two, OpKind::BitXor},
    {"bitwise_left_shift(a, b)", "a shifted left by b bits.", two, OpKind::Shl},
    {"bitwise_right_shift(a, b)", "a shifted right by b bits, with sign.", two, OpKind::Shr},
    {"where(c, a, b)", "a where the bool c is true, else b; also of trees.", where},
    {"clamp(x, lo, hi)", "x between lo and hi; hi where lo > hi.", clamp},
    {"lerp(a, b, t)", "a + t * (b - a), exact at both ends.", lerp},
    {"fma(a, b, c)", "a * b + c, rounded once.", three, OpKind::Fma},
    {"bitcast(x; dtype: dtype)", "The same bits as another dtype of the same width.", bitcast},
};

}  // namespace

std::span<const BuiltinRow> elementwiseBuiltins() { return kRows; }

}  // namespace tenc::frontend
