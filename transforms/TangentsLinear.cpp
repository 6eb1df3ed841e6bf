// Derivatives of linear algebra. The formulas are those of Giles 2008, "Collected Matrix Derivative Results for Forward
// and Reverse Mode Algorithmic Differentiation"; of the eigenvalue and singular value decompositions they hold where
// the values differ from each other.
#include <algorithm>
#include <limits>

#include "transforms/TangentRules.h"

namespace tenc::transforms::rules {

using ir::Compose;
using ir::Dims;
using ir::DType;
using ir::OpKind;
using V = ir::Value*;

namespace {

V transposed(Compose& c, V m) { return c.swapAxes(m, m->type.rank() - 2, m->type.rank() - 1); }

int64_t rowsOf(V m) { return m->type.shape[m->type.shape.size() - 2]; }
int64_t columnsOf(V m) { return m->type.shape.back(); }

V solveTriangularBy(Compose& c, V a, V b, bool lower, bool unit = false) {
  return c.b.value(OpKind::SolveTriangular, {a, b}, {{"lower", lower}, {"unit", unit}});
}

/// The triangle of a tangent, on or below (or above) diagonal k; which elements that are is found from primal values.
V triangle(TangentCall& c, V m, int64_t k, bool lower) {
  const Dims matrix = {rowsOf(m), columnsOf(m)};
  V row = c.p.iotaOn(c.x(), matrix, DType::I64, 0), column = c.p.iotaOn(c.x(), matrix, DType::I64, 1);
  V edge = c.p.binary(OpKind::Add, row, c.p.b.scalarInt(DType::I64, k));
  return c.t.where(c.p.binary(lower ? OpKind::Le : OpKind::Ge, column, edge), m, c.t.literal(m, 0));
}

/// The lower triangle, with the diagonal halved.
V halvedLower(TangentCall& c, V m) {
  return c.t.binary(OpKind::Mul, c.t.add(triangle(c, m, 0, true), triangle(c, m, -1, true)), 0.5);
}

/// The symmetric part. A function of symmetric matrices that reads one triangle has a symmetric gradient.
V symmetric(TangentCall& c, V m) { return c.t.binary(OpKind::Mul, c.t.add(m, transposed(c.t, m)), 0.5); }

/// [..., n] as [..., n, 1] or [..., 1, n].
V asColumn(Compose& c, V v) { return c.expandDims(v, v->type.rank()); }
V asRow(Compose& c, V v) { return c.expandDims(v, v->type.rank() - 1); }

/// 1 / m off the diagonal, 0 on it, of [..., n, n].
V reciprocalOffDiagonal(Compose& c, V m) {
  const Dims matrix = {rowsOf(m), columnsOf(m)};
  V diagonal = c.binary(OpKind::Eq, c.iotaOn(m, matrix, DType::I64, 0), c.iotaOn(m, matrix, DType::I64, 1));
  V safe = c.where(diagonal, c.literal(m, 1), m);
  return c.where(diagonal, c.literal(m, 0), c.unary(OpKind::Reciprocal, safe));
}

/// The Moore-Penrose inverse from a decomposition, with the cut-off of `lstsq`: eps max(m, n) of the largest value.
V pseudoInverse(Compose& c, V a) {
  ir::Op* svd = c.b.make(OpKind::Svd, {a}, {{"full", false}});
  V s = svd->result(1);
  const double eps =
      a->type.dtype == DType::F64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  V least = c.binary(OpKind::Mul, c.reduce(OpKind::ReduceMax, s, {s->type.rank() - 1}, true),
                     eps * static_cast<double>(std::max(rowsOf(a), columnsOf(a))));
  V used = c.binary(OpKind::Gt, s, least);
  V inverse = c.where(used, c.unary(OpKind::Reciprocal, c.where(used, s, c.literal(s, 1))), c.literal(s, 0));
  return c.matmul(c.mul(transposed(c, svd->result(2)), asRow(c, inverse)), transposed(c, svd->result(0)));
}

}  // namespace

/// -y dx y.
void inverse(TangentCall& c) { c.add(c.t.unary(OpKind::Neg, c.t.matmul(c.t.matmul(c.y(), c.dx()), c.y()))); }

/// a dx = db - da x.
void solve(TangentCall& c) {
  V right = c.dx(1);
  if (c.dx(0) != nullptr) {
    V part = c.t.unary(OpKind::Neg, c.t.matmul(c.dx(0), c.y()));
    right = right == nullptr ? part : c.t.add(right, part);
  }
  c.add(c.same(c.t, {c.x(0), right}));
}

void solveTriangular(TangentCall& c) {
  const bool lower = c.op.boolAttr("lower"), unit = c.op.boolAttr("unit");
  V right = c.dx(1);
  if (c.dx(0) != nullptr) {
    V da = triangle(c, c.dx(0), unit ? (lower ? -1 : 1) : 0, lower);
    V part = c.t.unary(OpKind::Neg, c.t.matmul(da, c.y()));
    right = right == nullptr ? part : c.t.add(right, part);
  }
  c.add(c.same(c.t, {c.x(0), right}));
}

/// L Phi(inv(L) dA inv(L)T), Phi: the lower triangle with half the diagonal (Murray 2016).
void cholesky(TangentCall& c) {
  V left = solveTriangularBy(c.t, c.y(), symmetric(c, c.dx()), true);
  V both = solveTriangularBy(c.t, c.y(), transposed(c.t, left), true);
  c.add(c.t.matmul(c.y(), halvedLower(c, both)));
}

namespace {

V identity(Compose& c, V like) {
  const Dims matrix = {rowsOf(like), columnsOf(like)};
  V diagonal = c.binary(OpKind::Eq, c.iotaOn(like, matrix, DType::I64, 0), c.iotaOn(like, matrix, DType::I64, 1));
  return c.where(diagonal, c.literal(like, 1), c.literal(like, 0));
}

/// The product along the last dim, which stays.
V productOf(Compose& c, V v) { return c.reduce(OpKind::Prod, v, {v->type.rank() - 1}, true); }

/// Of singular matrices, the derivative of the determinant by each element. With any vectors u and v that make
/// m = a + u vT regular, it is det(m) (inv(mT) v) (inv(m) u)T, by the lemma on determinants of such sums. It is 0 where
/// there are none, as two ranks are missing.
struct Cofactors {
  V inverse;   ///< of the matrix itself where it is regular
  V singular;  ///< the derivative where it is not, else 0
};

/// `singular`, of [..., 1, 1], says which matrices are. All that is wanted of a matrix follows from one inverse.
Cofactors cofactorsOf(Compose& c, V a, V singular) {
  const int64_t n = rowsOf(a), last = a->type.rank() - 1;
  V number = c.cast(c.iotaOn(a, {n}, DType::I64, 0), a->type.dtype);
  V largest = c.reduce(OpKind::ReduceMax, c.unary(OpKind::Abs, a), {last - 1, last}, true);
  V size = c.where(c.binary(OpKind::Eq, largest, 0.0), c.literal(a, 1), largest);
  V u = c.unary(OpKind::Cos, number), v = c.unary(OpKind::Cos, c.binary(OpKind::Mul, number, 1.7));
  V summed = c.add(a, c.mul(size, c.mul(c.reshape(u, {n, 1}), c.reshape(v, {1, n}))));
  V one = identity(c, a);
  ir::Op* sum = c.b.make(OpKind::Pivots, {c.where(singular, summed, one)});
  V sizes = c.unary(OpKind::Abs, sum->result(0));
  V least = c.reduce(OpKind::ReduceMin, sizes, {last - 1}, true),
    most = c.reduce(OpKind::ReduceMax, sizes, {last - 1}, true);
  const double eps =
      a->type.dtype == DType::F64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  V regular =
      c.binary(OpKind::And, singular, asColumn(c, c.binary(OpKind::Gt, least, c.binary(OpKind::Mul, most, 16 * eps))));
  V inverse = c.b.value(OpKind::Inverse, {c.where(singular, c.where(regular, summed, one), a)});
  V left = c.reduce(OpKind::Sum, c.mul(inverse, c.reshape(v, {n, 1})), {last - 1}, false),
    right = c.reduce(OpKind::Sum, c.mul(inverse, c.reshape(u, {1, n})), {last}, true);
  Dims leftColumn = a->type.shape;
  leftColumn.back() = 1;
  V det = c.mul(asColumn(c, productOf(c, sum->result(0))), asColumn(c, asColumn(c, sum->result(1))));
  V product = c.mul(c.reshape(left, leftColumn), transposed(c, right));
  return {inverse, c.where(regular, c.mul(c.mul(det, size), product), c.literal(a, 0))};
}

}  // namespace

/// Only products of all pivots have a meaning, determinants: with d det(a) = det(a) tr(inv(a) da), each pivot takes an
/// equal share of the relative change. Where a pivot is zero, the first such takes what the others multiply to the
/// change of the determinant.
void pivots(TangentCall& c) {
  if (rowsOf(c.x()) == 0) return;  // constant
  V a = c.x(), da = c.dx();
  const auto n = static_cast<double>(rowsOf(a));
  const int64_t last = a->type.rank() - 1;
  V isZero = c.p.binary(OpKind::Eq, c.y(0), 0.0);
  V any = c.p.reduce(OpKind::Any, isZero, {last - 1}, true);  // [..., 1]
  const Cofactors cofactors = cofactorsOf(c.p, a, asColumn(c.p, any));
  const auto times = [&](V coefficients) {
    return asColumn(c.t, c.t.reduce(OpKind::Sum, c.t.mul(coefficients, da), {last - 1, last}, false));
  };
  V share = c.t.mul(c.p.where(any, c.number(0), c.p.binary(OpKind::Div, c.y(0), n)),
                    times(transposed(c.p, cofactors.inverse)));
  V first = c.p.reduce(OpKind::ArgMax, isZero, {last - 1}, true);
  V isFirst = c.p.binary(OpKind::And, isZero,
                         c.p.binary(OpKind::Eq, c.p.iotaOn(a, c.y(0)->type.shape, DType::I64, last - 1), first));
  V others = c.p.mul(productOf(c.p, c.p.where(isZero, c.number(1), c.y(0))), asColumn(c.p, c.y(1)));
  V weight = c.p.where(isFirst, c.p.div(c.number(1), others), c.number(0));
  c.add(c.t.add(share, c.t.mul(weight, times(cofactors.singular))), 0);
}

namespace {

/// Whether all that is read of a value are its first `n` places along an axis.
bool readsFirstAlone(const ir::Value& v, size_t axis, int64_t n) {
  return std::all_of(v.uses.begin(), v.uses.end(), [&](const ir::Value::Use& use) {
    const ir::Op& user = *use.user;
    if (user.kind != OpKind::Slice) return false;
    const int64_t first = user.intsAttr("starts")[axis], step = user.intsAttr("steps")[axis];
    return first + std::max<int64_t>(user.result()->type.shape[axis] - 1, 0) * step < n;
  });
}

/// The first `n` places along an axis. They are kept as they are: with the whole value there would be more to read of
/// it when this derivative is differentiated.
V firstPlaces(Compose& c, V v, int64_t axis, int64_t n) {
  if (v->type.shape[static_cast<size_t>(axis)] == n) return v;
  return c.b.value(OpKind::Barrier, {c.sliceAxis(v, axis, 0, n)}, {{"number", int64_t{-1}}});
}

/// The tangent of the first places along an axis, with zeros for what is not read.
V padded(Compose& c, V v, int64_t axis, int64_t size) {
  Dims lo(v->type.shape.size(), 0), hi = lo;
  hi[static_cast<size_t>(axis)] = size - v->type.shape[static_cast<size_t>(axis)];
  return hi[static_cast<size_t>(axis)] == 0 ? v : c.padWith(v, c.literal(v, 0), lo, hi);
}

}  // namespace

void qr(TangentCall& c) {
  const int64_t m = rowsOf(c.x()), n = columnsOf(c.x()), k = std::min(m, n);
  V dx = c.dx();
  const int64_t last = dx->type.rank() - 1, columns = columnsOf(c.y(0));
  if (columns > k && !readsFirstAlone(*c.op.result(0), static_cast<size_t>(last), k)) {
    c.refusal =
        "the last columns of a complete `qr`, which have no derivative: they are any basis of what the others leave";
    c.remedy = "the first columns of Q have a derivative, which `mode: \"reduced\"` gives alone, and so has R";
    return;
  }
  V q = firstPlaces(c.p, c.y(0), last, k), r = firstPlaces(c.p, c.y(1), last - 1, k);
  // Of a wide matrix the first columns decide Q.
  V square = c.p.sliceAxis(r, last, 0, k), dSquare = c.t.sliceAxis(dx, last, 0, k);
  // dSquare inv(square), from inv(squareT) dSquareT.
  V b = transposed(c.t, solveTriangularBy(c.t, transposed(c.p, square), transposed(c.t, dSquare), true));
  V w = c.t.matmul(transposed(c.p, q), b);
  V strict = triangle(c, w, -1, true);
  V skew = c.t.sub(strict, transposed(c.t, strict));
  V dq = c.t.add(c.t.matmul(q, c.t.sub(skew, w)), b);
  c.add(padded(c.t, dq, last, columns), 0);
  // R = QT A where Q is square, and QT dA less the turn of Q in general.
  V dr = c.t.sub(c.t.matmul(transposed(c.p, q), dx), c.t.matmul(c.t.matmul(transposed(c.p, q), dq), r));
  c.add(padded(c.t, triangle(c, dr, 0, false), last - 1, columns), 1);
}

/// w' = diag(VT dA V), V' = V (F * VT dA V) with F = 1 / (w_j - w_i).
void eigh(TangentCall& c) {
  V w = c.y(0), v = c.y(1);
  V inner = c.t.matmul(c.t.matmul(transposed(c.p, v), symmetric(c, c.dx())), v);
  c.add(c.t.diagonal(inner, 0), 0);
  V f = reciprocalOffDiagonal(c.p, c.p.sub(asRow(c.p, w), asColumn(c.p, w)));
  c.add(c.t.matmul(v, c.t.mul(f, inner)), 1);
}

void svd(TangentCall& c) {
  const int64_t m = rowsOf(c.x()), n = columnsOf(c.x()), k = std::min(m, n);
  V dx = c.dx();
  const int64_t last = dx->type.rank() - 1, columns = columnsOf(c.y(0)), rows = rowsOf(c.y(2));
  if ((columns > k && !readsFirstAlone(*c.op.result(0), static_cast<size_t>(last), k)) ||
      (rows > k && !readsFirstAlone(*c.op.result(2), static_cast<size_t>(last - 1), k))) {
    c.refusal =
        "the last vectors of a full `svd`, which have no derivative: they are any basis of what the others leave";
    c.remedy = "the singular values and the first vectors have a derivative: `full_matrices: false` gives those alone";
    return;
  }
  V u = firstPlaces(c.p, c.y(0), last, k), s = c.y(1), vt = firstPlaces(c.p, c.y(2), last - 1, k);
  V ut = transposed(c.p, u), v = transposed(c.p, vt);
  V inner = c.t.matmul(c.t.matmul(ut, dx), v);
  c.add(c.t.diagonal(inner, 0), 1);
  V row = asRow(c.p, s), column = asColumn(c.p, s);
  // 1 / (s_j^2 - s_i^2), as a product so that close values keep their digits.
  V f = reciprocalOffDiagonal(c.p, c.p.mul(c.p.add(row, column), c.p.sub(row, column)));
  auto turned = [&](V part) { return c.t.mul(f, c.t.add(part, transposed(c.t, part))); };
  V du = c.t.matmul(u, turned(c.t.mul(row, inner)));
  V dv = c.t.matmul(v, turned(c.t.mul(column, inner)));
  if (m > n) {
    V image = c.t.matmul(dx, v);
    du = c.t.add(du, c.t.div(c.t.sub(image, c.t.matmul(u, c.t.matmul(ut, image))), row));
  }
  if (n > m) {
    V image = c.t.matmul(transposed(c.t, dx), u);
    dv = c.t.add(dv, c.t.div(c.t.sub(image, c.t.matmul(v, c.t.matmul(vt, image))), row));
  }
  c.add(padded(c.t, du, last, columns), 0);
  c.add(padded(c.t, transposed(c.t, dv), last - 1, rows), 2);
}

void singularValues(TangentCall& c) {
  ir::Op* whole = c.p.b.make(OpKind::Svd, {c.x()}, {{"full", false}});
  V ut = transposed(c.p, whole->result(0)), v = transposed(c.p, whole->result(2));
  c.add(c.t.diagonal(c.t.matmul(c.t.matmul(ut, c.dx()), v), 0));
}

/// Golub and Pereyra 1973, of matrices whose rank does not change: with P the pseudoinverse and r = b - a x,
/// x' = P (db - da x) + P PT daT r + (1 - P a) daT PT x.
void lstsq(TangentCall& c) {
  V a = c.x(0), b = c.x(1), x = c.y();
  V inverse = pseudoInverse(c.p, a);
  V da = c.dx(0), right = c.dx(1);
  if (da != nullptr) {
    V part = c.t.unary(OpKind::Neg, c.t.matmul(da, x));
    right = right == nullptr ? part : c.t.add(right, part);
  }
  V result = c.t.matmul(inverse, right);
  if (da != nullptr) {
    V inverseT = transposed(c.p, inverse), residual = c.p.sub(b, c.p.matmul(a, x)), dat = transposed(c.t, da);
    result = c.t.add(result, c.t.matmul(inverse, c.t.matmul(inverseT, c.t.matmul(dat, residual))));
    V part = c.t.matmul(dat, c.p.matmul(inverseT, x));
    result = c.t.add(result, c.t.sub(part, c.t.matmul(inverse, c.t.matmul(a, part))));
  }
  c.add(result, 0);
}

}  // namespace tenc::transforms::rules
