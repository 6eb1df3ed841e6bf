// Golub and Van Loan, Matrix Computations, in their plainest form: the reference for what LAPACK computes.
#include "interp/LinearAlgebra.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenc::interp {
namespace {

bool finite(const Matrix& a) {
  return std::all_of(a.x.begin(), a.x.end(), [](long double v) { return std::isfinite(v); });
}

void swapRows(Matrix& a, int64_t i, int64_t j) {
  for (int64_t c = 0; c < a.n && i != j; ++c) std::swap(a(i, c), a(j, c));
}

/// The row with the largest element of column k from row k on.
int64_t pivotRow(const Matrix& a, int64_t k) {
  int64_t best = k;
  for (int64_t i = k + 1; i < a.m; ++i)
    if (std::fabs(a(i, k)) > std::fabs(a(best, k))) best = i;
  return best;
}

/// Takes `factor` times row `from` from row `to`, from column `first` on.
void eliminate(Matrix& a, int64_t to, int64_t from, long double factor, int64_t first) {
  for (int64_t c = first; c < a.n; ++c) a(to, c) -= factor * a(from, c);
}

long double dotColumns(const Matrix& a, int64_t p, int64_t q) {
  long double sum = 0;
  for (int64_t i = 0; i < a.m; ++i) sum += a(i, p) * a(i, q);
  return sum;
}

void rotateColumns(Matrix& a, int64_t p, int64_t q, long double c, long double s) {
  for (int64_t i = 0; i < a.m; ++i) {
    const long double x = a(i, p), y = a(i, q);
    a(i, p) = c * x - s * y;
    a(i, q) = s * x + c * y;
  }
}

/// Cosine and sine that make the off-diagonal `b` of [[a, b], [b, d]] zero.
std::pair<long double, long double> rotation(long double a, long double b, long double d) {
  const long double theta = (d - a) / (2 * b);
  const long double t = (theta >= 0 ? 1 : -1) / (std::fabs(theta) + std::hypot(theta, 1.0L));
  const long double c = 1 / std::hypot(t, 1.0L);
  return {c, t * c};
}

Matrix transposed(const Matrix& a) {
  Matrix t(a.n, a.m);
  for (int64_t i = 0; i < a.m; ++i)
    for (int64_t j = 0; j < a.n; ++j) t(j, i) = a(i, j);
  return t;
}

/// Fills the columns of u from `known` on so that all are orthonormal (Gram-Schmidt on unit vectors, twice).
void completeBasis(Matrix& u, int64_t known) {
  int64_t next = 0;
  for (int64_t j = known; j < u.n; ++j) {
    for (long double norm = 0; norm < 0.5L / std::sqrt(static_cast<long double>(u.m)); ++next) {
      for (int64_t i = 0; i < u.m; ++i) u(i, j) = i == next % u.m;
      for (int pass = 0; pass < 2; ++pass) {
        for (int64_t p = 0; p < j; ++p) {
          const long double along = dotColumns(u, p, j);
          for (int64_t i = 0; i < u.m; ++i) u(i, j) -= along * u(i, p);
        }
      }
      norm = std::sqrt(dotColumns(u, j, j));
      if (norm < 0.5L / std::sqrt(static_cast<long double>(u.m))) continue;
      for (int64_t i = 0; i < u.m; ++i) u(i, j) /= norm;
    }
  }
}

}  // namespace

void gaussPivots(Matrix a, std::vector<long double>& pivots, long double& sign) {
  sign = 1;
  for (int64_t k = 0; k < a.n; ++k) {
    const int64_t row = pivotRow(a, k);
    if (row != k) sign = -sign;
    swapRows(a, k, row);
    pivots[static_cast<size_t>(k)] = a(k, k);
    for (int64_t i = k + 1; i < a.m && a(k, k) != 0; ++i) eliminate(a, i, k, a(i, k) / a(k, k), k);
  }
}

MatrixFault gaussSolve(Matrix a, Matrix& b) {
  for (int64_t k = 0; k < a.n; ++k) {
    const int64_t row = pivotRow(a, k);
    if (a(row, k) == 0) return MatrixFault::Singular;
    swapRows(a, k, row);
    swapRows(b, k, row);
    for (int64_t i = 0; i < a.m; ++i) {
      if (i == k) continue;
      const long double factor = a(i, k) / a(k, k);
      eliminate(a, i, k, factor, k);
      eliminate(b, i, k, factor, 0);
    }
  }
  for (int64_t i = 0; i < b.m; ++i)
    for (int64_t j = 0; j < b.n; ++j) b(i, j) /= a(i, i);
  return MatrixFault::None;
}

MatrixFault substitute(const Matrix& a, Matrix& b, bool lower, bool unit) {
  for (int64_t i = 0; i < a.n && !unit; ++i)
    if (a(i, i) == 0) return MatrixFault::Singular;
  for (int64_t step = 0; step < a.n; ++step) {
    const int64_t i = lower ? step : a.n - 1 - step;
    for (int64_t j = 0; j < b.n; ++j) {
      for (int64_t p = lower ? 0 : i + 1; p < (lower ? i : a.n); ++p) b(i, j) -= a(i, p) * b(p, j);
      if (!unit) b(i, j) /= a(i, i);
    }
  }
  return MatrixFault::None;
}

MatrixFault choleskyFactor(const Matrix& a, Matrix& l) {
  for (int64_t j = 0; j < a.n; ++j) {
    for (int64_t i = j; i < a.n; ++i) {
      long double sum = a(i, j);
      for (int64_t p = 0; p < j; ++p) sum -= l(i, p) * l(j, p);
      if (i > j) {
        l(i, j) = sum / l(j, j);
      } else if (sum > 0) {
        l(j, j) = std::sqrt(sum);
      } else {
        return MatrixFault::NotPositiveDefinite;
      }
    }
  }
  return MatrixFault::None;
}

void householderQr(const Matrix& a, Matrix& q, Matrix& r) {
  Matrix work = a;
  Matrix basis(a.m, a.m);
  for (int64_t i = 0; i < a.m; ++i) basis(i, i) = 1;
  for (int64_t k = 0; k < std::min(a.m, a.n); ++k) {
    long double below = 0;
    for (int64_t i = k + 1; i < a.m; ++i) below += work(i, k) * work(i, k);
    if (below == 0) continue;  // no reflection: the sign of the element stays
    const long double alpha = work(k, k);
    const long double norm = std::sqrt(alpha * alpha + below);
    std::vector<long double> v(static_cast<size_t>(a.m), 0);
    v[static_cast<size_t>(k)] = alpha + (std::signbit(alpha) ? -norm : norm);
    for (int64_t i = k + 1; i < a.m; ++i) v[static_cast<size_t>(i)] = work(i, k);
    const long double length = v[static_cast<size_t>(k)] * v[static_cast<size_t>(k)] + below;
    // work = (I - 2 v v' / v'v) work, basis = basis (I - 2 v v' / v'v)
    for (int64_t j = k; j < a.n; ++j) {
      long double along = 0;
      for (int64_t i = k; i < a.m; ++i) along += v[static_cast<size_t>(i)] * work(i, j);
      for (int64_t i = k; i < a.m; ++i) work(i, j) -= 2 * along / length * v[static_cast<size_t>(i)];
    }
    for (int64_t i = 0; i < a.m; ++i) {
      long double along = 0;
      for (int64_t j = k; j < a.m; ++j) along += basis(i, j) * v[static_cast<size_t>(j)];
      for (int64_t j = k; j < a.m; ++j) basis(i, j) -= 2 * along / length * v[static_cast<size_t>(j)];
    }
  }
  for (int64_t i = 0; i < q.m; ++i)
    for (int64_t j = 0; j < q.n; ++j) q(i, j) = basis(i, j);
  for (int64_t i = 0; i < r.m; ++i)
    for (int64_t j = 0; j < r.n; ++j) r(i, j) = j >= i ? work(i, j) : 0;
}

MatrixFault jacobiEigen(const Matrix& a, std::vector<long double>& values, Matrix& vectors) {
  const int64_t n = a.n;
  Matrix d(n, n), v(n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) d(i, j) = j <= i ? a(i, j) : a(j, i);
  if (!finite(d)) return MatrixFault::NotFinite;
  for (int64_t i = 0; i < n; ++i) v(i, i) = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool done = true;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        if (std::fabs(d(p, q)) <= 1e-20L * std::sqrt(std::fabs(d(p, p)) * std::fabs(d(q, q))) || d(p, q) == 0) continue;
        done = done && std::fabs(d(p, q)) < 1e-300L;
        const auto [c, s] = rotation(d(p, p), d(p, q), d(q, q));
        rotateColumns(d, p, q, c, s);
        for (int64_t j = 0; j < n; ++j) {
          const long double x = d(p, j), y = d(q, j);
          d(p, j) = c * x - s * y;
          d(q, j) = s * x + c * y;
        }
        d(p, q) = d(q, p) = 0;
        rotateColumns(v, p, q, c, s);
      }
    }
    if (done) break;
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d(i, i) < d(j, j); });
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    values[static_cast<size_t>(j)] = d(from, from);
    for (int64_t i = 0; i < n; ++i) vectors(i, j) = v(i, from);
  }
  return MatrixFault::None;
}

MatrixFault jacobiSvd(const Matrix& a, Matrix& u, std::vector<long double>& s, Matrix& vh) {
  if (!finite(a)) return MatrixFault::NotFinite;
  if (a.m < a.n) {  // that of the transpose, with u and v exchanged
    Matrix ut(vh.n, vh.m), vt(u.n, u.m);
    const MatrixFault fault = jacobiSvd(transposed(a), ut, s, vt);
    u = transposed(vt);
    vh = transposed(ut);
    return fault;
  }
  Matrix w = a, v(a.n, a.n);
  for (int64_t i = 0; i < a.n; ++i) v(i, i) = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool done = true;
    for (int64_t p = 0; p < a.n; ++p) {
      for (int64_t q = p + 1; q < a.n; ++q) {
        const long double alpha = dotColumns(w, p, p), beta = dotColumns(w, q, q), gamma = dotColumns(w, p, q);
        if (gamma == 0 || std::fabs(gamma) <= 1e-19L * std::sqrt(alpha * beta)) continue;
        done = false;
        const auto [c, t] = rotation(alpha, gamma, beta);
        rotateColumns(w, p, q, c, t);
        rotateColumns(v, p, q, c, t);
      }
    }
    if (done) break;
  }
  std::vector<long double> norm(static_cast<size_t>(a.n));
  for (int64_t j = 0; j < a.n; ++j) norm[static_cast<size_t>(j)] = std::sqrt(dotColumns(w, j, j));
  std::vector<int64_t> order(norm.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return norm[static_cast<size_t>(i)] > norm[static_cast<size_t>(j)]; });
  int64_t known = 0;
  for (int64_t j = 0; j < a.n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    const long double length = norm[static_cast<size_t>(from)];
    s[static_cast<size_t>(j)] = length;
    // Columns that are rounding alone are no directions.
    if (length > 1e-18L * norm[static_cast<size_t>(order[0])]) {
      for (int64_t i = 0; i < a.m; ++i) u(i, j) = w(i, from) / length;
      known = j + 1;
    }
    for (int64_t i = 0; i < a.n; ++i) vh(j, i) = v(i, from);
  }
  completeBasis(u, known);
  return MatrixFault::None;
}

MatrixFault leastSquares(const Matrix& a, const Matrix& b, long double epsilon, Matrix& x, int64_t& rank,
                         std::vector<long double>& s) {
  const int64_t least = std::min(a.m, a.n);
  Matrix u(a.m, least), vh(least, a.n);
  if (!finite(b)) return MatrixFault::NotFinite;
  if (const MatrixFault fault = jacobiSvd(a, u, s, vh); fault != MatrixFault::None) return fault;
  const long double cutoff = least == 0 ? 0 : epsilon * static_cast<long double>(std::max(a.m, a.n)) * s[0];
  for (rank = 0; rank < least && s[static_cast<size_t>(rank)] > cutoff;) ++rank;
  for (int64_t j = 0; j < b.n; ++j) {
    for (int64_t p = 0; p < rank; ++p) {
      long double along = 0;
      for (int64_t i = 0; i < a.m; ++i) along += u(i, p) * b(i, j);
      for (int64_t i = 0; i < a.n; ++i) x(i, j) += along / s[static_cast<size_t>(p)] * vh(p, i);
    }
  }
  return MatrixFault::None;
}

}  // namespace tenc::interp
