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

/// How a batch of small matrices is shared out where each lane of a vector may have one: an item is a group, or a
/// matrix after the last one.
template <class T>
struct Groups {
  int64_t groups, matrices;
  Groups(const Call& call, bool grouped)
      : groups(grouped ? batch(call.operands[0], 2) / kGroup<T> : 0), matrices(batch(call.operands[0], 2)) {}

  int64_t items() const { return groups + matrices - groups * kGroup<T>; }
  bool isGroup(int64_t item) const { return item < groups; }
  /// The first matrix of an item.
  int64_t first(int64_t item) const { return isGroup(item) ? item * kGroup<T> : item + groups * (kGroup<T> - 1); }
  /// What one costs, of which a matrix by itself costs `single`; in a group it is a fourth at the most.
  double cost(double single) const {
    const auto inGroups = static_cast<double>(groups * kGroup<T>), alone = static_cast<double>(items() - groups);
    return single * (inGroups / 4 + alone) / static_cast<double>(std::max<int64_t>(items(), 1));
  }
};

/// Whether eliminations with k columns on the right go by groups.
constexpr bool isGrouped(int n, int k) { return n <= kMostGrouped && k <= 2 * kMostGrouped; }

/// Of small matrices with k columns on the right.
template <class T>
Plan planOfSmall(const Call& call, int n, int k, double cost) {
  const Groups<T> groups(call, isGrouped(n, k));
  const int64_t work = std::max(solveWork<T>(n, k), isGrouped(n, k) ? groupWork<T>(n, k) : 0);
  return {groups.items(), groups.cost(cost), work * sizeof(T)};
}

// ---- pivots: the diagonal of U, where P A = L U, and the sign of P

template <class T>
struct Pivots {
  static Plan plan(const Call& call) {
    const int n = columns(call.operands[0]);
    if (n > kMostSmall) return blockedPivots<T>().plan(call);
    return planOfSmall<T>(call, n, 0, smallCost(n, 0.1));
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    const int n = columns(call.operands[0]);
    if (n > kMostSmall) return blockedPivots<T>().run(call, buffers, item);
    const Groups<T> groups(call, isGrouped(n, 0));
    const int64_t first = groups.first(item.number);
    const T* const a = part<T>(call, buffers, 0, first, 2);
    T *const found = part<T>(call, buffers, 1, first, 1), *const sign = part<T>(call, buffers, 2, first, 0);
    T* const work = static_cast<T*>(item.scratch);
    groups.isGroup(item.number) ? smallPivotsGroup(a, found, sign, work, n) : smallPivots(a, found, sign, work, n);
    return Failure::None;
  }
};

// ---- systems of equations; the inverse is that of the identity

template <class T>
Failure solveSmall(const Call& call, void* const* buffers, const Item& item, int n, int k) {
  if (n == 0) return Failure::None;
  const Groups<T> groups(call, isGrouped(n, k));
  const int64_t first = groups.first(item.number);
  const bool isInverse = call.operands.size() == 1;
  const T* const a = part<T>(call, buffers, 0, first, 2);
  const T* const b = isInverse ? nullptr : part<T>(call, buffers, 1, first, 2);
  T* const x = part<T>(call, buffers, isInverse ? 1 : 2, first, 2);
  T* const work = static_cast<T*>(item.scratch);
  const bool solved =
      groups.isGroup(item.number) ? smallSolveGroup(a, b, x, work, n, k) : smallSolve(a, b, x, work, n, k);
  return solved ? Failure::None : Failure::Singular;
}

template <class T>
struct Inverse {
  static Plan plan(const Call& call) {
    const int n = columns(call.operands[0]);
    if (n > kMostSmall) return blockedSolve<T>().plan(call);
    return planOfSmall<T>(call, n, n, smallCost(n, 0.3));
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    const int n = columns(call.operands[0]);
    if (n > kMostSmall) return blockedSolve<T>().run(call, buffers, item);
    return solveSmall<T>(call, buffers, item, n, n);
  }
};

template <class T>
struct Solve {
  static Plan plan(const Call& call) {
    const int n = columns(call.operands[0]), k = columns(call.operands[1]);
    if (!isSmall(n, k)) return blockedSolve<T>().plan(call);
    return planOfSmall<T>(call, n, k, smallCost(n, 0.1) + 0.02 * n * n * k);
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    const int n = columns(call.operands[0]), k = columns(call.operands[1]);
    if (!isSmall(n, k)) return blockedSolve<T>().run(call, buffers, item);
    return solveSmall<T>(call, buffers, item, n, k);
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

// ---- cholesky

template <class T>
struct Cholesky {
  static Plan plan(const Call& call) {
    const int64_t n = columns(call.operands[0]);
    if (n > kMostSmall) return blockedCholesky<T>().plan(call);
    const Groups<T> groups(call, true);
    const double cost = (n * (10.0 + n) + cubic(n, 0.2)) * groups.matrices / std::max<int64_t>(groups.items(), 1);
    return {groups.items(), cost, choleskyWork<T>(n) * sizeof(T)};
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    const int n = columns(call.operands[0]);
    if (n > kMostSmall) return blockedCholesky<T>().run(call, buffers, item);
    if (n == 0) return Failure::None;
    const Groups<T> groups(call, true);
    const int64_t first = groups.first(item.number);
    const T* const a = part<T>(call, buffers, 0, first, 2);
    T *const l = part<T>(call, buffers, 1, first, 2), *const work = static_cast<T*>(item.scratch);
    const bool definite =
        groups.isGroup(item.number) ? smallCholeskyGroup(a, l, work, n) : smallCholesky(a, l, work, n);
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
