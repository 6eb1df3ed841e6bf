#include "tests/cuda/vm/cusolver/Decompose.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenc::ptx::cusolver {
namespace {

constexpr int kMostSweeps = 80;
constexpr double kSmall = 1e-15;

/// The cosine and sine that make the product of two directions zero.
std::pair<double, double> rotation(double difference, double twice) {
  const double zeta = difference / twice;
  const double t = (zeta < 0 ? -1.0 : 1.0) / (std::abs(zeta) + std::hypot(zeta, 1.0));
  const double c = 1 / std::hypot(t, 1.0);
  return {c, t * c};
}

void rotate(Dense& a, int64_t p, int64_t q, double c, double s) {
  for (int64_t i = 0; i < a.rows; ++i) {
    const double x = a.at(i, p), y = a.at(i, q);
    a.at(i, p) = c * x - s * y;
    a.at(i, q) = s * x + c * y;
  }
}

double product(Dense& a, int64_t p, Dense& b, int64_t q) {
  double sum = 0;
  for (int64_t i = 0; i < a.rows; ++i) sum += a.at(i, p) * b.at(i, q);
  return sum;
}

Dense identity(int64_t n) {
  Dense a(n, n);
  for (int64_t i = 0; i < n; ++i) a.at(i, i) = 1;
  return a;
}

/// Columns in another order.
Dense permuted(Dense& a, const std::vector<int64_t>& order) {
  Dense b(a.rows, static_cast<int64_t>(order.size()));
  for (int64_t j = 0; j < b.columns; ++j)
    for (int64_t i = 0; i < a.rows; ++i) b.at(i, j) = a.at(i, order[static_cast<size_t>(j)]);
  return b;
}

/// Column j becomes a direction that the columns before it lack.
void complete(Dense& u, int64_t j) {
  for (int64_t unit = 0; unit < u.rows; ++unit) {
    for (int64_t i = 0; i < u.rows; ++i) u.at(i, j) = i == unit;
    for (int twice = 0; twice < 2; ++twice)
      for (int64_t k = 0; k < j; ++k) {
        const double part = product(u, k, u, j);
        for (int64_t i = 0; i < u.rows; ++i) u.at(i, j) -= part * u.at(i, k);
      }
    const double size = std::sqrt(product(u, j, u, j));
    if (size * size * static_cast<double>(u.rows) < 0.5) continue;  // some unit vector has that much of what is missing
    for (int64_t i = 0; i < u.rows; ++i) u.at(i, j) /= size;
    return;
  }
}

/// Makes the largest entry about 1, by a power of two, so that squares are numbers; gives that power.
double scaled(Dense& a) {
  double most = 0;
  for (const double v : a.all) most = std::max(most, std::abs(v));
  if (most == 0 || !std::isfinite(most)) return 1;
  const double unit = std::ldexp(1.0, std::ilogb(most));
  for (double& v : a.all) v /= unit;
  return unit;
}

}  // namespace

int eliminate(Dense& a, std::vector<int64_t>& exchanged) {
  const int64_t n = a.rows;
  for (int64_t k = 0; k < n; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::abs(a.at(i, k)) > std::abs(a.at(best, k))) best = i;
    if (a.at(best, k) == 0) return static_cast<int>(k + 1);
    exchanged.push_back(best + 1);
    for (int64_t j = 0; j < n; ++j) std::swap(a.at(k, j), a.at(best, j));
    for (int64_t i = k + 1; i < n; ++i) a.at(i, k) /= a.at(k, k);
    for (int64_t j = k + 1; j < n; ++j)
      for (int64_t i = k + 1; i < n; ++i) a.at(i, j) -= a.at(i, k) * a.at(k, j);
  }
  return 0;
}

void substitute(Dense& a, const std::vector<int64_t>& exchanged, bool transposed, Dense& b) {
  const int64_t n = a.rows;
  const auto entry = [&](int64_t i, int64_t j) { return transposed ? a.at(j, i) : a.at(i, j); };
  const auto exchange = [&](int64_t i) {
    for (int64_t j = 0; j < b.columns; ++j) std::swap(b.at(i, j), b.at(exchanged[static_cast<size_t>(i)] - 1, j));
  };
  if (!transposed)
    for (int64_t i = 0; i < n; ++i) exchange(i);
  for (int64_t j = 0; j < b.columns; ++j) {
    // The lower factor has ones on its diagonal.
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < i; ++k) b.at(i, j) -= entry(i, k) * b.at(k, j);
      if (transposed) b.at(i, j) /= entry(i, i);
    }
    for (int64_t i = n - 1; i >= 0; --i) {
      for (int64_t k = i + 1; k < n; ++k) b.at(i, j) -= entry(i, k) * b.at(k, j);
      if (!transposed) b.at(i, j) /= entry(i, i);
    }
  }
  if (transposed)
    for (int64_t i = n - 1; i >= 0; --i) exchange(i);
}

int cholesky(Dense& a) {
  const int64_t n = a.rows;
  for (int64_t k = 0; k < n; ++k) {
    if (!(a.at(k, k) > 0)) return static_cast<int>(k + 1);
    a.at(k, k) = std::sqrt(a.at(k, k));
    for (int64_t i = k + 1; i < n; ++i) a.at(i, k) /= a.at(k, k);
    for (int64_t j = k + 1; j < n; ++j)
      for (int64_t i = j; i < n; ++i) a.at(i, j) -= a.at(i, k) * a.at(j, k);
  }
  return 0;
}

void householder(Dense& a, std::vector<double>& scales) {
  for (int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    double below = 0;
    for (int64_t i = k + 1; i < a.rows; ++i) below = std::hypot(below, a.at(i, k));
    const double first = a.at(k, k);
    const double beta = below == 0 ? first : std::copysign(std::hypot(first, below), -first);
    const double scale = below == 0 ? 0 : (beta - first) / beta;
    scales.push_back(scale);
    for (int64_t i = k + 1; below != 0 && i < a.rows; ++i) a.at(i, k) /= first - beta;
    a.at(k, k) = beta;
    for (int64_t j = k + 1; j < a.columns; ++j) {
      double sum = a.at(k, j);
      for (int64_t i = k + 1; i < a.rows; ++i) sum += a.at(i, k) * a.at(i, j);
      a.at(k, j) -= scale * sum;
      for (int64_t i = k + 1; i < a.rows; ++i) a.at(i, j) -= scale * sum * a.at(i, k);
    }
  }
}

void reflections(Dense& a, const std::vector<double>& scales) {
  Dense q(a.rows, a.columns);
  for (int64_t j = 0; j < q.columns; ++j) q.at(j, j) = 1;
  for (auto k = static_cast<int64_t>(scales.size()) - 1; k >= 0; --k)
    for (int64_t j = 0; j < q.columns; ++j) {
      double sum = q.at(k, j);
      for (int64_t i = k + 1; i < q.rows; ++i) sum += a.at(i, k) * q.at(i, j);
      sum *= scales[static_cast<size_t>(k)];
      q.at(k, j) -= sum;
      for (int64_t i = k + 1; i < q.rows; ++i) q.at(i, j) -= sum * a.at(i, k);
    }
  a = std::move(q);
}

std::vector<double> eigenvectors(Dense& a) {
  const int64_t n = a.rows;
  const double unit = scaled(a);
  Dense v = identity(n);
  const double norm = std::sqrt(std::inner_product(a.all.begin(), a.all.end(), a.all.begin(), 0.0));
  for (int sweep = 0; sweep < kMostSweeps; ++sweep)
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        if (std::abs(a.at(p, q)) <= kSmall * norm / static_cast<double>(n)) continue;
        const auto [c, s] = rotation(a.at(q, q) - a.at(p, p), 2 * a.at(p, q));
        rotate(a, p, q, c, s);
        for (int64_t i = 0; i < n; ++i) {
          const double x = a.at(p, i), y = a.at(q, i);
          a.at(p, i) = c * x - s * y;
          a.at(q, i) = s * x + c * y;
        }
        rotate(v, p, q, c, s);
      }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return a.at(x, x) < a.at(y, y); });
  std::vector<double> values;
  for (const int64_t i : order) values.push_back(a.at(i, i) * unit);
  a = permuted(v, order);
  return values;
}

std::vector<double> singularVectors(Dense a, Dense& u, Dense& v) {
  const int64_t n = a.columns;
  const double unit = scaled(a);
  v = identity(n);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep)
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        const double pp = product(a, p, a, p), qq = product(a, q, a, q), pq = product(a, p, a, q);
        if (std::abs(pq) <= kSmall * std::sqrt(pp) * std::sqrt(qq) || pq == 0) continue;
        const auto [c, s] = rotation(qq - pp, 2 * pq);
        rotate(a, p, q, c, s);
        rotate(v, p, q, c, s);
      }
  std::vector<double> sizes;
  for (int64_t j = 0; j < n; ++j) sizes.push_back(std::sqrt(product(a, j, a, j)));
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](int64_t j) { return sizes[static_cast<size_t>(j)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return size(x) > size(y); });
  v = permuted(v, order);
  std::vector<double> values;
  for (const int64_t j : order) values.push_back(size(j));
  for (int64_t j = 0; j < u.columns; ++j) {
    if (j >= n || values[static_cast<size_t>(j)] <= kSmall * values[0]) {
      complete(u, j);
      continue;
    }
    const int64_t from = order[static_cast<size_t>(j)];
    for (int64_t i = 0; i < u.rows; ++i) u.at(i, j) = a.at(i, from) / size(from);
  }
  for (double& value : values) value *= unit;
  return values;
}

}  // namespace tenc::ptx::cusolver
