// Factorisations and what follows from them. LAPACK is column-major, so it sees the transpose of every matrix: each
// routine below is written for that rather than copying, where the result is as good.
#include "runtime/library/Matrix.h"

namespace tenc::rt::library {
namespace {

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
    return {batch(call.operands[0], 2), cubic(n, 0.7), LuWork<T>(Scratch(), n).bytes};
  }

  static Failure run(const Call& call, void* const* buffers, int64_t item, void* scratch) {
    const int n = columns(call.operands[0]);
    LuWork<T> w(Scratch(scratch), n);
    copyMatrix<T>(call, buffers, 0, item, w.a);
    int info = 0;
    if (n > 0) lapack::Routines<T>::getrf(&n, &n, w.a, &n, w.pivots, &info);
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
    return {batch(call.operands[0], 2), cubic(n, 2), InverseWork<T>(Scratch(), n).bytes};
  }

  static Failure run(const Call& call, void* const* buffers, int64_t item, void* scratch) {
    const int n = columns(call.operands[0]);
    if (n == 0) return Failure::None;
    InverseWork<T> w(Scratch(scratch), n);
    T* a = part<T>(call, buffers, 1, item, 2);
    copyMatrix<T>(call, buffers, 0, item, a);
    int info = 0;
    lapack::Routines<T>::getrf(&n, &n, a, &n, w.pivots, &info);
    if (info > 0) return Failure::Singular;
    const int length = n * kBlock;
    lapack::Routines<T>::getri(&n, a, &n, w.pivots, w.work, &length, &info);
    return info > 0 ? Failure::Singular : Failure::None;
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
    return {batch(call.operands[0], 2), cost, SolveWork<T>(Scratch(), n, k).bytes};
  }

  static Failure run(const Call& call, void* const* buffers, int64_t item, void* scratch) {
    const int n = columns(call.operands[0]), k = columns(call.operands[1]);
    if (n == 0) return Failure::None;
    SolveWork<T> w(Scratch(scratch), n, k);
    copyMatrix<T>(call, buffers, 0, item, w.a);
    transpose(part<T>(call, buffers, 1, item, 2), w.b, n, k);
    int info = 0;
    lapack::Routines<T>::getrf(&n, &n, w.a, &n, w.pivots, &info);
    if (info > 0) return Failure::Singular;
    if (k > 0) lapack::Routines<T>::getrs("T", &n, &k, w.a, &n, w.pivots, w.b, &n, &info);
    transpose(w.b, part<T>(call, buffers, 2, item, 2), k, n);
    return Failure::None;
  }
};

// ---- solve_triangular: x^T A^T = b^T in place

template <class T>
struct Triangular {
  static Plan plan(const Call& call) {
    const double n = columns(call.operands[0]), k = columns(call.operands[1]);
    return {batch(call.operands[0], 2), 300 + 0.05 * n * n * k, 0};
  }

  static Failure run(const Call& call, void* const* buffers, int64_t item, void*) {
    const int n = columns(call.operands[0]), k = columns(call.operands[1]);
    if (n == 0 || k == 0) return Failure::None;
    const bool lower = option(call, "lower") != 0, unit = option(call, "unit") != 0;
    const T* a = part<T>(call, buffers, 0, item, 2);
    for (int i = 0; i < n && !unit; ++i)
      if (a[int64_t{i} * n + i] == 0) return Failure::Singular;
    T* x = part<T>(call, buffers, 2, item, 2);
    copyMatrix<T>(call, buffers, 1, item, x);
    const T one = 1;
    lapack::Routines<T>::trsm("R", lower ? "U" : "L", "N", unit ? "U" : "N", &k, &n, &one, a, &n, x, &k);
    return Failure::None;
  }
};

// ---- cholesky: the upper factor of the transpose is the lower one

template <class T>
struct Cholesky {
  static Plan plan(const Call& call) { return {batch(call.operands[0], 2), cubic(columns(call.operands[0]), 0.35), 0}; }

  static Failure run(const Call& call, void* const* buffers, int64_t item, void*) {
    const int n = columns(call.operands[0]);
    if (n == 0) return Failure::None;
    T* a = part<T>(call, buffers, 1, item, 2);
    copyMatrix<T>(call, buffers, 0, item, a);
    for (int64_t i = 0; i < n; ++i) std::fill(a + i * n + i + 1, a + (i + 1) * n, T{0});
    int info = 0;
    lapack::Routines<T>::potrf("U", &n, a, &n, &info);
    return info > 0 ? Failure::NotPositiveDefinite : Failure::None;
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
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j) r[i * n + j] = i < least && j >= i ? w.a[i * n + j] : T{0};
    // The reflectors are the rows of a k x m matrix with leading dim k.
    for (int64_t c = 0; c < m; ++c)
      for (int64_t i = 0; i < k; ++i) q[c * k + i] = i < least ? w.a[c * n + i] : T{0};
    lapack::Routines<T>::orglq(&k, &m, &least, q, &k, w.tau, w.work, &length, &info);
    return Failure::None;
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
