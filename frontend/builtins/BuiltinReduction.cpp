// Reductions over axes, and whether two tensors are near to each other.
#include "frontend/builtins/BuiltinReduction.h"

#include <cmath>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/expressions/Elementwise.h"
#include "frontend/values/Evaluator.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

/// The result of the row's op, of the dtype that is named.
Val reduced(BuiltinCall& k, const Reduced& r) {
  ir::Value* v = k.c.reduce(k.row.op, r.x, r.axes, r.keep);
  return k.result(r.dtype ? k.c.cast(v, *r.dtype) : v);
}

/// Of a shape or other compile-time integers: a compile-time integer.
std::optional<Val> foldShape(BuiltinCall& k) {
  const Val& x = k["x"];
  if (!x.is(Val::Kind::Pack) || (x.elems.empty() && (k.row.op == OpKind::ReduceMax || k.row.op == OpKind::ReduceMin))) {
    return std::nullopt;
  }
  Int total = k.row.op == OpKind::Prod ? 1 : k.row.op == OpKind::Sum ? 0 : x.elems[0].integer;
  for (const Val& e : x.elems) {
    switch (k.row.op) {
      case OpKind::Sum: total += e.integer; break;
      case OpKind::Prod: total *= e.integer; break;
      case OpKind::ReduceMax: total = std::max(total, e.integer); break;
      case OpKind::ReduceMin: total = std::min(total, e.integer); break;
      default: return std::nullopt;
    }
  }
  return Val::ofInt(total, k.span);
}

/// The largest, the place of the largest, ... of nothing is an error where no value says "nothing".
bool checkNotEmpty(BuiltinCall& k, const Reduced& r) {
  if (ir::Compose::count(r.x->type, r.axes) > 0 || r.x->type.size() > 0) return true;
  bool hasIdentity = ir::isFloat(r.x->type.dtype) && (k.row.op == OpKind::ReduceMax || k.row.op == OpKind::ReduceMin);
  if (hasIdentity || ir::Compose::count(r.x->type, r.axes) > 0) return true;
  k.context.error(Code::E0202, k.span,
                  "`" + std::string(k.row.name) + "` over an empty axis of " + ir::toString(r.x->type));
  return false;
}

}  // namespace

Val reduction(BuiltinCall& k) {
  if (k["x"].is(Val::Kind::Pack) && !k.has("dtype")) {
    if (auto folded = foldShape(k)) return *folded;
  }
  auto r = reductionOperands(k);
  if (!r) return k.lost();
  if ((k.row.op == OpKind::ReduceMax || k.row.op == OpKind::ReduceMin) && !checkNotEmpty(k, *r)) return k.lost();
  return reduced(k, *r);
}

namespace {

Val reduceFloats(BuiltinCall& k) {
  auto r = reductionOperands(k);
  if (!r || !k.checkFloat(r->x)) return k.lost();
  return reduced(k, *r);
}

/// Of numbers whether they are not 0, as the array API standard has it; NaN is not 0.
ir::Value* nonzero(BuiltinCall& k, ir::Value* x) {
  return x->type.dtype == DType::Bool ? x : k.c.binary(OpKind::Ne, x, 0.0);
}

Val anyAll(BuiltinCall& k) {
  if (k["x"].is(Val::Kind::Bool)) return k["x"];
  auto r = reductionOperands(k);
  if (!r) return k.lost();
  return k.result(k.c.reduce(k.row.op, nonzero(k, r->x), r->axes, r->keep));
}

/// A number is reduced along axis 0 or -1 as PyTorch has it: as the one element of an axis that it does not have.
bool isOnlyAxis(BuiltinCall& k, const ir::Value* x) {
  const Val* axis = k.args.find("axis");
  return x->type.rank() == 0 && axis && axis->is(Val::Kind::Int) && (axis->integer == 0 || axis->integer == -1);
}

Val place(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto keep = k.flag("keep");
  if (!x || !keep) return k.lost();
  Reduced r{.x = x, .axes = ir::Compose::allAxes(x->type), .keep = *keep, .dtype = {}};
  if (k.has("axis")) {
    const bool single = isOnlyAxis(k, x);
    auto axis = k.axis("axis", single ? 1 : x->type.rank());
    if (!axis) return k.lost();
    if (!single) r.axes = {*axis};
  }
  if (!checkNotEmpty(k, r)) return k.lost();
  return k.result(k.c.reduce(k.row.op, x, r.axes, r.keep));
}

ir::Value* variance(BuiltinCall& k, const Reduced& r, double correction) {
  // Of one number: 0, or 0 / 0 where the correction leaves no degree of freedom.
  if (r.axes.empty()) return k.c.binary(OpKind::Div, k.c.sub(r.x, r.x), std::max(0.0, 1 - correction));
  return k.c.b.value(OpKind::Variance, {r.x}, {{"axes", r.axes}, {"keep", r.keep}, {"correction", correction}});
}

template <bool Root>
Val spread(BuiltinCall& k) {
  auto r = reductionOperands(k);
  auto correction = k.real("correction");
  if (!r || !correction || !k.checkFloat(r->x)) return k.lost();
  if (!Root) return k.result(variance(k, *r, *correction));
  // Of f16 the variance may be too large where its root is not.
  const DType t = r->x->type.dtype;
  if (ir::byteSize(t) == 2) r->x = k.c.cast(r->x, DType::F32);
  return k.result(k.c.cast(k.c.length(variance(k, *r, *correction)), t));
}

Val countNonzero(BuiltinCall& k) {
  auto r = reductionOperands(k);
  if (!r) return k.lost();
  return k.result(k.c.reduce(OpKind::Sum, k.c.cast(nonzero(k, r->x), DType::I64), r->axes, r->keep));
}

Val norm(BuiltinCall& k) {
  auto r = reductionOperands(k);
  auto ord = k.real("ord");
  if (!r || !ord || !k.checkFloat(r->x)) return k.lost();
  ir::Compose& c = k.c;
  DType t = r->x->type.dtype;
  ir::Value* x = ir::byteSize(t) == 2 ? c.cast(r->x, DType::F32) : r->x;
  ir::Value* n = nullptr;
  if (std::isinf(*ord)) {
    n = c.reduce(*ord > 0 ? OpKind::ReduceMax : OpKind::ReduceMin, c.unary(OpKind::Abs, x), r->axes, r->keep);
    if (*ord > 0 && ir::Compose::count(x->type, r->axes) == 0) n = c.binary(OpKind::Max, n, 0.0);
  } else if (*ord == 0) {
    n = c.reduce(OpKind::Sum, c.cast(c.binary(OpKind::Ne, x, 0.0), x->type.dtype), r->axes, r->keep);
  } else if (*ord == 1) {
    n = c.reduce(OpKind::Sum, c.unary(OpKind::Abs, x), r->axes, r->keep);
  } else if (*ord == 2) {
    n = c.length(c.reduce(OpKind::Sum, c.unary(OpKind::Square, x), r->axes, r->keep));
  } else {
    // Of 0 every power but a whole one has an infinite derivative, the first or a later one.
    auto power = [&](ir::Value* v, double p) {
      return p >= 1 && p == std::floor(p) ? c.binary(OpKind::Pow, v, p) : c.flatPower(v, p);
    };
    n = power(c.reduce(OpKind::Sum, power(c.unary(OpKind::Abs, x), *ord), r->axes, r->keep), 1 / *ord);
  }
  return k.result(c.cast(n, t));
}

/// Which elements are as near to each other as NumPy's isclose wants them; null after an error.
ir::Value* close(BuiltinCall& k) {
  const auto rtol = k.real("rtol"), atol = k.real("atol");
  const auto equalNan = k.flag("equal_nan");
  if (!rtol || !atol || !equalNan) return nullptr;
  for (const char* tolerance : {"rtol", "atol"})
    if (!(k.real(tolerance).value_or(0) >= 0)) {
      k.failAt(tolerance, Code::E0204, "a tolerance is 0 or a positive number");
      return nullptr;
    }
  for (const char* operand : {"a", "b"})
    if (k[operand].isTree()) {
      k.context.error(Code::E0203, k[operand].span,
                      "`" + std::string(k.row.name) + "` takes tensors and numbers, not " + describe(k[operand]));
      return nullptr;
    }
  const Val near =
      k.elementwise.elementwiseBy({k["a"], k["b"]}, k.span, k.row.name, [&](const std::vector<ir::Value*>& v) {
        ir::Compose& c = k.c;
        ir::Value *a = c.withoutShape(v[0]), *b = c.withoutShape(v[1]), *equal = c.binary(OpKind::Eq, a, b);
        const auto wide = [&](ir::Value* x) {
          const bool whole = !ir::isFloat(x->type.dtype);
          return whole ? c.cast(x, DType::F64) : ir::byteSize(x->type.dtype) == 2 ? c.cast(x, DType::F32) : x;
        };
        a = wide(a);
        b = wide(b);
        ir::Value* bound = c.binary(OpKind::Add, c.binary(OpKind::Mul, c.unary(OpKind::Abs, b), *rtol), *atol);
        ir::Value* within = c.binary(OpKind::Le, c.unary(OpKind::Abs, c.sub(a, b)), bound);
        ir::Value* result = c.binary(OpKind::Or, equal, c.binary(OpKind::And, c.unary(OpKind::IsFinite, b), within));
        if (*equalNan) {
          ir::Value* both = c.binary(OpKind::And, c.unary(OpKind::IsNan, a), c.unary(OpKind::IsNan, b));
          result = c.binary(OpKind::Or, result, both);
        }
        return k.result(c.broadcastTo(result, v[0]->type.shape));
      });
  return near.is(Val::Kind::Tensor) ? near.tensor : nullptr;
}

Val isClose(BuiltinCall& k) {
  ir::Value* near = close(k);
  return near ? k.result(near) : k.lost();
}

Val allClose(BuiltinCall& k) {
  ir::Value* near = close(k);
  return near ? k.result(k.c.reduce(OpKind::All, near, k.c.allAxes(near->type), false)) : k.lost();
}

#define TENC_NEAR "(a, b; rtol: 1e-5, atol: 1e-8, equal_nan: false)"
constexpr BuiltinRow kRows[] = {
    {"sum(x; axis: ints?, keep: false, dtype: dtype?)",
     "Sum; integers under 64 bits give 64. With `dtype`, of x converted to it.", reduction, OpKind::Sum},
    {"prod(x; axis: ints?, keep: false, dtype: dtype?)",
     "Product; integers under 64 bits give 64. With `dtype`, of x converted to it.", reduction, OpKind::Prod},
    {"max(x; axis: ints?, keep: false)",
     "Largest element, or max(a, b) element by element.",
     reduction,
     OpKind::ReduceMax,
     {.pairwise = "maximum"}},
    {"min(x; axis: ints?, keep: false)",
     "Smallest element, or min(a, b) element by element.",
     reduction,
     OpKind::ReduceMin,
     {.pairwise = "minimum"}},
    {"mean(x; axis: ints?, keep: false, dtype: dtype?)",
     "Arithmetic mean of floats. With `dtype`, of x converted to it.", reduceFloats, OpKind::Mean},
    {"logsumexp(x; axis: ints?, keep: false)", "log(sum(exp(x))) without overflow.", reduceFloats, OpKind::LogSumExp},
    {"any(x; axis: ints?, keep: false)", "Whether one element is true, or is not 0.", anyAll, OpKind::Any},
    {"all(x; axis: ints?, keep: false)", "Whether every element is true, or is not 0.", anyAll, OpKind::All},
    {"argmax(x; axis: int?, keep: false)", "Index of the largest element as i64; the first one of equals.", place,
     OpKind::ArgMax},
    {"argmin(x; axis: int?, keep: false)", "Index of the smallest element as i64; the first one of equals.", place,
     OpKind::ArgMin},
    {"std(x; axis: ints?, keep: false, correction: number = 0)", "Standard deviation.", spread<true>},
    {"variance(x; axis: ints?, keep: false, correction: number = 0)", "Mean squared deviation from the mean.",
     spread<false>},
    {"count_nonzero(x; axis: ints?, keep: false)", "Number of elements that are not 0, as i64.", countNonzero},
    {"norm(x; ord: number = 2, axis: ints?, keep: false)", "Vector norm of order `ord`.", norm},
    {"isclose" TENC_NEAR,
     "Whether |a - b| <= atol + rtol * |b|, or both are equal; NaN is near to NaN with `equal_nan`.", isClose},
    {"allclose" TENC_NEAR, "Whether `isclose` holds for all elements.", allClose},
};
#undef TENC_NEAR

}  // namespace

std::optional<Reduced> reductionOperands(BuiltinCall& k) {
  Reduced r;
  r.x = k.tensor("x");
  if (!r.x) return std::nullopt;
  const bool single = isOnlyAxis(k, r.x);
  auto axes = k.evaluator.constAxes(k.args.find("axis"), single ? 1 : r.x->type.rank());
  if (single && axes) axes->clear();
  auto keep = k.flag("keep");
  if (!axes || !keep) return std::nullopt;
  r.axes = *axes;
  r.keep = *keep;
  if (k.has("dtype")) {
    r.dtype = k.dtype();
    if (!r.dtype) return std::nullopt;
    r.x = k.c.cast(r.x, *r.dtype);
  }
  return r;
}

std::span<const BuiltinRow> reductionBuiltins() { return kRows; }

}  // namespace tenc::frontend
