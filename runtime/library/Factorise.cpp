// Factorisations and what follows from them. LAPACK is column-major, so it sees the transpose of every matrix: each
// routine below is written for that rather than copying, where the result is as good.
#include "runtime/library/Matrix.h"
#include "runtime/library/SmallMatrix.h"

namespace tenc::rt::library {
namespace {

/// Whether systems of n rows and k columns are solved by the kernels of SmallMatrix.h, which copy the columns.
constexpr bool isSmall(int n, int k) { return n <= kMostSmall && k <= 4 * kMostSmall; }

/// Rough nanoseconds of one elimination there.
double smallCost(double n, double factor) { return 30 + 10 * n + factor * n * n * n / 5; }

// ---- pivots: of P A^T = L U, the diagonal of U and the sign of P

template <class T>
struct LuWork {
  LuWork(Scratch s, int64_t n) : a(s.take<T>(n * n)), pivots(s.take<int>(n)), bytes(s.used()) {}
  T* a;
  int* pivots;
  size_t bytes;
};

template <class T>
struct Pivots {
  static Plan plan(const Call& call) {
    const int n = columns(call.operands[0]);
    if (n <= kMostSmall) return {batch(call.operands[0], 2), smallCost(n, 0.1), solveWork<T>(n, 0) * sizeof(T)};
    return {batch(call.operands[0], 2), cubic(n, 0.7), LuWork<T>(Scratch(), n).bytes};
  }

  static Failure run(const Call& call, void* const* buffers, int64_t item, void* scratch) {
    const int n = columns(call.operands[0]);
    if (n <= kMostSmall) {
      smallPivots(part<T>(call, buffers, 0, item, 2), part<T>(call, buffers, 1, item, 1),
                  part<T>(call, buffers, 2, item, 0), static_cast<T*>(scratch), n);
      return Failure::None;
    }
    LuWork<T> w(Scratch(scratch), n);
    copyMatrix<T>(call, buffers, 0, item, w.a);
    int info = 0;
    lapack::Routines<T>::getrf(&n, &n, w.a, &n, w.pivots, &info);
    if (info < 0) return Failure::Impossible;  // a singular matrix has pivots, too
    T* pivots = part<T>(call, buffers, 1, item, 1);
    T sign = 1;
    for (int i = 0; i < n; ++i) {
      pivots[i] = w.a[int64_t{i} * n + i];
      if (w.pivots[i] != i + 1) sign = -sign;
    }
    *part<T>(call, buffers, 2, item, 0) = sign;
    return Failure::None;
  }
};

// ---- inverse: that of the transpose is the transpose of the inverse

template <class T>
struct InverseWork {
  InverseWork(Scratch s, int64_t n) : pivots(s.take<int>(n)), work(s.take<T>(n * kBlock)), bytes(s.used()) {}
  int* pivots;
  T* work;
  size_t bytes;
};

template <class T>
struct Inverse {
  static Plan plan(const Call& call) {
    const int n = columns(call.operands[0]);
    if (n <= kMostSmall) return {batch(call.operands[0], 2), smallCost(n, 0.3), solveWork<T>(n, n) * sizeof(T)};
    return {batch(call.operands[0], 2), cubic(n, 2), InverseWork<T>(Scratch(), n).bytes};
  }

  static Failure run(const Call& call, void* const* buffers, int64_t item, void* scratch) {
    const int n = columns(call.operands[0]);
    if (n == 0) return Failure::None;
    if (n <= kMostSmall) {
      return smallSolve(part<T>(call, buffers, 0, item, 2), nullptr, part<T>(call, buffers, 1, item, 2),
                        static_cast<T*>(scratch), n, n)
                 ? Failure::None
                 : Failure::Singular;
    }
    InverseWork<T> w(Scratch(scratch), n);
    T* a = part<T>(call, buffers, 1, item, 2);
    copyMatrix<T>(call, buffers, 0, item, a);
    int info = 0;
    lapack::Routines<T>::getrf(&n, &n, a, &n, w.pivots, &info);
    if (info != 0) return failureOf(info, Failure::Singular);
    const int length = n * kBlock;
    lapack::Routines<T>::getri(&n, a, &n, w.pivots, w.work, &length, &info);
    return failureOf(info, Failure::Singular);
  }
};

// ---- solve: the factors of A^T solve (A^T)^T x = b

template <class T>
struct SolveWork {
  SolveWork(Scratch s, int64_t n, int64_t k)
      : a(s.take<T>(n * n)), pivots(s.take<int>(n)), b(s.take<T>(n * k)), bytes(s.used()) {}
  T* a;
  int* pivots;
  T* b;
  size_t bytes;
};

template <class T>
struct Solve {
  static Plan plan(const Call& call) {
    const int n = columns(call.operands[0]), k = columns(call.operands[1]);
    const double cost = cubic(n, 0.7) + 0.1 * n * n * static_cast<double>(k);
    if (isSmall(n, k))
      return {batch(call.operands[0], 2), smallCost(n, 0.1) + 0.02 * n * n * k, solveWork<T>(n, k) * sizeof(T)};
    return {batch(call.operands[0], 2), cost, SolveWork<T>(Scratch(), n, k).bytes};
  }

  static Failure run(const Call& call, void* const* buffers, int64_t item, void* scratch) {
    const int n = columns(call.operands[0]), k = columns(call.operands[1]);
    if (n == 0) return Failure::None;
    if (isSmall(n, k)) {
      return smallSolve(part<T>(call, buffers, 0, item, 2), part<T>(call, buffers, 1, item, 2),
                        part<T>(call, buffers, 2, item, 2), static_cast<T*>(scratch), n, k)
                 ? Failure::None
                 : Failure::Singular;
    }
    SolveWork<T> w(Scratch(scratch), n, k);
    copyMatrix<T>(call, buffers, 0, item, w.a);
    transpose(part<T>(call, buffers, 1, item, 2), w.b, n, k);
    int info = 0;
    lapack::Routines<T>::getrf(&n, &n, w.a, &n, w.pivots, &info);
    if (info != 0) return failureOf(info, Failure::Singular);
    if (k > 0) lapack::Routines<T>::getrs("T", &n, &k, w.a, &n, w.pivots, w.b, &n, &info);
    transpose(w.b, part<T>(call, buffers, 2, item, 2), k, n);
    return failureOf(info, Failure::Impossible);
  }
};

// ---- solve_triangular: x^T A^T = b^T in place

template <class T>
struct Triangular {
  static Plan plan(const Call& call) {
    const int n = columns(call.operands[0]), k = columns(call.operands[1]);
    if (isSmall(n, k)) return {batch(call.operands[0], 2), 50 + 0.03 * n * n * k, solveWork<T>(n, k) * sizeof(T)};
    return {batch(call.operands[0], 2), 300 + 0.05 * n * n * static_cast<double>(k), 0};
  }

  static Failure run(const Call& call, void* const* buffers, int64_t item, void* scratch) {
    const int n = columns(call.operands[0]), k = columns(call.operands[1]);
    if (n == 0 || k == 0) return Failure::None;
    const bool lower = option(call, "lower") != 0, unit = option(call, "unit") != 0;
    const T* a = part<T>(call, buffers, 0, item, 2);
    for (int i = 0; i < n && !unit; ++i)
      if (a[int64_t{i} * n + i] == 0) return Failure::Singular;
    T* x = part<T>(call, buffers, 2, item, 2);
    if (isSmall(n, k)) {
      smallTriangular(Triangle<T>{a, n, n, lower, unit}, part<T>(call, buffers, 1, item, 2), x,
                      static_cast<T*>(scratch), k);
      return Failure::None;
    }
    copyMatrix<T>(call, buffers, 1, item, x);
    const T one = 1;
    lapack::Routines<T>::trsm("R", lower ? "U" : "L", "N", unit ? "U" : "N", &k, &n, &one, a, &n, x, &k);
    return Failure::None;
  }
};

// ---- cholesky: small matrices by groups of a batch; else the upper factor of the transpose is the lower one

template <class T>
struct Cholesky {
  static int64_t groups(const Call& call) {
    return columns(call.operands[0]) <= kMostSmall ? batch(call.operands[0], 2) / kGroup<T> : 0;
  }

  /// An item is a group, or a matrix after the last one.
  static Plan plan(const Call& call) {
    const int64_t n = columns(call.operands[0]), matrices = batch(call.operands[0], 2);
    if (n > kMostSmall) return {matrices, cubic(n, 0.35), 0};
    const int64_t items = groups(call) + matrices % kGroup<T>;
    const double cost = (n * (10.0 + n) + cubic(n, 0.2)) * matrices / std::max<int64_t>(items, 1);
    return {items, cost, choleskyWork<T>(n) * sizeof(T)};
  }

  static Failure run(const Call& call, void* const* buffers, int64_t item, void* scratch) {
    const int n = columns(call.operands[0]);
    if (n == 0) return Failure::None;
    T* const work = static_cast<T*>(scratch);
    if (n > kMostSmall) {
      T* a = part<T>(call, buffers, 1, item, 2);
      copyMatrix<T>(call, buffers, 0, item, a);
      for (int64_t i = 0; i < n; ++i) std::fill(a + i * n + i + 1, a + (i + 1) * n, T{0});
      int info = 0;
      lapack::Routines<T>::potrf("U", &n, a, &n, &info);
      return failureOf(info, Failure::NotPositiveDefinite);
    }
    bool definite = false;
    if (item < groups(call)) {
      item *= kGroup<T>;
      definite = smallCholeskyGroup(part<T>(call, buffers, 0, item, 2), part<T>(call, buffers, 1, item, 2), work, n);
    } else {
      item += groups(call) * (kGroup<T> - 1);
      definite = smallCholesky(part<T>(call, buffers, 0, item, 2), part<T>(call, buffers, 1, item, 2), work, n);
    }
    return definite ? Failure::None : Failure::NotPositiveDefinite;
  }
};

// ---- qr: A^T = L Q is A = Q^T L^T, with the same reflectors

template <class T>
struct QrWork {
  QrWork(Scratch s, int64_t m, int64_t n)
      : a(s.take<T>(m * std::max(m, n))),
        tau(s.take<T>(m)),
        work(s.take<T>(std::max(m, n) * kBlock)),
        bytes(s.used()) {}
  T* a;
  T* tau;
  T* work;
  size_t bytes;
};

template <class T>
struct Qr {
  static Plan plan(const Call& call) {
    const int m = rows(call.operands[0]), n = columns(call.operands[0]);
    const double cost = 300 + 0.15 * m * static_cast<double>(n) * std::min(m, n);
    return {batch(call.operands[0], 2), cost, QrWork<T>(Scratch(), m, n).bytes};
  }

  static Failure run(const Call& call, void* const* buffers, int64_t item, void* scratch) {
    const int m = rows(call.operands[0]), n = columns(call.operands[0]), least = std::min(m, n);
    const int k = columns(call.results[0]);  // columns of Q: min(m, n), or m
    QrWork<T> w(Scratch(scratch), m, n);
    T* q = part<T>(call, buffers, 1, item, 2);
    T* r = part<T>(call, buffers, 2, item, 2);
    if (least == 0) {
      for (int64_t i = 0; i < int64_t{m} * k; ++i) q[i] = i / k == i % k;
      std::fill(r, r + int64_t{k} * n, T{0});
      return Failure::None;
    }
    // In column-major order the operand is n x m, with leading dim n.
    const int length = std::max(m, n) * kBlock;
    int info = 0;
    copyMatrix<T>(call, buffers, 0, item, w.a);
    lapack::Routines<T>::gelqf(&n, &m, w.a, &n, w.tau, w.work, &length, &info);
    if (info != 0) return Failure::Impossible;
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j) r[i * n + j] = i < least && j >= i ? w.a[i * n + j] : T{0};
    // The reflectors are the rows of a k x m matrix with leading dim k.
    for (int64_t c = 0; c < m; ++c)
      for (int64_t i = 0; i < k; ++i) q[c * k + i] = i < least ? w.a[c * n + i] : T{0};
    lapack::Routines<T>::orglq(&k, &m, &least, q, &k, w.tau, w.work, &length, &info);
    return failureOf(info, Failure::Impossible);
  }
};

constexpr Routine kRoutines[] = {
    ofPrecision<Pivots>("pivots"),     ofPrecision<Inverse>("inv"),
    ofPrecision<Solve>("solve"),       ofPrecision<Triangular>("solve_triangular"),
    ofPrecision<Cholesky>("cholesky"), ofPrecision<Qr>("qr"),
};

}  // namespace

std::span<const Routine> factorisationRoutines() { return kRoutines; }

}  // namespace tenc::rt::library
