// Class numbers as indices: one that is no class becomes an index that is out of range and tells which class it is, and
// where it stands.
#pragma once
#include <cstdint>

namespace tenc {

/// What an index of class numbers has for the axis that is indexed, in what kernels report.
inline constexpr int64_t kClassAxis = int64_t{1} << 20;

/// No class: kNoClass, its place in row-major order times kClassPlace, and the number above kLeastClass.
inline constexpr int64_t kNoClass = int64_t{1} << 62;
inline constexpr int64_t kClassPlace = int64_t{1} << 32;
inline constexpr int64_t kLeastClass = -(int64_t{1} << 31);
inline constexpr int64_t kMostClass = (int64_t{1} << 31) - 1;

}  // namespace tenc
