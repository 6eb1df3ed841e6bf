// What loops are taken to cost. A unit is about one vector instruction, a third of a nanosecond.
#pragma once
#include <cstdint>

#include "codegen/Kernel.h"

namespace tenc::codegen::cpu {

/// Work of a few microseconds, which is worth handing to a thread.
inline constexpr double kGrainWork = 12000;

/// Elements so far apart at most are loaded as whole vectors, and picked from them.
inline constexpr int64_t kMostStride = 4;

/// Vector instructions for one vector of the stage's innermost values.
int stageCost(const Kernel& kernel, const Stage& stage);

/// The cost of a stage for one element, when `var`, of `extent` values, runs over lanes.
double costPerElement(const Kernel& kernel, const Stage& stage, size_t var, int64_t extent);
/// The same without vectors.
double scalarCost(const Kernel& kernel, const Stage& stage);

/// What the choice between vector variables goes by: costPerElement and scalarCost, but where floats are summed a
/// figure that follows from shapes and strides alone, as the choice decides the order of the sum.
double choiceCost(const Kernel& kernel, const Stage& stage, size_t var, int64_t extent);
double scalarChoiceCost(const Kernel& kernel, const Stage& stage);

/// How many bodies of a reduction may stand side by side in the code.
int bodiesOf(int cost);
/// Whether the stage is so much code that it is printed once.
bool isLong(const Kernel& kernel, const Stage& stage);
/// Vectors side by side, when the vector variable is an inner one or an outer one.
int innerCopies(const Kernel& kernel, const Stage& stage);
int outerCopies(const Kernel& kernel, const Stage& stage);

}  // namespace tenc::codegen::cpu
