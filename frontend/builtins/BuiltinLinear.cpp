// Linear algebra on batches of matrices: factorisations are routines of the library, the rest is made of them. f16 and
// bf16 are computed in f32.
#include <algorithm>
#include <cmath>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/expressions/Operands.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

/// An operand as LAPACK takes it, and the dtype that results go back to.
struct Matrix {
  ir::Value* x = nullptr;
  DType dtype = DType::F32;
  int64_t m = 0, n = 0;
};

std::optional<Matrix> matrix(BuiltinCall& k, std::string_view name, bool square, std::optional<DType> hint = {}) {
  ir::Value* x = k.floats(name, hint);
  if (!x || !k.checkRank(x, 2)) return std::nullopt;
  const Dims& s = x->type.shape;
  Matrix a{x, x->type.dtype, s[s.size() - 2], s.back()};
  if (square && a.m != a.n) {
    k.fail(Code::E0202, "`" + std::string(k.row.name) + "` takes square matrices, not " + ir::toString(x->type));
    return std::nullopt;
  }
  if (ir::byteSize(a.dtype) == 2) a.x = k.c.cast(x, DType::F32);
  return a;
}

Val narrowed(BuiltinCall& k, ir::Value* v, DType t) { return k.result(k.c.cast(v, t)); }

/// The determinant of matrices of f32 up to 3 by 3 by cofactors of the first row: elementwise over the batch, so that
/// it fuses. In f64, where products of three neither overflow nor underflow and what cancels is exact or nearly so.
ir::Value* smallDet(ir::Compose& c, const Matrix& a) {
  const auto axis = a.x->type.rank() - 2;
  ir::Value* x = c.cast(a.x, DType::F64);
  const Dims batch(a.x->type.shape.begin(), a.x->type.shape.end() - 2);
  const auto at = [&](int64_t i, int64_t j) {
    return c.reshape(c.sliceAxis(c.sliceAxis(x, axis, i, 1), axis + 1, j, 1), batch);
  };
  if (a.n == 1) return at(0, 0);
  const auto minor = [&](int64_t i, int64_t j, int64_t k) {  // rows i and i + 1, columns j and k
    return c.sub(c.mul(at(i, j), at(i + 1, k)), c.mul(at(i, k), at(i + 1, j)));
  };
  if (a.n == 2) return minor(0, 0, 1);
  ir::Value* outer = c.sub(c.mul(at(0, 0), minor(1, 1, 2)), c.mul(at(0, 1), minor(1, 0, 2)));
  return c.add(outer, c.mul(at(0, 2), minor(1, 0, 1)));
}

/// With `Log`, the sign and the logarithm of the magnitude.
template <bool Log>
Val det(BuiltinCall& k) {
  auto a = matrix(k, "x", true);
  if (!a) return k.lost();
  if (!Log && a->n >= 1 && a->n <= 3 && a->x->type.dtype == DType::F32)
    return narrowed(k, k.c.binary(OpKind::Add, smallDet(k.c, *a), 0.0), a->dtype);
  ir::Op* lu = k.c.b.make(OpKind::Pivots, {a->x});
  ir::Value *pivots = lu->result(0), *sign = lu->result(1);
  const Dims last = {pivots->type.rank() - 1};
  // Adding 0 makes the determinant and the sign of a singular matrix 0, not -0.
  if (!Log) {
    ir::Value* product = k.c.mul(sign, k.c.reduce(OpKind::Prod, pivots, last, false));
    return narrowed(k, k.c.binary(OpKind::Add, product, 0.0), a->dtype);
  }
  ir::Value* signs = k.c.reduce(OpKind::Prod, k.c.unary(OpKind::Sign, pivots), last, false);
  ir::Value* logs = k.c.reduce(OpKind::Sum, k.c.unary(OpKind::Log, k.c.unary(OpKind::Abs, pivots)), last, false);
  signs = k.c.binary(OpKind::Add, k.c.mul(sign, signs), 0.0);
  return Val::ofTuple({narrowed(k, signs, a->dtype), narrowed(k, logs, a->dtype)}, k.span);
}

Val inverse(BuiltinCall& k) {
  auto a = matrix(k, "x", true);
  if (!a) return k.lost();
  return narrowed(k, k.c.b.value(OpKind::Inverse, {a->x}), a->dtype);
}

/// a and b of one dtype with one batch shape; a vector b becomes a column.
struct System {
  ir::Value *a, *b;
  DType dtype;
  bool vector;
};

std::optional<System> system(BuiltinCall& k, bool square) {
  auto t = commonDType(k.context, {k["a"], k["b"]}, k.span, k.row.name);
  if (!t) return std::nullopt;
  auto a = matrix(k, "a", square, t);
  ir::Value* b = k.floats("b", t);
  if (!a || !b || !k.checkRank(b, 1)) return std::nullopt;
  System s{a->x, b, a->dtype, b->type.rank() == 1};
  const ir::Type given = b->type;
  if (s.b->type.dtype != a->x->type.dtype) s.b = k.c.cast(b, a->x->type.dtype);
  if (s.vector) s.b = k.c.expandDims(s.b, 1);
  const Dims &x = s.a->type.shape, &y = s.b->type.shape;
  auto batch = ir::broadcastShapes(std::span(x).first(x.size() - 2), std::span(y).first(y.size() - 2));
  if (!batch || a->m != y[y.size() - 2]) {
    k.fail(Code::E0202, "`" + std::string(k.row.name) + "` of " + ir::toString(a->x->type) + " and " +
                            ir::toString(given) + ": the rows of `b` must be those of `a`");
    return std::nullopt;
  }
  Dims wide = *batch, right = *batch;
  wide.insert(wide.end(), {x[x.size() - 2], x.back()});
  right.insert(right.end(), {y[y.size() - 2], y.back()});
  s.a = k.c.broadcastTo(s.a, wide);
  s.b = k.c.broadcastTo(s.b, right);
  return s;
}

Val columnsOf(BuiltinCall& k, const System& s, ir::Value* x) {
  if (s.vector) x = k.c.squeeze(x, x->type.rank() - 1);
  return narrowed(k, x, s.dtype);
}

Val solve(BuiltinCall& k) {
  auto s = system(k, true);
  if (!s) return k.lost();
  return columnsOf(k, *s, k.c.b.value(OpKind::Solve, {s->a, s->b}));
}

Val solveTriangular(BuiltinCall& k) {
  auto s = system(k, true);
  auto lower = k.flag("lower"), unit = k.flag("unit");
  if (!s || !lower || !unit) return k.lost();
  return columnsOf(k, *s, k.c.b.value(OpKind::SolveTriangular, {s->a, s->b}, {{"lower", *lower}, {"unit", *unit}}));
}

Val lstsq(BuiltinCall& k) {
  auto s = system(k, false);
  if (!s) return k.lost();
  ir::Op* op = k.c.b.make(OpKind::Lstsq, {s->a, s->b});
  ir::Value* x = op->result(0);
  const ir::RoundingScope exact(k.c.b, std::nullopt);  // no product of the script
  ir::Value* rest = k.c.sub(k.c.matmul(s->a, x), s->b);
  ir::Value* residuals = k.c.reduce(OpKind::Sum, k.c.unary(OpKind::Square, rest), {rest->type.rank() - 2}, false);
  return Val::ofTuple(
      {columnsOf(k, *s, x), columnsOf(k, *s, residuals), k.result(op->result(1)), narrowed(k, op->result(2), s->dtype)},
      k.span);
}

Val cholesky(BuiltinCall& k) {
  auto a = matrix(k, "x", true);
  auto upper = k.flag("upper");
  if (!a || !upper) return k.lost();
  const int64_t r = a->x->type.rank();
  ir::Value* l = k.c.b.value(OpKind::Cholesky, {*upper ? k.c.swapAxes(a->x, r - 1, r - 2) : a->x});
  return narrowed(k, *upper ? k.c.swapAxes(l, r - 1, r - 2) : l, a->dtype);
}

/// The results of an op as a tuple.
Val results(BuiltinCall& k, ir::Op* op, DType t) {
  std::vector<Val> all;
  for (const auto& r : op->results) all.push_back(narrowed(k, r.get(), t));
  return Val::ofTuple(std::move(all), k.span);
}

Val qr(BuiltinCall& k) {
  auto a = matrix(k, "x", false);
  auto mode = k.string("mode");
  if (!a || !mode) return k.lost();
  if (*mode != "reduced" && *mode != "complete") {
    return k.failAt("mode", Code::E0204, "`qr` has modes \"reduced\" and \"complete\", not \"" + *mode + "\"");
  }
  return results(k, k.c.b.make(OpKind::Qr, {a->x}, {{"complete", *mode == "complete"}}), a->dtype);
}

Val eigh(BuiltinCall& k) {
  auto a = matrix(k, "x", true);
  return a ? results(k, k.c.b.make(OpKind::Eigh, {a->x}), a->dtype) : k.lost();
}

Val svd(BuiltinCall& k) {
  auto a = matrix(k, "x", false);
  auto full = k.flag("full_matrices");
  if (!a || !full) return k.lost();
  return results(k, k.c.b.make(OpKind::Svd, {a->x}, {{"full", *full}}), a->dtype);
}

Val trace(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto offset = k.integer("offset");
  if (!x || !offset || !k.checkRank(x, 2)) return k.lost();
  ir::Value* d = k.c.diagonal(x, *offset);
  return k.result(k.c.reduce(OpKind::Sum, d, {d->type.rank() - 1}, false));
}

Val matrixPower(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto n = k.integer("n");
  if (!x || !n || !k.checkRank(x, 2)) return k.lost();
  const Dims& s = x->type.shape;
  if (s.back() != s[s.size() - 2] || x->type.dtype == DType::Bool) {
    return k.fail(Code::E0202, "`matrix_power` takes square matrices of numbers, not " + ir::toString(x->type));
  }
  ir::Compose& c = k.c;
  if (*n == 0) {
    ir::Value* eye = c.binary(OpKind::Eq, c.iotaOn(x, s, DType::I64, x->type.rank() - 1),
                              c.iotaOn(x, s, DType::I64, x->type.rank() - 2));
    return k.result(c.cast(eye, x->type.dtype));
  }
  const DType t = x->type.dtype;
  if (*n < 0) {
    auto a = matrix(k, "x", true);
    if (!a) return k.lost();
    x = c.b.value(OpKind::Inverse, {a->x});
  }
  ir::Value* result = nullptr;
  for (uint64_t e = *n < 0 ? 0 - static_cast<uint64_t>(*n) : static_cast<uint64_t>(*n); e > 0; e /= 2) {
    if (e % 2) result = result ? c.matmul(result, x) : x;
    if (e > 1) x = c.matmul(x, x);
  }
  return narrowed(k, result, t);
}

/// The order of `matrix_norm`: "fro", "nuc", or 1, -1, 2, -2, inf, -inf.
Val matrixNorm(BuiltinCall& k) {
  auto a = matrix(k, "x", false);
  auto keep = k.flag("keep");
  if (!a || !keep) return k.lost();
  ir::Compose& c = k.c;
  const int64_t r = a->x->type.rank();
  auto done = [&](ir::Value* v) {  // of the batch's shape
    if (*keep) v = c.expandDims(c.expandDims(v, r - 2), r - 2);
    return narrowed(k, v, a->dtype);
  };
  std::string name;
  double order = 0;
  if (!k.value("ord").is(Val::Kind::String)) {
    auto number = k.real("ord");
    if (!number) return k.lost();
    order = *number;
  } else {
    auto text = k.string("ord");
    if (!text) return k.lost();
    name = *text;
  }
  if (name == "fro") {
    return done(c.length(c.reduce(OpKind::Sum, c.unary(OpKind::Square, a->x), {r - 2, r - 1}, false)));
  }
  const double size = std::abs(order);
  if (name.empty() && (size == 1 || std::isinf(order))) {
    ir::Value* sums = c.reduce(OpKind::Sum, c.unary(OpKind::Abs, a->x), {size == 1 ? r - 2 : r - 1}, false);
    return done(c.reduce(order > 0 ? OpKind::ReduceMax : OpKind::ReduceMin, sums, {r - 2}, false));
  }
  if (name == "nuc" || (name.empty() && size == 2)) {
    ir::Value* s = c.b.value(OpKind::SingularValues, {a->x});
    const OpKind how = !name.empty() ? OpKind::Sum : order > 0 ? OpKind::ReduceMax : OpKind::ReduceMin;
    return done(c.reduce(how, s, {r - 2}, false));
  }
  return k.failAt("ord", Code::E0204, "`matrix_norm` has the orders \"fro\", \"nuc\", 1, -1, 2, -2, inf and -inf");
}

constexpr BuiltinRow kRows[] = {
    {"trace(x; offset: 0)", "Sum of the diagonal of the last two dims.", trace},
    {"det(x)", "Determinant.", det<false>},
    {"slogdet(x)", "(sign, logarithm) of the determinant; (0, -inf) of a singular matrix.", det<true>},
    {"inv(x)", "Inverse matrix; stops when it is singular.", inverse},
    {"solve(a, b)", "x with a @ x == b; stops when a is singular.", solve},
    {"solve_triangular(a, b; lower: true, unit: false)",
     "x with a @ x == b for triangular a, of which one triangle is read; `unit`: the diagonal counts as 1.",
     solveTriangular},
    {"cholesky(x; upper: false)",
     "The factor L with L @ L.T == x, from the lower triangle; stops unless x is positive definite.", cholesky},
    {"qr(x; mode: \"reduced\")", "(Q, R) with orthonormal columns and upper triangle; or \"complete\".", qr},
    {"eigh(x)", "(ascending eigenvalues, vectors as columns) of a symmetric matrix, from the lower triangle.", eigh},
    {"svd(x; full_matrices: true)", "(U, descending singular values, Vh).", svd},
    {"lstsq(a, b)", "(x of minimum norm that minimises |a @ x - b|, the squared residuals, rank, singular values).",
     lstsq},
    {"matrix_power(x, n: int)", "A square matrix times itself n times; n may be negative.", matrixPower},
    {"matrix_norm(x; ord: number = \"fro\", keep: false)", "Norm of the last two dims.", matrixNorm},
};

}  // namespace

std::span<const BuiltinRow> linearBuiltins() { return kRows; }

}  // namespace tenc::frontend
