// Factorisations and what follows from them: of small matrices by the kernels of SmallMatrix.h, of others in blocks
// (Blocked.h).
#include "runtime/library/Blocked.h"
#include "runtime/library/Matrix.h"
#include "runtime/library/SmallMatrix.h"

namespace tenc::rt::library {
namespace {

/// Whether systems of n rows and k columns are solved by the kernels of SmallMatrix.h, which copy the columns.
constexpr bool isSmall(int n, int k) { return n <= kMostSmall && k <= 4 * kMostSmall; }

/// Rough nanoseconds of one elimination there.
double smallCost(double n, double factor) { return 30 + 10 * n + factor * n * n * n / 5; }

// ---- pivots: the diagonal of U, where P A = L U, and the sign of P

template <class T>
struct Pivots {
  static Plan plan(const Call& call) {
    const int n = columns(call.operands[0]);
    if (n > kMostSmall) return blockedPivots<T>().plan(call);
    return {batch(call.operands[0], 2), smallCost(n, 0.1), solveWork<T>(n, 0) * sizeof(T)};
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    const int n = columns(call.operands[0]);
    if (n > kMostSmall) return blockedPivots<T>().run(call, buffers, item);
    smallPivots(part<T>(call, buffers, 0, item.number, 2), part<T>(call, buffers, 1, item.number, 1),
                part<T>(call, buffers, 2, item.number, 0), static_cast<T*>(item.scratch), n);
    return Failure::None;
  }
};

template <class T>
struct Inverse {
  static Plan plan(const Call& call) {
    const int n = columns(call.operands[0]);
    if (n > kMostSmall) return blockedSolve<T>().plan(call);
    return {batch(call.operands[0], 2), smallCost(n, 0.3), solveWork<T>(n, n) * sizeof(T)};
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    const int n = columns(call.operands[0]);
    if (n > kMostSmall) return blockedSolve<T>().run(call, buffers, item);
    if (n == 0) return Failure::None;
    return smallSolve(part<T>(call, buffers, 0, item.number, 2), nullptr, part<T>(call, buffers, 1, item.number, 2),
                      static_cast<T*>(item.scratch), n, n)
               ? Failure::None
               : Failure::Singular;
  }
};

template <class T>
struct Solve {
  static Plan plan(const Call& call) {
    const int n = columns(call.operands[0]), k = columns(call.operands[1]);
    if (!isSmall(n, k)) return blockedSolve<T>().plan(call);
    return {batch(call.operands[0], 2), smallCost(n, 0.1) + 0.02 * n * n * k, solveWork<T>(n, k) * sizeof(T)};
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    const int n = columns(call.operands[0]), k = columns(call.operands[1]);
    if (!isSmall(n, k)) return blockedSolve<T>().run(call, buffers, item);
    if (n == 0) return Failure::None;
    return smallSolve(part<T>(call, buffers, 0, item.number, 2), part<T>(call, buffers, 1, item.number, 2),
                      part<T>(call, buffers, 2, item.number, 2), static_cast<T*>(item.scratch), n, k)
               ? Failure::None
               : Failure::Singular;
  }
};

template <class T>
struct Triangular {
  static Plan plan(const Call& call) {
    const int n = columns(call.operands[0]), k = columns(call.operands[1]);
    if (!isSmall(n, k)) return blockedTriangular<T>().plan(call);
    return {batch(call.operands[0], 2), 50 + 0.03 * n * n * k, solveWork<T>(n, k) * sizeof(T)};
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    const int n = columns(call.operands[0]), k = columns(call.operands[1]);
    if (n == 0) return Failure::None;
    if (!isSmall(n, k)) return blockedTriangular<T>().run(call, buffers, item);
    const Triangle<T> a{part<T>(call, buffers, 0, item.number, 2), n, n, option(call, "lower") != 0,
                        option(call, "unit") != 0};
    for (int i = 0; i < n && !a.unit; ++i)
      if (a.at[int64_t{i} * n + i] == 0) return Failure::Singular;
    if (k == 0) return Failure::None;
    smallTriangular(a, part<T>(call, buffers, 1, item.number, 2), part<T>(call, buffers, 2, item.number, 2),
                    static_cast<T*>(item.scratch), k);
    return Failure::None;
  }
};

// ---- cholesky: small matrices by groups of a batch

template <class T>
struct Cholesky {
  static int64_t groups(const Call& call) { return batch(call.operands[0], 2) / kGroup<T>; }

  /// An item is a group, or a matrix after the last one.
  static Plan plan(const Call& call) {
    const int64_t n = columns(call.operands[0]), matrices = batch(call.operands[0], 2);
    if (n > kMostSmall) return blockedCholesky<T>().plan(call);
    const int64_t items = groups(call) + matrices % kGroup<T>;
    const double cost = (n * (10.0 + n) + cubic(n, 0.2)) * matrices / std::max<int64_t>(items, 1);
    return {items, cost, choleskyWork<T>(n) * sizeof(T)};
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    const int n = columns(call.operands[0]);
    if (n > kMostSmall) return blockedCholesky<T>().run(call, buffers, item);
    if (n == 0) return Failure::None;
    T* const work = static_cast<T*>(item.scratch);
    bool definite = false;
    int64_t number = item.number;
    if (number < groups(call)) {
      number *= kGroup<T>;
      definite =
          smallCholeskyGroup(part<T>(call, buffers, 0, number, 2), part<T>(call, buffers, 1, number, 2), work, n);
    } else {
      number += groups(call) * (kGroup<T> - 1);
      definite = smallCholesky(part<T>(call, buffers, 0, number, 2), part<T>(call, buffers, 1, number, 2), work, n);
    }
    return definite ? Failure::None : Failure::NotPositiveDefinite;
  }
};

// ---- qr

template <class T>
struct Qr {
  static bool isEmpty(const Call& call) { return std::min(rows(call.operands[0]), columns(call.operands[0])) == 0; }

  static Plan plan(const Call& call) {
    if (isEmpty(call)) return {batch(call.operands[0], 2), 100};
    return blockedQr<T>().plan(call);
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    if (!isEmpty(call)) return blockedQr<T>().run(call, buffers, item);
    const int64_t m = rows(call.operands[0]), n = columns(call.operands[0]), k = columns(call.results[0]);
    T* const q = part<T>(call, buffers, 1, item.number, 2);
    for (int64_t i = 0; i < m * k; ++i) q[i] = i / k == i % k;
    std::fill_n(part<T>(call, buffers, 2, item.number, 2), k * n, T{0});
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
