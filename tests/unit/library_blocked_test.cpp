// Factorisations of matrices in blocks: what they are by definition, and the same for every order of items and batch.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "runtime/library/Library.h"

namespace {

namespace abi = tenc::abi;
using namespace tenc::rt::library;

using Matrix = std::vector<double>;
using Shape = std::vector<int64_t>;

abi::TensorRef tensor(Shape shape) {
  abi::TensorRef t;
  t.dtype = abi::dtype::F64;
  t.shape = std::move(shape);
  return t;
}

int64_t elements(const abi::TensorRef& t) {
  int64_t n = 1;
  for (const int64_t d : t.shape) n *= d;
  return n;
}

Matrix randoms(int64_t count, uint32_t seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  Matrix x(static_cast<size_t>(count));
  for (double& v : x) v = normal(bits);
  return x;
}

struct Outcome {
  Failure failure = Failure::None;
  std::vector<Matrix> results;
};

/// Runs all phases, the items of each forwards or backwards.
Outcome run(const Call& call, std::vector<Matrix> operands, bool backwards = false) {
  EXPECT_EQ(problemOf(call), "");
  EXPECT_TRUE(reserveMatrices(1));
  Outcome out;
  for (const abi::TensorRef& t : call.results) out.results.emplace_back(static_cast<size_t>(elements(t)), -7.0);
  std::vector<void*> buffers;
  for (Matrix& m : operands) buffers.push_back(m.data());
  for (Matrix& m : out.results) buffers.push_back(m.data());
  const Routine& routine = *find(call.routine);
  const Plan plan = routine.plan(call);
  Matrix scratch(plan.scratchBytes / 8 + 8, NAN), shared(plan.sharedBytes / 8 + 8, NAN);
  for (size_t p = 0; p < plan.phases.size() && out.failure == Failure::None; ++p) {
    const int64_t items = plan.phases[p].items;
    for (int64_t i = 0; i < items && out.failure == Failure::None; ++i) {
      const int64_t number = backwards ? items - 1 - i : i;
      out.failure =
          routine.run(call, buffers.data(), {static_cast<int64_t>(p), number, 1, scratch.data(), shared.data()});
    }
  }
  return out;
}

/// a times b, of m x n and n x k.
Matrix product(const double* a, const double* b, int64_t m, int64_t n, int64_t k) {
  Matrix c(static_cast<size_t>(m * k));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < n; ++p)
      for (int64_t j = 0; j < k; ++j) c[static_cast<size_t>(i * k + j)] += a[i * n + p] * b[p * k + j];
  return c;
}

Matrix transposed(const Matrix& a, int64_t m, int64_t n) {
  Matrix t(a.size());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) t[static_cast<size_t>(j * m + i)] = a[static_cast<size_t>(i * n + j)];
  return t;
}

Matrix identity(int64_t n) {
  Matrix a(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i) a[static_cast<size_t>(i * n + i)] = 1;
  return a;
}

void expectNear(const Matrix& got, const Matrix& expected, double bound) {
  ASSERT_EQ(got.size(), expected.size());
  double most = 0;
  for (size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(got[i] - expected[i]));
  EXPECT_LE(most, bound);
}

Call square(const char* routine, int64_t n) { return {routine, {tensor({n, n})}, {tensor({n, n})}, {}}; }

constexpr int64_t kSides[] = {65, 128, 200, 321};

TEST(Blocked, InverseAndSolution) {
  for (const int64_t n : kSides) {
    SCOPED_TRACE(n);
    const Matrix a = randoms(n * n, 1);
    const Matrix inverse = run(square("inv", n), {a}).results[0];
    expectNear(product(a.data(), inverse.data(), n, n, n), identity(n), 1e-9);
    for (const int64_t k : {1, 7, 150}) {
      const Matrix b = randoms(n * k, 2);
      const Call solve{"solve", {tensor({n, n}), tensor({n, k})}, {tensor({n, k})}, {}};
      expectNear(product(a.data(), run(solve, {a, b}).results[0].data(), n, n, k), b, 1e-9);
    }
  }
}

struct Sides {
  int64_t m, n;
};

TEST(Blocked, TrianglesAreSolvedWithoutTheOtherOne) {
  for (const auto& [n, k] :
       {Sides{130, 1}, Sides{130, 300}, Sides{390, 1}, Sides{390, 2}, Sides{400, 50}, Sides{390, 300}})
    for (const bool lower : {true, false})
      for (const bool unit : {true, false}) {
        SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(k));
        Matrix t = randoms(n * n, 3);
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double& v = t[static_cast<size_t>(i * n + j)];
            v = i == j ? (unit ? 1 : 2 + std::abs(v)) : (j < i) == lower ? v / n : 0;
          }
        Matrix given = t;
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < n; ++j)
            if (i == j ? unit : (j < i) != lower) given[static_cast<size_t>(i * n + j)] = 1e9;
        const Matrix b = randoms(n * k, 4);
        const Call call{
            "solve_triangular", {tensor({n, n}), tensor({n, k})}, {tensor({n, k})}, {{"lower", lower}, {"unit", unit}}};
        expectNear(product(t.data(), run(call, {given, b}).results[0].data(), n, n, k), b, 1e-12);
      }
}

TEST(Blocked, CholeskyReadsTheLowerTriangle) {
  for (const int64_t n : kSides) {
    SCOPED_TRACE(n);
    const Matrix g = randoms(n * n, 5);
    Matrix a = product(g.data(), transposed(g, n, n).data(), n, n, n);
    for (int64_t i = 0; i < n; ++i) a[static_cast<size_t>(i * n + i)] += 1;
    Matrix given = a;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i + 1; j < n; ++j) given[static_cast<size_t>(i * n + j)] = NAN;
    const Matrix l = run(square("cholesky", n), {given}).results[0];
    expectNear(product(l.data(), transposed(l, n, n).data(), n, n, n), a, 1e-10);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i + 1; j < n; ++j) ASSERT_EQ(l[static_cast<size_t>(i * n + j)], 0);
  }
}

TEST(Blocked, FailuresAreThoseOfTheWholeMatrix) {
  constexpr int64_t kN = 200;
  Matrix a = identity(kN);
  a[150 * kN + 150] = 0;
  EXPECT_EQ(run(square("inv", kN), {a}).failure, Failure::Singular);
  a[150 * kN + 150] = -1;
  EXPECT_EQ(run(square("cholesky", kN), {a}).failure, Failure::NotPositiveDefinite);
  EXPECT_EQ(run(square("inv", kN), {a}).failure, Failure::None);
}

TEST(Blocked, NoMatrixWithNanIsPositiveDefinite) {
  constexpr int64_t kN = 200;
  for (const auto& [i, j] : {std::pair<int64_t, int64_t>{3, 3}, {63, 0}, {64, 63}, {130, 3}, {199, 199}}) {
    Matrix a = identity(kN);
    a[static_cast<size_t>(i * kN + j)] = NAN;
    EXPECT_EQ(run(square("cholesky", kN), {a}).failure, Failure::NotPositiveDefinite) << i << " " << j;
  }
  // Infinity by infinity; alone it has a root.
  Matrix a = identity(kN);
  a[70 * kN + 70] = INFINITY;
  EXPECT_EQ(run(square("cholesky", kN), {a}).failure, Failure::None);
  a[90 * kN + 70] = INFINITY;
  EXPECT_EQ(run(square("cholesky", kN), {a}).failure, Failure::NotPositiveDefinite);
}

TEST(Blocked, TrianglesAreSingularWithoutRightHandSides) {
  for (const int64_t n : {3, 130})
    for (const int64_t matrices : {1, 9})
      for (const bool unit : {false, true}) {
        const Call call{"solve_triangular",
                        {tensor({matrices, n, n}), tensor({matrices, n, 0})},
                        {tensor({matrices, n, 0})},
                        {{"unit", unit}}};
        const Matrix zeros(static_cast<size_t>(matrices * n * n));
        EXPECT_EQ(run(call, {zeros, {}}).failure, unit ? Failure::None : Failure::Singular) << n << " " << matrices;
      }
}

TEST(Blocked, QrIsOrthogonalAndGivesTheMatrix) {
  for (const auto [m, n] : {Sides{300, 300}, Sides{300, 200}, Sides{200, 300}, Sides{130, 129}, Sides{700, 100},
                            Sides{600, 3}, Sides{1, 5}, Sides{5, 1}, Sides{100, 500}})
    for (const bool complete : {false, true}) {
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
      const int64_t k = complete ? m : std::min(m, n);
      const Call call{"qr", {tensor({m, n})}, {tensor({m, k}), tensor({k, n})}, {{"complete", complete}}};
      const Matrix a = randoms(m * n, 6);
      const auto [failure, results] = run(call, {a});
      expectNear(product(results[0].data(), results[1].data(), m, k, n), a, 1e-12);
      expectNear(product(transposed(results[0], m, k).data(), results[0].data(), k, m, k), identity(k), 1e-12);
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < std::min(i, n); ++j) ASSERT_EQ(results[1][static_cast<size_t>(i * n + j)], 0);
    }
}

/// Another order of items, and a batch so large that matrices are not shared out, give the same bits.
TEST(Blocked, AnyOrderAndBatchGiveTheSameBits) {
  constexpr int64_t kN = 200, kMatrices = 9;
  const Matrix g = randoms(kN * kN, 7);
  Matrix a = product(g.data(), transposed(g, kN, kN).data(), kN, kN, kN);
  Matrix many;
  for (int64_t i = 0; i < kMatrices; ++i) many.insert(many.end(), a.begin(), a.end());
  for (const char* routine : {"inv", "cholesky", "qr"}) {
    SCOPED_TRACE(routine);
    Call one = square(routine, kN), all{routine, {tensor({kMatrices, kN, kN})}, {tensor({kMatrices, kN, kN})}, {}};
    if (one.routine == "qr") one.results.push_back(one.results[0]), all.results.push_back(all.results[0]);
    const Outcome forwards = run(one, {a});
    EXPECT_EQ(run(one, {a}, true).results, forwards.results);
    const Outcome batch = run(all, {many});
    for (size_t r = 0; r < batch.results.size(); ++r)
      EXPECT_TRUE(std::equal(forwards.results[r].begin(), forwards.results[r].end(), batch.results[r].end() - kN * kN));
  }
}

TEST(Blocked, TrianglesInBlocksHaveTheSameBitsInAnyOrderAndBatch) {
  constexpr int64_t kN = 400, kColumns = 50, kMatrices = 9;
  Matrix a = randoms(kN * kN, 8);
  for (int64_t i = 0; i < kN; ++i) a[static_cast<size_t>(i * kN + i)] += kN;
  const Matrix b = randoms(kN * kColumns, 9);
  Matrix triangles, sides;
  for (int64_t i = 0; i < kMatrices; ++i) {
    triangles.insert(triangles.end(), a.begin(), a.end());
    sides.insert(sides.end(), b.begin(), b.end());
  }
  for (const bool lower : {true, false}) {
    const Call one{
        "solve_triangular", {tensor({kN, kN}), tensor({kN, kColumns})}, {tensor({kN, kColumns})}, {{"lower", lower}}};
    const Call all{"solve_triangular",
                   {tensor({kMatrices, kN, kN}), tensor({kMatrices, kN, kColumns})},
                   {tensor({kMatrices, kN, kColumns})},
                   {{"lower", lower}}};
    const Matrix forwards = run(one, {a, b}).results[0], batch = run(all, {triangles, sides}).results[0];
    EXPECT_EQ(run(one, {a, b}, true).results[0], forwards);
    EXPECT_TRUE(std::equal(forwards.begin(), forwards.end(), batch.end() - kN * kColumns));
  }
}

}  // namespace
