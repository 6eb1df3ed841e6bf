// What schedules of every target ask of a kernel's loops and accesses.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "codegen/Kernel.h"

namespace tenc::codegen {

/// How far apart in memory the elements at neighbouring values of loop variable `var` are, in elements.
inline int64_t strideOf(const Access& a, size_t var) { return var < a.strides.size() ? a.strides[var] : 0; }

/// The number of points of a box.
inline int64_t trips(const std::vector<int64_t>& lo, const std::vector<int64_t>& hi) {
  int64_t n = 1;
  for (size_t i = 0; i < lo.size(); ++i) n *= std::max<int64_t>(0, hi[i] - lo[i]);
  return n;
}

/// Whether the stage runs at all values of the outer variable `var`.
inline bool coversAll(const Kernel& kernel, const Stage& stage, size_t var) {
  return stage.outerLo.empty() || (stage.outerLo[var] == 0 && stage.outerHi[var] == kernel.outer[var]);
}

/// Whether the stage has a sum or product of floats, whose order must follow from shapes and strides alone.
inline bool sumsFloats(const Kernel& kernel, const Stage& stage) {
  return std::any_of(stage.reductions.begin(), stage.reductions.end(), [&](uint32_t r) {
    const Reduction& red = kernel.reductions[r];
    return !red.running && ir::isFloat(red.accumulator) &&
           (red.kind == Reduction::Kind::Sum || red.kind == Reduction::Kind::Prod);
  });
}

}  // namespace tenc::codegen
