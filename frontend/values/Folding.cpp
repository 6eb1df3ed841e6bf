// Arithmetic and comparisons of compile-time values, done exactly.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "frontend/Context.h"
#include "frontend/habits/Idioms.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Literals.h"
#include "frontend/values/Numbers.h"
#include "ir/Scalar.h"

namespace tenc::frontend {

namespace {
using ir::OpKind;

constexpr Int kLeast = std::numeric_limits<int64_t>::min();

constexpr Int kMost = std::numeric_limits<uint64_t>::max();  // literals up to u64 may still adopt u64

Int floorDivide(Int a, Int b) {
  Int q = a / b;
  if ((a % b != 0) && ((a < 0) != (b < 0))) --q;
  return q;
}

std::optional<Int> power(Int base, Int exponent) {
  Int r = 1;
  for (Int i = 0; i < exponent; ++i) {
    r *= base;
    if (r > kMost || r < kLeast) return std::nullopt;
    if (r == 0 || (base == 1)) break;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  }
  return r;
}

Int floorQuotient(Int a, Int b) { return floorDivide(a, b); }
double floorQuotient(double a, double b) { return ir::floorQuotient(a, b); }
Int floorMod(Int a, Int b) { return a - floorDivide(a, b) * b; }
double floorMod(double a, double b) { return ir::floorMod(a, b); }

template <typename T>
std::optional<bool> compared(OpKind kind, T a, T b) {
  switch (kind) {
    case OpKind::Eq: return a == b;
    case OpKind::Ne: return a != b;
    case OpKind::Lt: return a < b;
    case OpKind::Le: return a <= b;
    case OpKind::Gt: return a > b;
    case OpKind::Ge: return a >= b;
    default: return std::nullopt;
  }
}

/// What integers and floats have in common; an integer is not divided by 0.
template <typename T>
std::optional<T> computed(OpKind kind, T a, T b) {
  switch (kind) {
    case OpKind::Add: return a + b;
    case OpKind::Sub: return a - b;
    case OpKind::Mul: return a * b;
    case OpKind::FloorDiv: return floorQuotient(a, b);
    case OpKind::Mod: return floorMod(a, b);
    default: return std::nullopt;
  }
}
}  // namespace

std::optional<Val> Evaluator::foldNumbers(std::string_view op, const Val& a, const Val& b, Span span) {
  const bool adopts = a.adopts && b.adopts;
  const std::optional<OpKind> kind = operatorNamed(op);
  if (!kind) return std::nullopt;
  if (a.is(Val::Kind::Int) && b.is(Val::Kind::Int)) {
    const Int x = a.integer, y = b.integer;
    const Val* typed = !a.adopts ? &a : !b.adopts ? &b : nullptr;
    if (typed) {  // what does not fit the typed one, or is of another type, is for the caller to refuse
      const Val& other = typed == &a ? b : a;
      if (other.adopts ? fitted(other.integer, typed->dtype) != other.integer : other.dtype != typed->dtype) {
        return std::nullopt;
      }
    }
    if (auto c = compared(*kind, x, y)) return Val::ofBool(*c, span);
    const bool divides = kind == OpKind::FloorDiv || kind == OpKind::Mod;
    if (divides && y == 0) return context_.fail(Code::E0212, span, "integer division by zero");
    if (kind == OpKind::Div)
      return Val(context_.error(Code::E0201, span, "`/` needs floats, but both operands are integers")
                     .help("`/` divides floats: `7.0 / 2.0`", dividedAsFloats(context_.sources, a, b))
                     .help("`//` divides integers, rounding down"));
    if (kind == OpKind::Pow && y < 0)
      return Val(context_.error(Code::E0212, span, "an integer to a negative power is not an integer")
                     .help("write it as a float", negativePower(context_.sources, a)));
    const std::optional<Int> result = kind == OpKind::Pow ? power(x, y) : computed(*kind, x, y);
    if (!result && kind == OpKind::Pow && !typed)
      return context_.fail(Code::E0212, span, "the result does not fit in i64");
    if (!result) return std::nullopt;  // a power of a typed number is computed when it runs, wrapping
    const Int r = *result;
    if (typed) {  // wraps, as at run time
      Val v = Val::ofInt(fitted(r, typed->dtype), span, false);
      v.dtype = typed->dtype;
      return v;
    }
    const ir::DType type = dtypeAlone({a, b});
    // Literals up to u64 may still adopt that.
    const bool held = type == ir::DType::I64 ? r >= kLeast && r <= kMost : fits(r, type);
    if (!held) return context_.fail(Code::E0212, span, toString(r) + " does not fit in " + std::string(ir::name(type)));
    Val v = Val::ofInt(r, span);
    v.dtype = type;
    v.dim = a.dim || b.dim;
    return v;
  }
  // A typed operand decides: i64 with a typed f32 is for the caller to refuse.
  ir::DType type = ir::DType::F32;
  const Val* typed = !a.adopts ? &a : !b.adopts ? &b : nullptr;
  if (typed) {
    if (typed->is(Val::Kind::Int)) return std::nullopt;
    if (!a.adopts && !b.adopts && a.dtype != b.dtype) return std::nullopt;
    type = typed->dtype;
  } else {
    type = dtypeAlone({a, b});
  }
  // What adopts the dtype of a typed operand is rounded to it first, as at run time.
  const double x = typed ? rounded(asDouble(a), type) : asDouble(a);
  const double y = typed ? rounded(asDouble(b), type) : asDouble(b);
  if (auto c = compared(*kind, x, y)) return Val::ofBool(*c, span);
  const std::optional<double> result = kind == OpKind::Div   ? x / y
                                       : kind == OpKind::Pow ? std::pow(x, y)
                                                             : computed(*kind, x, y);
  if (!result) return std::nullopt;
  const double r = *result;
  Val v = Val::ofFloat(adopts ? r : rounded(r, type), span, adopts);
  v.dtype = type;
  return v;
}

Val Evaluator::compareStatic(std::string_view op, const Val& a, const Val& b, Span span) {
  const bool equality = op == "==" || op == "!=";
  std::optional<bool> same;
  if (a.is(Val::Kind::String) && b.is(Val::Kind::String)) same = a.text == b.text;
  if (auto x = a.is(Val::Kind::DType), y = b.is(Val::Kind::DType); x && y) same = a.dtype == b.dtype;
  if (a.is(Val::Kind::Bool) && b.is(Val::Kind::Bool)) {
    if (op == "and") return Val::ofBool(a.boolean && b.boolean, span);
    if (op == "or") return Val::ofBool(a.boolean || b.boolean, span);
    same = a.boolean == b.boolean;
  }
  auto shapeLike = [](const Val& v) {
    return v.is(Val::Kind::Pack) || ((v.is(Val::Kind::Tuple) || v.is(Val::Kind::Array)) && !v.elems.empty());
  };
  if ((a.is(Val::Kind::Pack) || b.is(Val::Kind::Pack)) && shapeLike(a) && shapeLike(b)) {
    auto x = constInts(a), y = constInts(b);
    if (!x || !y) return context_.lost();
    same = *x == *y;
  }
  if (!same || !equality) {
    auto d = context_.error(Code::E0203, span,
                            "`" + std::string(op) + "` does not take " + describe(a) + " and " + describe(b));
    if (a.is(Val::Kind::Bool) && b.is(Val::Kind::Bool))
      d.help("`i64(b)` makes a number of a bool");
    else if (op == "+")
      d.help("join strings with braces: `\"{a}{b}\"`");
    return d;
  }
  return Val::ofBool(*same == (op == "=="), span);
}

}  // namespace tenc::frontend
