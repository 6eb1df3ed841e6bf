// What kernels are taken to cost: the only estimates of time in this target. A unit is about one vector instruction, a
// third of a nanosecond. All follow from the kernel alone; nothing is measured.
#pragma once
#include <cstdint>

#include "codegen/Kernel.h"

namespace tenc::codegen::cpu {

/// Work of a few microseconds, which is worth handing to a thread.
inline constexpr double kGrainWork = 12000;
/// What a run costs besides its work: arguments, the call.
inline constexpr double kRunOverhead = 60;

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

// ---- products

/// Of so many results that are each a sum of so many products.
constexpr double flopsOf(int64_t depth, int64_t results) {
  return 2.0 * static_cast<double>(depth) * static_cast<double>(results);
}
/// Of all rows of B that one element's sum reads.
int64_t bytesOfB(const Product& product);
/// Of a run of a product kernel on one thread in full code, with its epilogue.
double productWork(const Kernel& kernel);

// ---- native loops

/// Of a run of the op that is a native loop; infinite where a number of trips depends on values that are not known.
double nativeWork(const ir::Op& op);

}  // namespace tenc::codegen::cpu
