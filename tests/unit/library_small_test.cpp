// Kernels for small matrices: the same bits for every width of vectors and every place in a batch, and results within
// bounds of the definition.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/library/Library.h"
#include "runtime/library/SmallMatrix.h"

namespace {

using namespace tenc::rt::library;

constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64};

TEST(Status, OfAWrongArgumentIsNoFault) {
  EXPECT_EQ(failureOf(0, Failure::Singular), Failure::None);
  EXPECT_EQ(failureOf(3, Failure::Singular), Failure::Singular);
  EXPECT_EQ(failureOf(-3, Failure::Singular), Failure::Impossible);
  EXPECT_GT(static_cast<size_t>(Failure::Impossible), std::size(tenc::abi::kLibraryFaults));
}

/// A routine of LAPACK is left where an interrupt comes, and others have their memory after it.
TEST(Interrupt, LeavesARoutine) {
  using tenc::abi::TensorRef;
  constexpr int64_t kSide = 2500;
  const auto tensor = [](std::vector<int64_t> shape) {
    TensorRef t;
    t.dtype = tenc::abi::dtype::F64;
    t.shape = std::move(shape);
    return t;
  };
  Call call;
  call.routine = "eigh";
  call.operands = {tensor({kSide, kSide})};
  call.results = {tensor({kSide}), tensor({kSide, kSide})};
  ASSERT_EQ(problemOf(call), "");
  std::vector<double> a(kSide * kSide, 0.5), w(kSide), v(kSide * kSide);
  for (int64_t i = 0; i < kSide; ++i) a[static_cast<size_t>(i * kSide + i)] = static_cast<double>(i % 7);
  std::vector<double> scratch(find("eigh")->plan(call).scratchBytes / sizeof(double) + 8);
  void* buffers[] = {a.data(), w.data(), v.data()};
  const uint64_t scalars[] = {reinterpret_cast<uint64_t>(&call), 0, 0, 1};
  ASSERT_TRUE(reserveMatrices(1));
  for (int round = 0; round < 2; ++round) {
    tenc::abi::KernelState state{};
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      __atomic_store_n(&state.fault, tenc::abi::kInterruptFault, __ATOMIC_RELAXED);
    });
    w.back() = -1;
    runItems(buffers, scalars, 0, 1, &state.fault, scratch.data());
    EXPECT_EQ(w.back(), -1);  // it came to no result
    other.join();
    EXPECT_EQ(state.fault, tenc::abi::kInterruptFault);
  }
}

template <class T>
std::vector<T> randoms(int64_t count, uint32_t seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<T> x(static_cast<size_t>(count));
  for (T& v : x) v = static_cast<T>(normal(bits));
  return x;
}

/// kGroup positive definite matrices.
template <class T>
std::vector<T> definite(int64_t n) {
  const auto g = randoms<T>(kGroup<T> * n * n, 1);
  std::vector<T> a(g.size());
  for (int64_t m = 0; m < kGroup<T>; ++m) {
    const T* x = g.data() + m * n * n;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = i == j ? 1 : 0;
        for (int64_t k = 0; k < n; ++k) sum += static_cast<double>(x[i * n + k]) * x[j * n + k];
        a[static_cast<size_t>((m * n + i) * n + j)] = static_cast<T>(sum);
      }
  }
  return a;
}

template <class T>
bool sameBits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

template <class T>
class Small : public testing::Test {
 protected:
  Small() : memory_(choleskyWork<T>(kMostSmall) + solveWork<T>(kMostSmall, 80) + kGroup<T>) {
    const auto at = reinterpret_cast<uintptr_t>(memory_.data());
    work = memory_.data() + ((at + 63) / 64 * 64 - at) / sizeof(T);
  }
  T* work;
  const double eps = std::numeric_limits<T>::epsilon();

 private:
  std::vector<T> memory_;
};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Small, Precisions);

TYPED_TEST(Small, CholeskyIsTheSameInEveryLaneAndAlone) {
  using T = TypeParam;
  for (const int64_t n : kSizes) {
    const auto a = definite<T>(n);
    std::vector<T> alone(a.size(), 7), narrow(a.size(), 7), group(a.size(), 7), narrowGroup(a.size(), 7);
    for (int64_t m = 0; m < kGroup<T>; ++m) {
      ASSERT_TRUE(smallCholesky(&a[m * n * n], &alone[m * n * n], this->work, n));
      ASSERT_TRUE(smallCholesky(&a[m * n * n], &narrow[m * n * n], this->work, n, Vectors::Narrow));
    }
    ASSERT_TRUE(smallCholeskyGroup(a.data(), group.data(), this->work, n));
    ASSERT_TRUE(smallCholeskyGroup(a.data(), narrowGroup.data(), this->work, n, Vectors::Narrow));
    EXPECT_TRUE(sameBits(alone, narrow)) << n;
    EXPECT_TRUE(sameBits(alone, group)) << n;
    EXPECT_TRUE(sameBits(alone, narrowGroup)) << n;
    for (int64_t m = 0; m < kGroup<T>; ++m)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const T* l = &alone[m * n * n];
          double sum = 0, size = 0;
          for (int64_t k = 0; k <= std::min(i, j); ++k) {
            sum += static_cast<double>(l[i * n + k]) * l[j * n + k];
            size += std::fabs(static_cast<double>(l[i * n + k]) * l[j * n + k]);
          }
          // Higham, Accuracy and Stability of Numerical Algorithms, theorem 10.3.
          ASSERT_NEAR(sum, a[(m * n + i) * n + j], static_cast<double>(n + 1) * this->eps * size) << n;
          if (j > i) ASSERT_EQ(l[i * n + j], 0);
        }
  }
}

TYPED_TEST(Small, CholeskyOfOneMatrixDoesNotTouchAnother) {
  using T = TypeParam;
  for (const int64_t n : {1, 3, 6, 20}) {
    const auto a = definite<T>(n);
    std::vector<T> want(a.size()), got(a.size());
    ASSERT_TRUE(smallCholeskyGroup(a.data(), want.data(), this->work, n));
    for (int64_t m = 0; m < kGroup<T>; ++m) {
      auto odd = a;
      odd[m * n * n] = std::numeric_limits<T>::infinity();  // so is its root, and the rest of the column 0
      ASSERT_TRUE(smallCholeskyGroup(odd.data(), got.data(), this->work, n));
      for (int64_t i = 0; i < kGroup<T> * n * n; ++i)
        if (i / (n * n) != m) ASSERT_EQ(got[i], want[i]);
      for (const T bad : {T{0}, T{-1}, std::numeric_limits<T>::quiet_NaN()}) {
        auto worse = a;
        worse[(m * n + n - 1) * n + n - 1] = bad;
        EXPECT_FALSE(smallCholeskyGroup(worse.data(), got.data(), this->work, n));
        EXPECT_FALSE(smallCholesky(&worse[m * n * n], &got[m * n * n], this->work, n));
      }
    }
  }
}

TYPED_TEST(Small, SystemsAreSolvedTheSameForEveryWidth) {
  using T = TypeParam;
  for (const int64_t n : kSizes)
    for (const int64_t m : {1, 2, 7, 16, 17, 80}) {
      const auto a = randoms<T>(n * n, 2), b = randoms<T>(n * m, 3);
      std::vector<T> x(b.size()), narrow(b.size());
      ASSERT_TRUE(smallSolve(a.data(), b.data(), x.data(), this->work, n, m));
      ASSERT_TRUE(smallSolve(a.data(), b.data(), narrow.data(), this->work, n, m, Vectors::Narrow));
      EXPECT_TRUE(sameBits(x, narrow)) << n << " " << m;
      double largest = 0;
      for (const T v : x) largest = std::fmax(largest, std::fabs(v));
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < m; ++j) {
          double sum = 0, size = 0;
          for (int64_t k = 0; k < n; ++k) {
            sum += static_cast<double>(a[i * n + k]) * x[k * m + j];
            size += std::fabs(static_cast<double>(a[i * n + k]));
          }
          ASSERT_NEAR(sum, b[i * m + j], 8 * static_cast<double>(n) * this->eps * size * largest) << n << " " << m;
        }
      for (const bool lower : {true, false})
        for (const bool unit : {true, false}) {
          const Triangle<T> t = {a.data(), n, n, lower, unit};
          smallTriangular(t, b.data(), x.data(), this->work, m);
          smallTriangular(t, b.data(), narrow.data(), this->work, m, Vectors::Narrow);
          EXPECT_TRUE(sameBits(x, narrow)) << n << " " << m;
          // Columns that lie apart: what is between them stays.
          for (const Vectors v : {Vectors::Best, Vectors::Narrow}) {
            const int64_t step = n + 3;
            std::vector<T> columns(m * step, T{42}), expected(columns);
            for (int64_t i = 0; i < n; ++i)
              for (int64_t j = 0; j < m; ++j)
                columns[j * step + i] = b[i * m + j], expected[j * step + i] = x[i * m + j];
            smallTriangularColumns(t, columns.data(), step, m, v);
            EXPECT_TRUE(sameBits(columns, expected)) << n << " " << m;
          }
        }
    }
}

TYPED_TEST(Small, AGroupIsSolvedAsEachOfItsMatrices) {
  using T = TypeParam;
  for (int64_t n = 1; n <= kMostGrouped; ++n)
    for (const int64_t m : {int64_t{1}, int64_t{3}, n}) {
      auto a = randoms<T>(kGroup<T> * n * n, 4);
      const auto b = randoms<T>(kGroup<T> * n * m, 5);
      for (const bool inverse : {false, true}) {
        if (inverse && m != n) continue;
        const T* const right = inverse ? nullptr : b.data();
        std::vector<T> alone(b.size()), group(b.size()), narrow(b.size());
        for (int64_t q = 0; q < kGroup<T>; ++q)
          ASSERT_TRUE(
              smallSolve(&a[q * n * n], inverse ? nullptr : &b[q * n * m], &alone[q * n * m], this->work, n, m));
        ASSERT_TRUE(smallSolveGroup(a.data(), right, group.data(), this->work, n, m));
        ASSERT_TRUE(smallSolveGroup(a.data(), right, narrow.data(), this->work, n, m, Vectors::Narrow));
        EXPECT_TRUE(sameBits(alone, group)) << n << " " << m;
        EXPECT_TRUE(sameBits(alone, narrow)) << n << " " << m;
      }
      // One without an inverse, of whose pivots one is 0 and others count.
      for (int64_t i = 0; i < n; ++i) a[(2 * n + i) * n] = 0;
      std::vector<T> x(b.size()), pivots(kGroup<T> * n), alone(pivots), sign(kGroup<T>), signAlone(sign);
      EXPECT_FALSE(smallSolveGroup(a.data(), b.data(), x.data(), this->work, n, m));
      for (int64_t q = 0; q < kGroup<T>; ++q) smallPivots(&a[q * n * n], &alone[q * n], &signAlone[q], this->work, n);
      for (const Vectors v : {Vectors::Best, Vectors::Narrow}) {
        smallPivotsGroup(a.data(), pivots.data(), sign.data(), this->work, n, v);
        EXPECT_TRUE(sameBits(alone, pivots)) << n;
        EXPECT_EQ(signAlone, sign) << n;
      }
    }
}

TYPED_TEST(Small, PivotsAreThoseOfTheDefinition) {
  using T = TypeParam;
  // Rows 2, 0, 1 come first in turn: an even permutation.
  const T a[] = {1, 2, 4, 2, 1, 3, 4, 0, 0};
  T pivots[3], sign = 0;
  for (const Vectors v : {Vectors::Best, Vectors::Narrow}) {
    smallPivots(a, pivots, &sign, this->work, 3, v);
    EXPECT_EQ(sign, 1);
    EXPECT_EQ(pivots[0], 4);
    EXPECT_EQ(pivots[1], 2);
    EXPECT_EQ(pivots[2], 1);
  }
  // A column of zeros is passed over; what comes after it counts.
  const T singular[] = {2, 1, 3, 4, 2, 6, 8, 4, 1};
  smallPivots(singular, pivots, &sign, this->work, 3);
  EXPECT_EQ(pivots[1], 0);
  T x[9];
  EXPECT_FALSE(smallSolve(singular, static_cast<const T*>(nullptr), x, this->work, 3, 3));
}

}  // namespace
