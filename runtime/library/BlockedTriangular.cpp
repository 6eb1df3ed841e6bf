// Triangular systems, x^T A^T = b^T. Many right-hand sides are solved in stripes side by side. Fewer would leave
// threads without work, and each stripe would copy the triangle: blocks of rows are solved one after the other, while
// what is behind them is brought up to date, by matrix products.
#include "runtime/library/Blocked.h"
#include "runtime/library/Phased.h"

namespace tenc::rt::library {
namespace {

/// A call, and rows in the order in which they are solved: of an upper triangle from the last to the first.
template <class T>
struct System {
  explicit System(const Call& call)
      : n(columns(call.operands[0])),
        k(columns(call.operands[1])),
        lower(option(call, "lower") != 0),
        unit(option(call, "unit") != 0) {}
  System(const Call& call, void* const* buffers, int64_t matrix) : System(call) {
    a = part<T>(call, buffers, 0, matrix, 2);
    b = part<T>(call, buffers, 1, matrix, 2);
    x = part<T>(call, buffers, 2, matrix, 2);
  }

  struct Rows {
    int64_t begin, count;
  };
  /// Rows `begin` to `end` of that order.
  Rows rows(int64_t begin, int64_t end) const {
    end = std::min(end, n);
    return {lower ? begin : n - end, end - begin};
  }

  bool isSingular() const {
    for (int64_t i = 0; i < n && !unit; ++i)
      if (a[i * n + i] == 0) return true;
    return false;
  }

  /// Some columns of x, which hold b there, for the triangle of these rows alone.
  void solve(Rows r, int64_t column, int64_t width) const {
    const int side = static_cast<int>(r.count), m = static_cast<int>(width), lda = static_cast<int>(n),
              ldx = static_cast<int>(k);
    const char *const triangle = lower ? "U" : "L", *const diagonal = unit ? "U" : "N";
    const T* const from = a + r.begin * (n + 1);
    T* const to = x + r.begin * k + column;
    const T one = 1;
    if (k == 1)
      lapack::Routines<T>::trsv(triangle, "T", diagonal, &side, from, &lda, to, &ldx);
    else
      lapack::Routines<T>::trsm("R", triangle, "N", diagonal, &m, &side, &one, from, &lda, to, &ldx);
  }

  /// Takes from rows `r` of x what the rows `known`, which are solved, have in them.
  void update(Rows r, Rows known) const {
    const int m = static_cast<int>(k), count = static_cast<int>(r.count), depth = static_cast<int>(known.count),
              lda = static_cast<int>(n);
    const T one = 1, minus = -1;
    lapack::Routines<T>::gemm("N", "N", &m, &count, &depth, &minus, x + known.begin * k, &m,
                              a + r.begin * n + known.begin, &lda, &one, x + r.begin * k, &m);
  }

  int64_t n, k;
  bool lower, unit;
  const T *a = nullptr, *b = nullptr;
  T* x = nullptr;
};

template <class T>
struct Triangular {
  static constexpr int64_t kBlock = 128;

  static bool isInBlocks(const System<T>& s) { return s.k > 1 && s.k < 2 * kStripe && s.n > 2 * kBlock; }
  static int64_t phases(const Call& call) {
    const System<T> s(call);
    return isInBlocks(s) ? blocksOf(s.n, kBlock) : 1;
  }
  static Phase phase(const Call& call, int64_t p) {
    const System<T> s(call);
    const double area = static_cast<double>(kBlock * kBlock * s.k);
    if (isInBlocks(s)) return {blocksOf(s.n, kBlock) - p, 1000 + area / 40};
    // The diagonal is looked at where there are no right-hand sides, too.
    return {std::max<int64_t>(1, blocksOf(s.k, kStripe)), 300 + static_cast<double>(s.n * s.n * kStripe) / 40};
  }
  static size_t scratchBytes(const Call&) { return 0; }
  static size_t sharedBytes(const Call&) { return 0; }

  static Failure step(const Call& call, void* const* buffers, int64_t matrix, const Item& at) {
    const System<T> s(call, buffers, matrix);
    if (at.phase == 0 && (at.number == 0 || !isInBlocks(s)) && s.isSingular()) return Failure::Singular;
    if (s.k == 0) return Failure::None;
    if (isInBlocks(s)) {
      blockStep(s, at.phase, at.number);
    } else {
      const int64_t begin = at.number * kStripe, width = std::min(kStripe, s.k - begin);
      for (int64_t i = 0; i < s.n; ++i) std::copy_n(s.b + i * s.k + begin, width, s.x + i * s.k + begin);
      s.solve({0, s.n}, begin, width);
    }
    return Failure::None;
  }

 private:
  /// Phase p solves block p, its item 0, and brings that and all behind it up to date with block p - 1.
  static void blockStep(const System<T>& s, int64_t p, int64_t item) {
    const int64_t begin = (p + item) * kBlock;
    const auto rows = s.rows(begin, begin + kBlock);
    if (p == 0)
      std::copy_n(s.b + rows.begin * s.k, rows.count * s.k, s.x + rows.begin * s.k);
    else
      s.update(rows, s.rows((p - 1) * kBlock, p * kBlock));
    if (item == 0) s.solve(rows, 0, s.k);
  }
};

}  // namespace

template <class T>
BlockedRoutine blockedTriangular() {
  return {Phased<Triangular<T>>::plan, Phased<Triangular<T>>::run};
}
template BlockedRoutine blockedTriangular<float>();
template BlockedRoutine blockedTriangular<double>();

}  // namespace tenc::rt::library
