// Operators: compile-time arithmetic done exactly, matrix products, and the mapping of operators to ops.
#include <cmath>
#include <limits>

#include "frontend/Lowering.h"
#include "frontend/values/Literals.h"
#include "ir/Scalar.h"
#include "ir/build/Compose.h"

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

/// An integer as the low bits of `to`.
int64_t wrapped(Int i, ir::DType to) {
  const int unused = 64 - 8 * ir::byteSize(to);
  const auto bits = static_cast<uint64_t>(static_cast<unsigned __int128>(i)) << unused;
  return ir::isSigned(to) ? static_cast<int64_t>(bits) >> unused : static_cast<int64_t>(bits >> unused);
}

/// The number that the low bits of `i` are in `to`.
Int fitted(Int i, ir::DType to) {
  const int64_t bits = wrapped(i, to);
  return ir::isSigned(to) ? Int{bits} : Int{static_cast<uint64_t>(bits)};
}

/// To a float dtype; to 16 bits through f32, as everywhere.
double rounded(double v, ir::DType t) {
  if (t == ir::DType::F64) return v;
  const auto single = static_cast<double>(static_cast<float>(v));
  return t == ir::DType::F32 ? single : ir::floatValue(t, ir::floatBits(t, single));
}

double asDouble(const Val& v) { return v.is(Val::Kind::Int) ? static_cast<double>(v.integer) : v.real; }

template <typename T>
std::optional<bool> compared(std::string_view op, T a, T b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  return std::nullopt;
}

struct OperatorRow {
  std::string_view op;
  OpKind kind;
};
constexpr OperatorRow kOperators[] = {
    {"+", OpKind::Add}, {"-", OpKind::Sub},  {"*", OpKind::Mul}, {"/", OpKind::Div},   {"//", OpKind::FloorDiv},
    {"%", OpKind::Mod}, {"**", OpKind::Pow}, {"==", OpKind::Eq}, {"!=", OpKind::Ne},   {"<", OpKind::Lt},
    {"<=", OpKind::Le}, {">", OpKind::Gt},   {">=", OpKind::Ge}, {"and", OpKind::And}, {"or", OpKind::Or},
};
}  // namespace

std::optional<Val> Lowering::foldNumbers(std::string_view op, const Val& a, const Val& b2, Span span) {
  const bool adopts = a.adopts && b2.adopts;
  if (a.is(Val::Kind::Int) && b2.is(Val::Kind::Int)) {
    const Int x = a.integer, y = b2.integer;
    const Val* typed = !a.adopts ? &a : !b2.adopts ? &b2 : nullptr;
    if (typed) {  // what does not fit the typed one, or is of another type, is for the caller to refuse
      const Val& other = typed == &a ? b2 : a;
      if (other.adopts ? fitted(other.integer, typed->dtype) != other.integer : other.dtype != typed->dtype) {
        return std::nullopt;
      }
    }
    if (auto c = compared(op, x, y)) return Val::ofBool(*c, span);
    Int r = 0;
    if (op == "+")
      r = x + y;
    else if (op == "-")
      r = x - y;
    else if (op == "*")
      r = x * y;
    else if (op == "//" || op == "%") {
      if (y == 0) return fail(Code::E0212, span, "integer division by zero");
      r = op == "//" ? floorDivide(x, y) : x - floorDivide(x, y) * y;
    } else if (op == "**") {
      if (y < 0) return fail(Code::E0212, span, "an integer to a negative power; write one of them as a float");
      auto p = power(x, y);
      if (!p && typed) return std::nullopt;  // computed when it runs, wrapping
      if (!p) return fail(Code::E0212, span, "the result does not fit in i64");
      r = *p;
    } else if (op == "/") {
      error(Code::E0201, span, "`/` needs floats, but both operands are integers")
          .help("`//` divides integers, rounding down; a number with a point is a float: `7.0 / 2.0`");
      return Val::none();
    } else {
      return std::nullopt;
    }
    if (typed) {  // wraps, as at run time
      Val v = Val::ofInt(fitted(r, typed->dtype), span, false);
      v.dtype = typed->dtype;
      return v;
    }
    if (r < kLeast || r > kMost) return fail(Code::E0212, span, toString(r) + " does not fit in i64");
    Val v = Val::ofInt(r, span);
    v.dim = a.dim || b2.dim;
    return v;
  }
  // A typed operand decides: i64 with a typed f32 is for the caller to refuse.
  ir::DType type = ir::DType::F32;
  const Val* typed = !a.adopts ? &a : !b2.adopts ? &b2 : nullptr;
  if (typed) {
    if (typed->is(Val::Kind::Int)) return std::nullopt;
    if (!a.adopts && !b2.adopts && a.dtype != b2.dtype) return std::nullopt;
    type = typed->dtype;
  } else if (a.dtype == ir::DType::F64 || b2.dtype == ir::DType::F64) {
    type = ir::DType::F64;  // an f64 param
  }
  // What adopts the dtype of a typed operand is rounded to it first, as at run time.
  const double x = typed ? rounded(asDouble(a), type) : asDouble(a);
  const double y = typed ? rounded(asDouble(b2), type) : asDouble(b2);
  if (auto c = compared(op, x, y)) return Val::ofBool(*c, span);
  double r = 0;
  if (op == "+")
    r = x + y;
  else if (op == "-")
    r = x - y;
  else if (op == "*")
    r = x * y;
  else if (op == "/")
    r = x / y;
  else if (op == "//")
    r = ir::floorQuotient(x, y);
  else if (op == "%")
    r = ir::floorMod(x, y);
  else if (op == "**")
    r = std::pow(x, y);
  else
    return std::nullopt;
  Val v = Val::ofFloat(adopts ? r : rounded(r, type), span, adopts);
  v.dtype = type;
  return v;
}

Val Lowering::compareStatic(std::string_view op, const Val& a, const Val& b2, Span span) {
  const bool equality = op == "==" || op == "!=";
  std::optional<bool> same;
  if (a.is(Val::Kind::String) && b2.is(Val::Kind::String)) same = a.text == b2.text;
  if (auto x = a.is(Val::Kind::DType), y = b2.is(Val::Kind::DType); x && y) same = a.dtype == b2.dtype;
  if (a.is(Val::Kind::Bool) && b2.is(Val::Kind::Bool)) {
    if (op == "and") return Val::ofBool(a.boolean && b2.boolean, span);
    if (op == "or") return Val::ofBool(a.boolean || b2.boolean, span);
    same = a.boolean == b2.boolean;
  }
  auto shapeLike = [](const Val& v) {
    return v.is(Val::Kind::Pack) || ((v.is(Val::Kind::Tuple) || v.is(Val::Kind::Array)) && !v.elems.empty());
  };
  if ((a.is(Val::Kind::Pack) || b2.is(Val::Kind::Pack)) && shapeLike(a) && shapeLike(b2)) {
    auto x = constInts(a), y = constInts(b2);
    if (!x || !y) return Val::none();
    same = *x == *y;
  }
  if (!same || !equality) {
    auto d =
        error(Code::E0203, span, "`" + std::string(op) + "` does not take " + describe(a) + " and " + describe(b2));
    if (op == "+") d.help("texts are joined by holes: `\"{a}{b}\"`");
    return Val::none();
  }
  return Val::ofBool(*same == (op == "=="), span);
}

Val Lowering::compareDevices(std::string_view op, const Val& a, const Val& b2, Span span) {
  if (op != "==" && op != "!=") return fail(Code::E0203, span, "devices are compared with `==` and `!=` only");
  const DeviceRef &x = a.device, &y = b2.device;
  auto known = [](const DeviceRef& d) { return !d.of && !d.name.starts_with('$'); };
  if (known(x) && known(y)) return Val::ofBool((actualDevice(x.name) == actualDevice(y.name)) == (op == "=="), span);
  at(span);
  std::vector<ir::Value*> operands;
  std::vector<std::string> names;
  for (const DeviceRef* d : {&x, &y}) {
    if (d->of)
      operands.push_back(d->of);
    else
      names.push_back(d->name);
  }
  // A device variable stands for a value only through the attribute, so two of them are named together.
  std::vector<ir::Builder::NamedAttr> attrs;
  if (!names.empty()) attrs.push_back({"device", names.size() == 1 ? names[0] : names[0] + " " + names[1]});
  ir::Value* r = b().makeTyped(OpKind::DeviceEq, operands, {ir::Type{ir::DType::Bool, {}, {}}}, attrs)->result();
  if (op == "!=") r = b().value(OpKind::Not, {r});
  return Val::ofTensor(r, span);
}

Val Lowering::binary(std::string_view op, const Val& a, const Val& b2, Span span, Span opSpan) {
  if (a.poison() || b2.poison()) return Val::none();
  if (a.isNumber() && b2.isNumber()) {
    if (auto folded = foldNumbers(op, a, b2, span)) return *folded;
  }
  using Kind = Val::Kind;
  if (a.is(Kind::Device) && b2.is(Kind::Device)) return compareDevices(op, a, b2, span);
  auto comparable = [](const Val& v) {
    return v.is(Kind::String) || v.is(Kind::DType) || v.is(Kind::Bool) || v.is(Kind::Pack);
  };
  if ((comparable(a) && comparable(b2)) ||
      ((a.is(Kind::Pack) || b2.is(Kind::Pack)) && !a.is(Kind::Tensor) && !b2.is(Kind::Tensor))) {
    return compareStatic(op, a, b2, span);
  }
  at(opSpan, {{a.span, ""}, {b2.span, ""}});
  if (op == "@") return matmul(a, b2, span, opSpan);
  for (const OperatorRow& row : kOperators) {
    if (row.op != op) continue;
    Val r = elementwise(row.kind, {a, b2}, opSpan, op);  // errors stand at the operator, the value is the whole
    r.span = span;
    return r;
  }
  return fail(Code::E0203, opSpan, "`" + std::string(op) + "` is no operator here");
}

Val Lowering::matmul(const Val& a, const Val& b2, Span span, Span opSpan) {
  if (a.isTree() || b2.isTree()) {
    return fail(Code::E0203, opSpan, "`@` takes tensors, not " + describe(a.isTree() ? a : b2));
  }
  auto dtype = commonDType({a, b2}, opSpan, "@");
  if (!dtype) return Val::none();
  ir::Value* x = tensorOf(a, dtype);
  ir::Value* y = tensorOf(b2, dtype);
  if (!x || !y) return Val::none();
  at(opSpan);
  const ir::Dims xs = x->type.shape, ys = y->type.shape;
  auto shapes = [&] { return ir::toString(x->type) + " @ " + ir::toString(y->type); };
  if (xs.empty() || ys.empty()) {
    error(Code::E0202, opSpan, "`@` needs operands of at least one dim: " + shapes())
        .help("a product with a single number is `*`");
    return Val::none();
  }
  if (*dtype == ir::DType::Bool) return fail(Code::E0201, opSpan, "`@` needs numbers, but both operands are bool");
  const int64_t k = xs.back(), k2 = ys.size() == 1 ? ys[0] : ys[ys.size() - 2];
  if (k != k2) {
    auto d = error(Code::E0202, opSpan,
                   "inner dims of `@` differ: " + std::to_string(k) + " and " + std::to_string(k2) + " in " + shapes());
    d.label(a.span, ir::toString(x->type)).label(b2.span, ir::toString(y->type));
    if (ys.size() > 1 && ys.back() == k && b2.span.valid())
      d.help("the last dims of both agree: turn the right one round",
             {{{b2.span.file, b2.span.end, b2.span.end}, ".T"}});
    return Val::none();
  }
  const auto plan = ir::Compose::planProduct(xs, ys);
  if (!plan) {
    error(Code::E0202, opSpan, "batch dims of `@` do not broadcast: " + shapes());
    return Val::none();
  }
  for (const ir::Dims& shape : {plan->out, plan->spread(plan->left), plan->spread(plan->right)}) {
    if (!countable(shape, opSpan, "@")) return Val::none();
  }
  return Val::ofTensor(ir::Compose(b()).matmul(x, y), span);
}

namespace {
/// The integers in an array of literals wrapped, so that they fit.
Val wrappedArray(Val v, ir::DType to) {
  for (Val& e : v.elems) e = wrappedArray(std::move(e), to);
  if (v.is(Val::Kind::Int)) v.integer = fitted(v.integer, to);
  return v;
}
}  // namespace

Val Lowering::cast(const Val& v, ir::DType to, Span span) {
  if (v.poison()) return Val::none();
  if (v.isNumber() || v.is(Val::Kind::Bool)) {
    const double real = v.is(Val::Kind::Bool) ? (v.boolean ? 1 : 0) : asDouble(v);
    if (ir::isFloat(to)) {
      Val r = Val::ofFloat(rounded(real, to), span, false);
      r.dtype = to;
      return r;
    }
    if (ir::isInt(to)) {
      Val r = Val::ofInt(v.is(Val::Kind::Int) ? fitted(v.integer, to) : saturated(real, to), span, false);
      r.dtype = to;
      return r;
    }
    if (to == ir::DType::Bool) return Val::ofBool(real != 0, span);
  }
  if (v.isTree()) return castTree(v, to, span);
  ir::Value* x = v.is(Val::Kind::Array) ? tensorOf(ir::isInt(to) ? wrappedArray(v, to) : v, to) : tensorOf(v);
  if (!x) return Val::none();
  at(span);
  if (x->type.dtype != to) x = b().value(OpKind::Cast, {x}, {{"dtype", to}});
  return Val::ofTensor(x, span);
}

}  // namespace tenc::frontend
