// Factorisations and triangular systems of matrices of at most kMostSmall rows, where LAPACK takes longer over its
// calls and copies than over the arithmetic.
//
// Every element is one chain of fused multiply-adds in ascending order of the pivots, then divided by its pivot,
// whatever the width of the vectors and however many matrices go together: the same bits on every processor.
#pragma once
#include <cstdint>

#include "runtime/library/Processor.h"

namespace tenc::rt::library {

inline constexpr int64_t kMostSmall = 64;

/// Vectors of 64 bytes where the processor has them, or of 32.
enum class Vectors : uint8_t { Best, Narrow };
/// Whether kernels for AVX-512 are to be taken.
inline bool wideVectors(Vectors v) { return v == Vectors::Best && hasAvx512(); }

/// Elements from one row of a padded matrix to the next: whole lines of the cache, which every vector divides. Padded
/// matrices begin at such a line, and what pads their rows is never read as a part of the matrix.
template <class T>
constexpr int64_t paddedRow(int64_t n) {
  constexpr int64_t kLine = 64 / sizeof(T);
  return (n + kLine - 1) / kLine * kLine;
}

/// Matrices that are factorised together, one in each lane.
template <class T>
inline constexpr int64_t kGroup = 64 / sizeof(T);

/// Elements of `work` for the two below.
template <class T>
constexpr int64_t choleskyWork(int64_t n) {
  return (n * (n + 1) / 2 + kGroup<T>)*kGroup<T>;
}

/// l l^T = a, both n x n as they lie, from the lower triangle of a; l is 0 above its diagonal. False unless a is
/// positive definite.
bool smallCholesky(const float* a, float* l, float* work, int64_t n, Vectors v = Vectors::Best);
bool smallCholesky(const double* a, double* l, double* work, int64_t n, Vectors v = Vectors::Best);

/// The same for kGroup matrices that lie one after the other; false unless all are positive definite.
bool smallCholeskyGroup(const float* a, float* l, float* work, int64_t n, Vectors v = Vectors::Best);
bool smallCholeskyGroup(const double* a, double* l, double* work, int64_t n, Vectors v = Vectors::Best);

/// Elements of `work` below, for matrices of n rows and right-hand sides of m columns.
template <class T>
constexpr int64_t solveWork(int64_t n, int64_t m) {
  return n * (2 * paddedRow<T>(n) + paddedRow<T>(m));
}

/// The diagonal of u and the sign of p, of p a = l u with partial pivoting (the first of the largest).
void smallPivots(const float* a, float* pivots, float* sign, float* work, int64_t n, Vectors v = Vectors::Best);
void smallPivots(const double* a, double* pivots, double* sign, double* work, int64_t n, Vectors v = Vectors::Best);

/// a x = b with b of m columns, by the same factors; without b, of n columns, the identity. False when a pivot is 0.
bool smallSolve(const float* a, const float* b, float* x, float* work, int64_t n, int64_t m, Vectors v = Vectors::Best);
bool smallSolve(const double* a, const double* b, double* x, double* work, int64_t n, int64_t m,
                Vectors v = Vectors::Best);

/// The same for kGroup matrices of at most kMostGrouped rows that lie one after the other.
inline constexpr int64_t kMostGrouped = 8;
/// Elements of `work` below.
template <class T>
constexpr int64_t groupWork(int64_t n, int64_t m) {
  return (n * n + n * m) * kGroup<T>;
}
void smallPivotsGroup(const float* a, float* pivots, float* sign, float* work, int64_t n, Vectors v = Vectors::Best);
void smallPivotsGroup(const double* a, double* pivots, double* sign, double* work, int64_t n,
                      Vectors v = Vectors::Best);
/// False when a pivot of any is 0.
bool smallSolveGroup(const float* a, const float* b, float* x, float* work, int64_t n, int64_t m,
                     Vectors v = Vectors::Best);
bool smallSolveGroup(const double* a, const double* b, double* x, double* work, int64_t n, int64_t m,
                     Vectors v = Vectors::Best);

/// A triangular matrix of n rows with `rowStep` elements from row to row; the diagonal of a unit one is not read.
template <class T>
struct Triangle {
  const T* at;
  int64_t n, rowStep;
  bool lower, unit;
};

/// t x = b with b of m columns.
void smallTriangular(const Triangle<float>& t, const float* b, float* x, float* work, int64_t m,
                     Vectors v = Vectors::Best);
void smallTriangular(const Triangle<double>& t, const double* b, double* x, double* work, int64_t m,
                     Vectors v = Vectors::Best);

/// The same in place for b whose m columns of t.n elements begin `step` elements after each other.
void smallTriangularColumns(const Triangle<float>& t, float* x, int64_t step, int64_t m, Vectors v = Vectors::Best);
void smallTriangularColumns(const Triangle<double>& t, double* x, int64_t step, int64_t m, Vectors v = Vectors::Best);

}  // namespace tenc::rt::library
