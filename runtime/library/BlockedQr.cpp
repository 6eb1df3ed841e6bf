// Q and R by Householder's reflections, blocks of which are matrices V and T: the product of a block is I - V T V^T
// (Schreiber and Van Loan 1989, "A Storage-Efficient WY Representation for Products of Householder Transformations").
// The next block of columns is factored while the others are brought up to date with the one before; the columns of Q
// are computed by themselves, or its rows where there is one block.
#include "runtime/library/Blocked.h"
#include "runtime/library/Phased.h"

namespace tenc::rt::library {
namespace {

constexpr int64_t kRowsTogether = 256;  ///< of Q

template <class T>
struct Qr {
  /// What follows from the shapes.
  struct Shape {
    explicit Shape(const Call& call)
        : m(rows(call.operands[0])), n(columns(call.operands[0])), k(columns(call.results[0])), least(std::min(m, n)) {}
    /// A tall matrix is one block.
    bool isOne() const { return n <= 2 * kPanel && m >= 4 * n; }
    int64_t depth() const { return isOne() ? n : kPanel; }  ///< columns of a block
    int64_t blocks() const { return isOne() ? 1 : blocksOf(least, kPanel); }
    int64_t depthOf(int64_t block) const { return std::min(depth(), least - block * depth()); }
    /// A step for each block, and one for the columns behind all.
    int64_t steps() const { return blocks() + (n > least); }
    int64_t m, n, k, least;
  };

  struct Work {
    Work(Scratch s, const Shape& x)
        : a(s.take<T>(x.m * x.n)),
          t(s.take<T>(x.depth() * x.blocks() * x.depth())),
          v(s.take<T>(x.isOne() ? x.m * x.depth() : 0)),
          product(s.take<T>(x.isOne() ? x.depth() * x.k : 0)),
          bytes(s.used()) {}
    T* a;        ///< by columns: R, and below it the reflections
    T* t;        ///< of each block
    T* v;        ///< of one block: the reflections with their ones and zeros
    T* product;  ///< of one block: T V^T, for the first k columns
    size_t bytes;
  };

  static int64_t phases(const Call& call) { return Shape(call).steps() + 1; }
  static Phase phase(const Call& call, int64_t p) {
    const Shape x(call);
    const auto m = static_cast<double>(x.m);
    const double update = 2000 + m * kPanel * kTile / 10;
    if (p == x.blocks() && p < x.steps()) return {blocksOf(x.n - x.least, kTile), update};
    if (p < x.steps()) return {x.isOne() ? 1 : 1 + tilesBehind(x.n, p), update};
    if (x.isOne()) return {blocksOf(x.m, kRowsTogether), 10.0 * kRowsTogether * static_cast<double>(x.n)};
    return {std::max<int64_t>(1, blocksOf(std::max(x.k, x.n), kPanel)),
            1000 + m * static_cast<double>(x.least) * kPanel / 10};
  }
  static size_t scratchBytes(const Call& call) {
    const Shape x(call);
    Scratch s;
    s.take<T>(kTile * kPanel);
    s.take<T>(x.isOne() ? 0 : x.m * kPanel);
    return s.used();
  }
  static size_t sharedBytes(const Call& call) { return Work(Scratch(), Shape(call)).bytes; }

  static Failure step(const Call& call, void* const* buffers, int64_t matrix, const Item& at) {
    const Shape x(call);
    const Work w(Scratch(at.shared), x);
    Scratch s(at.scratch);
    T* const work = s.take<T>(kTile * kPanel);
    if (at.phase < x.steps()) {
      factor(x, w, part<T>(call, buffers, 0, matrix, 2), at.phase, at.number, work);
      return Failure::None;
    }
    T* const q = part<T>(call, buffers, 1, matrix, 2);
    T* const r = part<T>(call, buffers, 2, matrix, 2);
    if (x.isOne()) {
      if (at.number == 0) columnsOfR(x, w, r, 0, x.n);
      rowsOfQ(x, w, q, at.number * kRowsTogether);
      return Failure::None;
    }
    const int64_t begin = at.number * kPanel;
    columnsOfR(x, w, r, begin, std::min(x.n, begin + kPanel));
    if (begin < x.k) columnsOfQ(x, w, q, begin, s.take<T>(x.m * kPanel), work);
    return Failure::None;
  }

 private:
  static T* blockT(const Shape& x, const Work& w, int64_t block) { return w.t + block * x.depth() * x.depth(); }

  /// Brings columns up to date with the block before and factors those of block p.
  static void factor(const Shape& x, const Work& w, const T* from, int64_t p, int64_t item, T* work) {
    auto [begin, end] = x.isOne() ? std::pair<int64_t, int64_t>{0, x.n} : columnsOf(x.n, p, item);
    if (p == x.blocks()) begin = x.least + item * kTile, end = std::min(x.n, begin + kTile);
    T* const tile = w.a + begin * x.m;
    if (p == 0)
      transpose(from + begin, x.n, tile, x.m, x.m, end - begin);
    else
      reflect(x, w, p - 1, "T", tile + (p - 1) * kPanel, end - begin, work);
    if (item > 0 || p == x.blocks()) return;
    const int m = static_cast<int>(x.m - begin), n = static_cast<int>(x.depthOf(p)), ld = static_cast<int>(x.m);
    const int ldt = static_cast<int>(x.depth());
    int info = 0;
    T* const t = blockT(x, w, p);
    std::fill_n(t, x.depth() * x.depth(), T{0});
    lapack::Routines<T>::geqrt3(&m, &n, tile + begin, &ld, t, &ldt, &info);
    if (x.isOne()) multiply(x, w);
  }

  /// The product of a block's reflections, or its transpose, times `width` columns, from the block's first row on.
  static void reflect(const Shape& x, const Work& w, int64_t block, const char* transposed, T* c, int64_t width,
                      T* work) {
    const int64_t k0 = block * kPanel;
    const int m = static_cast<int>(x.m - k0), n = static_cast<int>(width), ld = static_cast<int>(x.m);
    const int depth = static_cast<int>(x.depthOf(block)), ldt = static_cast<int>(x.depth());
    lapack::Routines<T>::larfb("L", transposed, "F", "C", &m, &n, &depth, w.a + k0 * x.m + k0, &ld, blockT(x, w, block),
                               &ldt, c, &ld, work, &n);
  }

  static void columnsOfR(const Shape& x, const Work& w, T* r, int64_t begin, int64_t end) {
    if (begin >= end) return;
    transpose(w.a + begin * x.m, x.m, r + begin, x.n, end - begin, x.least);
    for (int64_t i = begin; i < x.k; ++i)
      std::fill(r + i * x.n + begin, r + i * x.n + (i < x.least ? std::min(i, end) : end), T{0});
  }

  static void columnsOfQ(const Shape& x, const Work& w, T* q, int64_t begin, T* columns, T* work) {
    const int64_t width = std::min<int64_t>(kPanel, x.k - begin);
    std::fill_n(columns, x.m * width, T{0});
    for (int64_t j = 0; j < width; ++j) columns[j * x.m + begin + j] = 1;
    // Later blocks leave these columns of the identity as they are.
    for (int64_t block = std::min(x.blocks() - 1, begin / kPanel); block >= 0; --block)
      reflect(x, w, block, "N", columns + block * kPanel, width, work);
    transpose(columns, x.m, q + begin, x.k, width, x.m);
  }

  /// Of one block: V, and T V^T.
  static void multiply(const Shape& x, const Work& w) {
    for (int64_t j = 0; j < x.n; ++j) {
      std::fill_n(w.v + j * x.m, j, T{0});
      w.v[j * x.m + j] = 1;
      std::copy(w.a + j * x.m + j + 1, w.a + (j + 1) * x.m, w.v + j * x.m + j + 1);
    }
    const int n = static_cast<int>(x.n), k = static_cast<int>(x.k), ld = static_cast<int>(x.m);
    const T one = 1, zero = 0;
    lapack::Routines<T>::gemm("N", "T", &n, &k, &n, &one, w.t, &n, w.v, &ld, &zero, w.product, &n);
  }

  static void rowsOfQ(const Shape& x, const Work& w, T* q, int64_t begin) {
    const int64_t end = std::min(x.m, begin + kRowsTogether);
    const int n = static_cast<int>(x.n), k = static_cast<int>(x.k), m = static_cast<int>(end - begin);
    const int ld = static_cast<int>(x.m);
    const T minus = -1, zero = 0;
    lapack::Routines<T>::gemm("T", "T", &k, &m, &n, &minus, w.product, &n, w.v + begin, &ld, &zero, q + begin * x.k,
                              &k);
    for (int64_t i = begin; i < std::min(end, x.k); ++i) q[i * x.k + i] += 1;
  }
};

}  // namespace

template <class T>
BlockedRoutine blockedQr() {
  return {Phased<Qr<T>>::plan, Phased<Qr<T>>::run};
}
template BlockedRoutine blockedQr<float>();
template BlockedRoutine blockedQr<double>();

}  // namespace tenc::rt::library
