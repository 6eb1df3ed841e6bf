// Elementwise kernels whose rows are no multiple of a vector: a thread has points side by side in row-major order,
// across the ends of rows. What lies in that order is accessed in vectors, everything else one by one.
#pragma once
#include "codegen/Kernel.h"

namespace tenc::codegen::cuda {

/// The number of points of a thread; 1 where the kernel does not suit.
int flatWidth(const Kernel& kernel);

/// Whether the access is that of the element with the point's number, in vectors of so many.
bool isFlat(const Kernel& kernel, const Access& access, int width);

/// Whether the stage runs at all outer points.
bool coversAll(const Kernel& kernel, const Stage& stage);

bool mayFault(const Stage& stage);

/// Whether nothing but storing shows that the stage ran at a point: no faults, little work.
bool isHarmless(const Stage& stage);

/// The bits of a stage that only stores a constant; null for others.
const Expr* constantOf(const Stage& stage);

}  // namespace tenc::codegen::cuda
