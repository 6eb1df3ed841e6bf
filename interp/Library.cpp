// Library ops row by row and matrix by matrix: what they mean, by the plainest method.
#include <algorithm>
#include <numeric>

#include "interp/LinearAlgebra.h"

namespace tenc::interp {
namespace {

/// Whether a comes before b: NaN is the largest, -0 equals +0.
bool before(Number a, Number b, ir::DType t) {
  const bool aNan = ir::isFloat(t) && a.f != a.f, bNan = ir::isFloat(t) && b.f != b.f;
  if (aNan || bNan) return bNan && !aNan;
  return compare(a, b, t) < 0;
}

}  // namespace

std::vector<int64_t> order(const Tensor& x, int64_t from, int64_t n, bool descending) {
  std::vector<int64_t> places(static_cast<size_t>(n));
  std::iota(places.begin(), places.end(), 0);
  const ir::DType t = x.type.dtype;
  std::stable_sort(places.begin(), places.end(), [&](int64_t i, int64_t j) {
    return descending ? before(at(x, from + j), at(x, from + i), t) : before(at(x, from + i), at(x, from + j), t);
  });
  return places;
}

namespace {

/// The first `count` elements of each row in order, as values and as places; either may be null.
void sortRows(const Tensor& x, bool descending, int64_t count, Tensor* values, Tensor* places) {
  const int64_t n = x.type.shape.back();
  const int64_t rows = n == 0 ? 0 : x.type.size() / n;
  for (int64_t r = 0; r < rows; ++r) {
    const auto sorted = order(x, r * n, n, descending);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = sorted[static_cast<size_t>(i)];
      // The element's own bits: a NaN keeps its payload.
      if (values) {
        const auto width = static_cast<size_t>(ir::byteSize(x.type.dtype));
        std::copy_n(x.data->data() + static_cast<size_t>(r * n + place) * width, width,
                    values->data->data() + static_cast<size_t>(r * count + i) * width);
      }
      if (places) put(*places, r * count + i, {0, place});
    }
  }
}

// ---- linear algebra

/// Item `item` of a batch of matrices (or of vectors, as one column) of m x n.
Matrix matrixOf(const Tensor& t, int64_t item, int64_t m, int64_t n) {
  Matrix a(m, n);
  for (int64_t i = 0; i < m * n; ++i) a.x[static_cast<size_t>(i)] = at(t, item * m * n + i).f;
  return a;
}

void putAll(Tensor& t, int64_t item, const std::vector<long double>& x) {
  const auto n = static_cast<int64_t>(x.size());
  for (int64_t i = 0; i < n; ++i) put(t, item * n + i, {roundTo(t.type.dtype, x[static_cast<size_t>(i)]), 0});
}

std::string_view describe(MatrixFault f) {
  return f == MatrixFault::Singular              ? "is singular"
         : f == MatrixFault::NotPositiveDefinite ? "is not positive definite"
                                                 : "holds an infinity or NaN";
}

MatrixFault oneMatrix(const ir::Op& op, Operands in, std::span<Tensor> out, int64_t item) {
  const auto& s = in[0].type.shape;
  const int64_t m = s[s.size() - 2], n = s.back(), least = std::min(m, n);
  const Matrix a = matrixOf(in[0], item, m, n);
  auto columns = [](const Tensor& t) { return t.type.shape.back(); };
  auto rowsOf = [](const Tensor& t) { return t.type.shape[t.type.shape.size() - 2]; };
  std::vector<long double> values(static_cast<size_t>(least));
  MatrixFault fault = MatrixFault::None;
  switch (op.kind) {
    case ir::OpKind::Pivots: {
      long double sign = 1;
      gaussPivots(a, values, sign);
      putAll(out[0], item, values);
      putAll(out[1], item, {sign});
      return fault;
    }
    case ir::OpKind::Inverse: {
      Matrix b(n, n);
      for (int64_t i = 0; i < n; ++i) b(i, i) = 1;
      fault = gaussSolve(a, b);
      putAll(out[0], item, b.x);
      return fault;
    }
    case ir::OpKind::Solve:
    case ir::OpKind::SolveTriangular: {
      Matrix b = matrixOf(in[1], item, n, columns(in[1]));
      fault =
          op.kind == ir::OpKind::Solve ? gaussSolve(a, b) : substitute(a, b, op.boolAttr("lower"), op.boolAttr("unit"));
      putAll(out[0], item, b.x);
      return fault;
    }
    case ir::OpKind::Cholesky: {
      Matrix l(n, n);
      fault = choleskyFactor(a, l);
      putAll(out[0], item, l.x);
      return fault;
    }
    case ir::OpKind::Qr: {
      Matrix q(m, columns(out[0])), r(columns(out[0]), n);
      householderQr(a, q, r);
      putAll(out[0], item, q.x);
      putAll(out[1], item, r.x);
      return fault;
    }
    case ir::OpKind::Eigh: {
      Matrix v(n, n);
      fault = jacobiEigen(a, values, v);
      putAll(out[0], item, values);
      putAll(out[1], item, v.x);
      return fault;
    }
    case ir::OpKind::Svd: {
      Matrix u(m, columns(out[0])), vh(rowsOf(out[2]), n);
      fault = jacobiSvd(a, u, values, vh);
      putAll(out[0], item, u.x);
      putAll(out[1], item, values);
      putAll(out[2], item, vh.x);
      return fault;
    }
    case ir::OpKind::SingularValues: {
      Matrix u(m, least), vh(least, n);
      fault = jacobiSvd(a, u, values, vh);
      putAll(out[0], item, values);
      return fault;
    }
    default: {
      const bool narrow = in[0].type.dtype == ir::DType::F32;
      Matrix x(n, columns(in[1]));
      int64_t rank = 0;
      fault = leastSquares(a, matrixOf(in[1], item, m, columns(in[1])), narrow ? 0x1p-23L : 0x1p-52L, x, rank, values);
      putAll(out[0], item, x.x);
      put(out[1], item, {0, rank});
      putAll(out[2], item, values);
      return fault;
    }
  }
}

MaybeFailure matrices(const ir::Op& op, Operands in, std::span<Tensor> out) {
  int64_t batch = 1;
  for (size_t d = 0; d + 2 < in[0].type.shape.size(); ++d) batch *= in[0].type.shape[d];
  for (int64_t item = 0; item < batch; ++item) {
    const MatrixFault fault = oneMatrix(op, in, out, item);
    if (fault == MatrixFault::None) continue;
    return Failure{Code::E0905, "the matrix " + std::string(describe(fault))};
  }
  return {};
}

}  // namespace

MaybeFailure library(const ir::Op& op, Operands in, std::span<Tensor> out) {
  const int64_t n = in[0].type.shape.back();
  switch (op.kind) {
    case ir::OpKind::Sort: sortRows(in[0], op.boolAttr("descending"), n, &out[0], nullptr); return {};
    case ir::OpKind::ArgSort: sortRows(in[0], op.boolAttr("descending"), n, nullptr, &out[0]); return {};
    case ir::OpKind::TopK: sortRows(in[0], op.boolAttr("largest"), op.intAttr("k"), &out[0], &out[1]); return {};
    default: return matrices(op, in, out);
  }
}

}  // namespace tenc::interp
