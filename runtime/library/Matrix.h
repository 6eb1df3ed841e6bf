// What the linear algebra routines share: where the matrices of an item are, and pieces of scratch memory.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/library/Lapack.h"
#include "runtime/library/Library.h"

namespace tenc::rt::library {

/// Hands out pieces of a thread's scratch memory; with no memory it only counts.
class Scratch {
 public:
  explicit Scratch(void* memory = nullptr) : base_(static_cast<std::byte*>(memory)) {}
  template <class T>
  T* take(int64_t n) {
    std::byte* at = base_ ? base_ + used_ : nullptr;
    used_ += (static_cast<size_t>(std::max<int64_t>(n, 1)) * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(at);
  }
  size_t used() const { return used_; }

 private:
  std::byte* base_;
  size_t used_ = 0;
};

/// The last two dims of a matrix and the last dim of a vector, as LAPACK's integers (InferLibrary.cpp bounds them).
inline int rows(const abi::TensorRef& t) { return static_cast<int>(dim(t, 2)); }
inline int columns(const abi::TensorRef& t) { return static_cast<int>(dim(t, 1)); }

/// What buffer `index` holds: operands come first, then results.
inline const abi::TensorRef& tensorOf(const Call& call, size_t index) {
  return index < call.operands.size() ? call.operands[index] : call.results[index - call.operands.size()];
}

/// The part of `item` in buffer `index`, whose last `inner` dims belong to one item.
template <class T>
T* part(const Call& call, void* const* buffers, size_t index, int64_t item, size_t inner) {
  int64_t n = 1;
  for (size_t d = 1; d <= inner; ++d) n *= dim(tensorOf(call, index), d);
  return static_cast<T*>(buffers[index]) + item * n;
}

/// to[j * ldTo + i] = from[i * ldFrom + j].
template <class T>
void transpose(const T* from, int64_t ldFrom, T* to, int64_t ldTo, int64_t m, int64_t n) {
  constexpr int64_t kSquare = 16;
  for (int64_t i0 = 0; i0 < m; i0 += kSquare)
    for (int64_t j0 = 0; j0 < n; j0 += kSquare)
      for (int64_t j = j0; j < std::min(n, j0 + kSquare); ++j)
        for (int64_t i = i0; i < std::min(m, i0 + kSquare); ++i) to[j * ldTo + i] = from[i * ldFrom + j];
}

/// An m x n row-major matrix becomes column-major.
template <class T>
void transpose(const T* from, T* to, int64_t m, int64_t n) {
  transpose(from, n, to, m, m, n);
}

template <class T>
bool allFinite(const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (!std::isfinite(x[i])) return false;
  return true;
}

/// A routine on matrices of f32 or f64 that is written once: `R<T>::plan` and `R<T>::run`, as in Routine.
template <template <class> class R>
constexpr Routine ofPrecision(std::string_view name) {
  return {name,
          [](const Call& c) { return c.operands[0].dtype == abi::dtype::F32 ? R<float>::plan(c) : R<double>::plan(c); },
          [](const Call& c, void* const* buffers, const Item& item) {
            return c.operands[0].dtype == abi::dtype::F32 ? R<float>::run(c, buffers, item)
                                                          : R<double>::run(c, buffers, item);
          }};
}

/// Rough nanoseconds of n^3 work.
inline double cubic(double n, double factor) { return 300 + factor * n * n * n / 20; }

}  // namespace tenc::rt::library
