// Private to the interpreter: linear algebra on one matrix in long double, by textbook methods.
#pragma once
#include <vector>

#include "interp/TensorOps.h"

namespace tenc::interp {

/// A row-major matrix of m x n.
struct Matrix {
  int64_t m = 0, n = 0;
  std::vector<long double> x;
  Matrix(int64_t rows, int64_t columns) : m(rows), n(columns), x(static_cast<size_t>(rows * columns), 0) {}
  long double& operator()(int64_t i, int64_t j) { return x[static_cast<size_t>(i * n + j)]; }
  long double operator()(int64_t i, int64_t j) const { return x[static_cast<size_t>(i * n + j)]; }
};

enum class MatrixFault : uint8_t { None, Singular, NotPositiveDefinite, NotFinite };

/// Gauss with partial pivoting: pivots in order and the sign of the permutation.
void gaussPivots(Matrix a, std::vector<long double>& pivots, long double& sign);
/// a x = b, in b (Gauss-Jordan with partial pivoting).
MatrixFault gaussSolve(Matrix a, Matrix& b);
MatrixFault substitute(const Matrix& a, Matrix& b, bool lower, bool unit);
/// The lower factor, from the lower triangle of a.
MatrixFault choleskyFactor(const Matrix& a, Matrix& l);
/// Householder reflections: a = q r with q m x k, r k x n. The sign of each r(i, i) is that of LAPACK's dlarfg.
void householderQr(const Matrix& a, Matrix& q, Matrix& r);
/// Cyclic Jacobi rotations on the symmetric matrix of a's lower triangle: ascending values, vectors as columns.
MatrixFault jacobiEigen(const Matrix& a, std::vector<long double>& values, Matrix& vectors);
/// One-sided Jacobi (Hestenes 1958): a = u diag(s) vh with s descending; u is m x m or m x min, vh n x n or min x n.
MatrixFault jacobiSvd(const Matrix& a, Matrix& u, std::vector<long double>& s, Matrix& vh);
/// The solution of least norm: singular values at most epsilon * max(m, n) times the largest count as 0.
MatrixFault leastSquares(const Matrix& a, const Matrix& b, long double epsilon, Matrix& x, int64_t& rank,
                         std::vector<long double>& s);

}  // namespace tenc::interp
