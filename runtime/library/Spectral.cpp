// Eigenvalues, singular values and least squares: the drivers that NumPy uses (syevd, gesdd, gelsd) on column-major
// copies, so that the signs of vectors are LAPACK's.
#include <limits>

#include "runtime/library/Matrix.h"

namespace tenc::rt::library {
namespace {

// ---- eigh

template <class T>
struct EighWork {
  EighWork(Scratch s, int64_t n)
      : a(s.take<T>(n * n)),
        length(static_cast<int>(1 + 6 * n + 2 * n * n)),
        integers(static_cast<int>(3 + 5 * n)),
        work(s.take<T>(length)),
        iwork(s.take<int>(integers)),
        bytes(s.used()) {}
  T* a;
  int length, integers;
  T* work;
  int* iwork;
  size_t bytes;
};

template <class T>
struct Eigh {
  static Plan plan(const Call& call) {
    const int n = columns(call.operands[0]);
    return {batch(call.operands[0], 2), 1000 + cubic(n, 9), EighWork<T>(Scratch(), n).bytes};
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    const int n = columns(call.operands[0]);
    if (n == 0) return Failure::None;
    EighWork<T> w(Scratch(item.scratch), n);
    const T* a = part<T>(call, buffers, 0, item.number, 2);
    for (int64_t i = 0; i < n; ++i)
      if (!allFinite(a + i * n, i + 1)) return Failure::NotFinite;
    transpose(a, w.a, n, n);
    int info = 0;
    lapack::Routines<T>::syevd("V", "L", &n, w.a, &n, part<T>(call, buffers, 1, item.number, 1), w.work, &w.length,
                               w.iwork, &w.integers, &info);
    if (info != 0) return failureOf(info, Failure::NoConvergence);
    transpose(w.a, part<T>(call, buffers, 2, item.number, 2), n, n);
    return Failure::None;
  }
};

// ---- svd and singular_values

template <class T>
struct SvdWork {
  /// `job`: 'A' all of U and V, 'S' the first min(m, n) columns, 'N' none.
  SvdWork(Scratch s, const char* job, int m, int n) {
    const int least = std::min(m, n), one = 1;
    int info = 0;
    T best = 1;
    const int query = -1, lda = std::max(1, m);
    uRows = *job == 'N' ? 1 : m;
    vtRows = *job == 'A' ? n : *job == 'S' ? least : 1;
    const int ldu = std::max(one, uRows), ldvt = std::max(one, vtRows);
    if (least > 0)
      lapack::Routines<T>::gesdd(job, &m, &n, nullptr, &lda, nullptr, nullptr, &ldu, nullptr, &ldvt, &best, &query,
                                 nullptr, &info);
    // The query's answer is a float: a little more covers its rounding.
    length = static_cast<int>(static_cast<double>(best) * 1.0001) + 16;
    a = s.take<T>(int64_t{m} * n);
    u = s.take<T>(*job == 'N' ? 1 : int64_t{m} * (*job == 'A' ? m : least));
    vt = s.take<T>(int64_t{vtRows} * n);
    work = s.take<T>(length);
    iwork = s.take<int>(8 * int64_t{least});
    bytes = s.used();
  }
  T *a, *u, *vt, *work;
  int* iwork;
  int length = 1, uRows = 1, vtRows = 1;
  size_t bytes;
};

const char* jobOf(const Call& call) { return call.results.size() == 1 ? "N" : option(call, "full") ? "A" : "S"; }

template <class T>
void identity(T* a, int64_t n) {
  for (int64_t i = 0; i < n * n; ++i) a[i] = i / n == i % n;
}

template <class T>
struct Svd {
  static Plan plan(const Call& call) {
    const int m = rows(call.operands[0]), n = columns(call.operands[0]);
    const double cost = 1000 + 0.8 * m * static_cast<double>(n) * std::min(m, n);
    return {batch(call.operands[0], 2), cost, SvdWork<T>(Scratch(), jobOf(call), m, n).bytes};
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    const int m = rows(call.operands[0]), n = columns(call.operands[0]), least = std::min(m, n);
    const char* job = jobOf(call);
    const bool vectors = *job != 'N';
    if (least == 0) {
      if (*job == 'A') {
        identity(part<T>(call, buffers, 1, item.number, 2), m);
        identity(part<T>(call, buffers, 3, item.number, 2), n);
      }
      return Failure::None;
    }
    SvdWork<T> w(Scratch(item.scratch), job, m, n);
    const T* x = part<T>(call, buffers, 0, item.number, 2);
    if (!allFinite(x, int64_t{m} * n)) return Failure::NotFinite;
    transpose(x, w.a, m, n);
    int info = 0;
    T* s = part<T>(call, buffers, vectors ? 2 : 1, item.number, 1);
    lapack::Routines<T>::gesdd(job, &m, &n, w.a, &m, s, w.u, &w.uRows, w.vt, &w.vtRows, w.work, &w.length, w.iwork,
                               &info);
    if (info != 0) return failureOf(info, Failure::NoConvergence);
    if (vectors) {
      transpose(w.u, part<T>(call, buffers, 1, item.number, 2), *job == 'A' ? m : least, m);
      transpose(w.vt, part<T>(call, buffers, 3, item.number, 2), n, w.vtRows);
    }
    return Failure::None;
  }
};

// ---- lstsq

template <class T>
struct LstsqWork {
  LstsqWork(Scratch s, int m, int n, int k) : ldb(std::max({1, m, n})) {
    const int query = -1, lda = std::max(1, m);
    int info = 0, rank = 0, integerBest = 1;
    T best = 1, rcond = 0, singular = 0;
    if (m > 0 && n > 0 && k > 0)
      lapack::Routines<T>::gelsd(&m, &n, &k, nullptr, &lda, nullptr, &ldb, &singular, &rcond, &rank, &best, &query,
                                 &integerBest, &info);
    length = static_cast<int>(static_cast<double>(best) * 1.0001) + 16;
    a = s.take<T>(int64_t{m} * n);
    b = s.take<T>(int64_t{ldb} * k);
    work = s.take<T>(length);
    iwork = s.take<int>(integerBest);
    bytes = s.used();
  }
  int ldb, length = 1;
  T *a, *b, *work;
  int* iwork;
  size_t bytes;
};

template <class T>
struct Lstsq {
  static Plan plan(const Call& call) {
    const int m = rows(call.operands[0]), n = columns(call.operands[0]), k = columns(call.operands[1]);
    const double cost = 1000 + 0.6 * m * static_cast<double>(n) * std::min(m, n);
    return {batch(call.operands[0], 2), cost, LstsqWork<T>(Scratch(), m, n, std::max(1, k)).bytes};
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    const int m = rows(call.operands[0]), n = columns(call.operands[0]), k = columns(call.operands[1]);
    T* x = part<T>(call, buffers, 2, item.number, 2);
    auto* rank = part<int64_t>(call, buffers, 3, item.number, 0);
    *rank = 0;
    if (std::min(m, n) == 0) {
      std::fill(x, x + int64_t{n} * k, T{0});
      return Failure::None;
    }
    const T* a = part<T>(call, buffers, 0, item.number, 2);
    const T* b = part<T>(call, buffers, 1, item.number, 2);
    if (!allFinite(a, int64_t{m} * n) || !allFinite(b, int64_t{m} * k)) return Failure::NotFinite;
    // With no right-hand side there are still the rank and the singular values.
    const int sides = std::max(1, k);
    LstsqWork<T> w(Scratch(item.scratch), m, n, sides);
    transpose(a, w.a, m, n);
    std::fill(w.b, w.b + int64_t{w.ldb} * sides, T{0});
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < k; ++j) w.b[j * w.ldb + i] = b[i * k + j];
    const T rcond = std::numeric_limits<T>::epsilon() * static_cast<T>(std::max(m, n));
    int info = 0, found = 0;
    lapack::Routines<T>::gelsd(&m, &n, &sides, w.a, &m, w.b, &w.ldb, part<T>(call, buffers, 4, item.number, 1), &rcond,
                               &found, w.work, &w.length, w.iwork, &info);
    if (info != 0) return failureOf(info, Failure::NoConvergence);
    *rank = found;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < k; ++j) x[i * k + j] = w.b[j * w.ldb + i];
    return Failure::None;
  }
};

constexpr Routine kRoutines[] = {
    ofPrecision<Eigh>("eigh"),
    ofPrecision<Svd>("svd"),
    ofPrecision<Svd>("singular_values"),
    ofPrecision<Lstsq>("lstsq"),
};

}  // namespace

std::span<const Routine> spectralRoutines() { return kRoutines; }

}  // namespace tenc::rt::library
