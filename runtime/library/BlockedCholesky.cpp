// The lower factor of a positive definite matrix. LAPACK's matrices have their columns side by side, so what is
// computed is the upper factor of the transpose: M = U^T U, a block of rows of U at a time, and matrix products for the
// rest.
#include "runtime/library/Blocked.h"
#include "runtime/library/Phased.h"
#include "runtime/library/SmallMatrix.h"

namespace tenc::rt::library {
namespace {

template <class T>
struct Cholesky {
  static int64_t side(const Call& call) { return columns(call.operands[0]); }
  /// Two for each block of rows; `step` says which.
  static int64_t phases(const Call& call) { return 2 * blocksOf(side(call), kPanel); }
  static Phase phase(const Call& call, int64_t p) {
    const int64_t n = side(call);
    const int64_t block = p / 2;
    const auto m = static_cast<double>(n - block * kPanel);
    if (p % 2 == 0) return {1 + tilesBehind(n, p / 2), 2000 + m * kPanel * kTile / 40};
    return {tilesBehind(n, p / 2), 500 + kPanel * kPanel * kTile / 20.0};
  }
  static size_t scratchBytes(const Call&) { return 0; }
  static size_t sharedBytes(const Call&) { return 0; }

  /// Even phases bring the columns from block p / 2 on up to date, and factor the diagonal block; odd ones find the
  /// rest of its rows.
  static Failure step(const Call& call, void* const* buffers, int64_t matrix, const Item& at) {
    const int64_t n = side(call), panel = at.phase / 2, k0 = panel * kPanel;
    T* const a = part<T>(call, buffers, 1, matrix, 2);
    const int ld = static_cast<int>(n);
    if (at.phase % 2 == 1) {
      const auto [begin, end] = columnsOf(n, panel, at.number + 1);
      smallTriangularColumns({a + k0 * n + k0, kPanel, n, true, false}, a + begin * n + k0, n, end - begin);
      return Failure::None;
    }
    const auto [begin, end] = columnsOf(n, panel, at.number);
    if (panel == 0) {
      const T* const from = part<T>(call, buffers, 0, matrix, 2);
      for (int64_t j = begin; j < end; ++j) {
        std::copy_n(from + j * n, j + 1, a + j * n);
        std::fill(a + j * n + j + 1, a + (j + 1) * n, T{0});
      }
    } else {
      for (int64_t j = begin; j < end; j += kPanel) update(a, n, k0, j, std::min(end, j + kPanel));
    }
    if (at.number > 0) return Failure::None;
    const int width = static_cast<int>(end - begin);
    int info = 0;
    lapack::Routines<T>::potrf("U", &width, a + begin * n + begin, &ld, &info);
    for (int64_t j = begin; j < end; ++j) std::fill(a + j * n + j + 1, a + j * n + end, T{0});
    if (info == 0 && meetsNan(part<T>(call, buffers, 0, matrix, 2), a, n, begin, end))
      return Failure::NotPositiveDefinite;
    return failureOf(info, Failure::NotPositiveDefinite);
  }

 private:
  /// Whether NaN is in the diagonal block, which LAPACK's comparisons let pass. It spreads to the diagonal of its row,
  /// unless a pivot is infinite: BLAS scales by 0 without looking at what it scales.
  static bool meetsNan(const T* operand, const T* a, int64_t n, int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      const T pivot = a[j * n + j];
      if (std::isnan(pivot)) return true;
      for (int64_t i = j + 1; std::isinf(pivot) && i < end; ++i)
        if (!std::isfinite(operand[i * n + j])) return true;
    }
    return false;
  }

  /// Columns from `begin` to `end`, down to the diagonal, after the block of rows in front of k0.
  static void update(T* a, int64_t n, int64_t k0, int64_t begin, int64_t end) {
    const int ld = static_cast<int>(n), depth = kPanel, width = static_cast<int>(end - begin);
    const int height = static_cast<int>(end - k0);
    const T one = 1, minus = -1;
    const T* const rows = a + k0 - kPanel;
    lapack::Routines<T>::gemm("T", "N", &height, &width, &depth, &minus, rows + k0 * n, &ld, rows + begin * n, &ld,
                              &one, a + begin * n + k0, &ld);
  }
};

}  // namespace

template <class T>
BlockedRoutine blockedCholesky() {
  return {Phased<Cholesky<T>>::plan, Phased<Cholesky<T>>::run};
}
template BlockedRoutine blockedCholesky<float>();
template BlockedRoutine blockedCholesky<double>();

}  // namespace tenc::rt::library
