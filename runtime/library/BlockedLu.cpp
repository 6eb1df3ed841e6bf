// Factors of square matrices by elimination, and what follows from them: blocks of columns, of which the next is
// factored while the others are brought up to date with the one before, by matrix products. LAPACK's matrices have
// their columns side by side, so what is factored is the transpose: M = A^T = P L U.
#include "runtime/library/Blocked.h"
#include "runtime/library/Phased.h"
#include "runtime/library/SmallMatrix.h"

namespace tenc::rt::library {
namespace {

template <class T>
struct Factors {
  Factors(Scratch& s, int64_t n) : a(s.take<T>(n * n)), pivots(s.take<int>(n)), rows(s.take<T>(2 * kPanel * kPanel)) {}
  T* a;
  int* pivots;  ///< the column of A that each one was exchanged with, from 1 on
  /// What is below the diagonal in the square of block p, row by row. The next block's is made while others read it.
  T* rowsOf(int64_t p) const { return rows + p % 2 * kPanel * kPanel; }
  T* rows;
};

/// One step of the factorisation for each block of columns: phase p brings the columns from block p on up to date, and
/// factors block p.
template <class T>
struct Elimination {
  static int64_t phases(int64_t n) { return blocksOf(n, kPanel); }
  static Phase phase(int64_t n, int64_t p) {
    const double m = static_cast<double>(n - p * kPanel);
    return {1 + tilesBehind(n, p), 2000 + m * kPanel * kTile / 20};
  }

  /// The operand is read from `from` in the first phase. Whether all pivots of the block are other than 0.
  static bool step(const Factors<T>& f, const T* from, int64_t n, int64_t p, int64_t item) {
    const auto [begin, end] = columnsOf(n, p, item);
    const int ld = static_cast<int>(n), width = static_cast<int>(end - begin);
    T* const tile = f.a + begin * n;
    if (p == 0)
      std::copy(from + begin * n, from + end * n, tile);
    else
      update(f, n, p - 1, tile, width);
    if (item > 0) return true;
    const int m = static_cast<int>(n - begin);
    int info = 0;
    lapack::Routines<T>::getrf(&m, &width, tile + begin, &ld, f.pivots + begin, &info);
    for (int64_t i = begin; i < end; ++i) f.pivots[i] += static_cast<int>(begin);
    T* const rows = f.rowsOf(p);
    for (int64_t j = 0; j < width; ++j)
      for (int64_t i = j + 1; i < width; ++i) rows[i * kPanel + j] = tile[j * n + begin + i];
    return info == 0;
  }

  /// Exchanges rows of columns that were factored before later ones: once at the end.
  static void exchange(const Factors<T>& f, int64_t n, int64_t block) {
    const int64_t begin = block * kPanel, end = std::min(n, begin + kPanel);
    for (int64_t j = begin; j < end; ++j) exchange(f.a + j * n, f.pivots, end, n);
  }

 private:
  static void exchange(T* column, const int* pivots, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) std::swap(column[i], column[pivots[i] - 1]);
  }

  /// Columns of a tile after block p of columns.
  static void update(const Factors<T>& f, int64_t n, int64_t p, T* tile, int width) {
    const int64_t k0 = p * kPanel;
    const int ld = static_cast<int>(n), depth = kPanel, below = static_cast<int>(n - k0 - kPanel);
    const T one = 1, minus = -1;
    const T* const l = f.a + k0 * n + k0;
    for (int j = 0; j < width; ++j) exchange(tile + j * n, f.pivots, k0, k0 + kPanel);
    smallTriangularColumns({f.rowsOf(p), kPanel, kPanel, true, true}, tile + k0, n, width);
    lapack::Routines<T>::gemm("N", "N", &below, &width, &depth, &minus, l + kPanel, &ld, tile + k0, &ld, &one,
                              tile + k0 + kPanel, &ld);
  }
};

// ---- pivots: the diagonal of U and the sign of P

template <class T>
struct Pivots {
  static int64_t side(const Call& call) { return columns(call.operands[0]); }
  static int64_t phases(const Call& call) { return Elimination<T>::phases(side(call)) + 1; }
  static Phase phase(const Call& call, int64_t p) {
    return p < phases(call) - 1 ? Elimination<T>::phase(side(call), p) : Phase{1, 100};
  }
  static size_t scratchBytes(const Call&) { return 0; }
  static size_t sharedBytes(const Call& call) {
    Scratch s;
    Factors<T>(s, side(call));
    return s.used();
  }
  static Failure step(const Call& call, void* const* buffers, int64_t matrix, const Item& at) {
    const int64_t n = side(call);
    Scratch s(at.shared);
    const Factors<T> f(s, n);
    if (at.phase < phases(call) - 1) {
      Elimination<T>::step(f, part<T>(call, buffers, 0, matrix, 2), n, at.phase, at.number);
      return Failure::None;  // a singular matrix has pivots, too
    }
    T* pivots = part<T>(call, buffers, 1, matrix, 1);
    T sign = 1;
    for (int64_t i = 0; i < n; ++i) {
      pivots[i] = f.a[i * n + i];
      if (f.pivots[i] != i + 1) sign = -sign;
    }
    *part<T>(call, buffers, 2, matrix, 0) = sign;
    return Failure::None;
  }
};

// ---- solve and inv: x^T P L U = b^T for some columns of x and b at a time; of the inverse, b is the identity

template <class T>
struct Solve {
  static bool isInverse(const Call& call) { return call.operands.size() == 1; }
  static int64_t side(const Call& call) { return columns(call.operands[0]); }
  static int64_t sides(const Call& call) { return columns(call.results[0]); }
  static int64_t phases(const Call& call) { return Elimination<T>::phases(side(call)) + 2; }
  static Phase phase(const Call& call, int64_t p) {
    const int64_t n = side(call), steps = Elimination<T>::phases(n);
    if (p < steps) return Elimination<T>::phase(n, p);
    if (p == steps) return {steps - 1, static_cast<double>(n) * kPanel};
    return {blocksOf(sides(call), kStripe), 1000 + static_cast<double>(n) * static_cast<double>(n) * kStripe / 20};
  }
  static size_t scratchBytes(const Call&) { return 0; }
  static size_t sharedBytes(const Call& call) { return Pivots<T>::sharedBytes(call); }
  static Failure step(const Call& call, void* const* buffers, int64_t matrix, const Item& at) {
    const int64_t n = side(call), k = sides(call), steps = Elimination<T>::phases(n);
    Scratch s(at.shared);
    const Factors<T> f(s, n);
    if (at.phase < steps) {
      const bool regular = Elimination<T>::step(f, part<T>(call, buffers, 0, matrix, 2), n, at.phase, at.number);
      return regular ? Failure::None : Failure::Singular;
    }
    if (at.phase == steps) {
      Elimination<T>::exchange(f, n, at.number);
      return Failure::None;
    }
    const int64_t begin = at.number * kStripe, end = std::min(k, begin + kStripe);
    T* const x = part<T>(call, buffers, isInverse(call) ? 1 : 2, matrix, 2) + begin;
    const T* const b = isInverse(call) ? nullptr : part<T>(call, buffers, 1, matrix, 2) + begin;
    for (int64_t i = 0; i < n; ++i) {
      if (b)
        std::copy_n(b + i * k, end - begin, x + i * k);
      else
        for (int64_t j = begin; j < end; ++j) x[i * k + j - begin] = i == j;
    }
    solve(f, n, x, k, end - begin, b ? 0 : begin);
    return Failure::None;
  }

 private:
  /// `width` columns of x, whose rows are `k` elements apart; those before `first` are 0.
  static void solve(const Factors<T>& f, int64_t n, T* x, int64_t k, int64_t width, int64_t first) {
    const int side = static_cast<int>(n), m = static_cast<int>(width), ld = static_cast<int>(k);
    if (k == 1) {
      lapack::Routines<T>::trsv("U", "T", "N", &side, f.a, &side, x, &ld);
      lapack::Routines<T>::trsv("L", "T", "U", &side, f.a, &side, x, &ld);
    } else {
      const T one = 1;
      const int rest = static_cast<int>(n - first);
      lapack::Routines<T>::trsm("R", "U", "N", "N", &m, &rest, &one, f.a + first * n + first, &side, x + first * k,
                                &ld);
      lapack::Routines<T>::trsm("R", "L", "N", "U", &m, &side, &one, f.a, &side, x, &ld);
    }
    for (int64_t i = n - 1; i >= 0; --i)
      if (f.pivots[i] != i + 1) std::swap_ranges(x + i * k, x + i * k + width, x + (f.pivots[i] - 1) * k);
  }
};

}  // namespace

template <class T>
BlockedRoutine blockedPivots() {
  return {Phased<Pivots<T>>::plan, Phased<Pivots<T>>::run};
}
template <class T>
BlockedRoutine blockedSolve() {
  return {Phased<Solve<T>>::plan, Phased<Solve<T>>::run};
}
template BlockedRoutine blockedPivots<float>();
template BlockedRoutine blockedPivots<double>();
template BlockedRoutine blockedSolve<float>();
template BlockedRoutine blockedSolve<double>();

}  // namespace tenc::rt::library
