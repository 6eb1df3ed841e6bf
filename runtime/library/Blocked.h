// Factorisations of matrices that are larger than those of SmallMatrix.h, in phases that all threads share (Phased.h).
// Panels of kPanel columns are factored one after the other; tiles of kTile columns are what items of a phase work on.
// All cuts follow from shapes, so that results do not depend on threads.
#pragma once
#include <utility>

#include "runtime/library/Library.h"

namespace tenc::rt::library {

inline constexpr int kPanel = 64;
inline constexpr int64_t kTile = 128;
inline constexpr int64_t kStripe = 128;  ///< right-hand sides that are solved together

inline int64_t blocksOf(int64_t n, int64_t size) { return (n + size - 1) / size; }

/// How many tiles there are behind panel p of n columns.
inline int64_t tilesBehind(int64_t n, int64_t p) {
  const int64_t rest = n - (p + 1) * kPanel;
  return rest > 0 ? blocksOf(rest, kTile) : 0;
}

/// The columns of item 0, which is panel p, and of the tiles behind it.
inline std::pair<int64_t, int64_t> columnsOf(int64_t n, int64_t p, int64_t item) {
  if (item == 0) return {p * kPanel, std::min(n, (p + 1) * kPanel)};
  const int64_t begin = (p + 1) * kPanel + (item - 1) * kTile;
  return {begin, std::min(n, begin + kTile)};
}

struct BlockedRoutine {
  Plan (*plan)(const Call& call);
  Failure (*run)(const Call& call, void* const* buffers, const Item& item);
};
template <class T>
BlockedRoutine blockedPivots();
/// Also the inverse.
template <class T>
BlockedRoutine blockedSolve();
template <class T>
BlockedRoutine blockedTriangular();
template <class T>
BlockedRoutine blockedCholesky();
template <class T>
BlockedRoutine blockedQr();

}  // namespace tenc::rt::library
