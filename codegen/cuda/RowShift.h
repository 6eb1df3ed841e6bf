// Rows that do not start at multiples of a vector. Their vectors lie where memory has them, so that the first and the
// last one of a row may have fewer elements.
#pragma once
#include <optional>

#include "codegen/Kernel.h"

namespace tenc::codegen::cuda {

struct RowShift {
  int width = 1;
  int word = 1;      ///< elements of the narrowest access that have four bytes, `width` at most
  size_t stage = 0;  ///< that has the access
  Access like;       ///< by whose place rows are divided
  int64_t extent = 0;

  /// Whether vectors of the access are where those of `like` are. The last loop variable is that along rows.
  bool suits(const Kernel& kernel, const Access& access) const;
  /// Vectors that a row may touch.
  int64_t groups() const { return (extent + 2 * (int64_t{width} - 1)) / width; }
};

/// Vectors of `most` elements, less where 16 bytes hold less. nullopt: there is nothing that can be divided so.
std::optional<RowShift> rowShift(const Kernel& kernel, int most);

}  // namespace tenc::codegen::cuda
