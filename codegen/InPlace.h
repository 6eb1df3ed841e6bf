// Whether an output of a kernel may be written over one of its inputs.
#pragma once
#include "codegen/Kernel.h"

namespace tenc::codegen {

/// Whether `output` may stand in the memory of `input`: both have elements of one width, and every element is read
/// before, and at the same point as, it is written. What a kernel means allows it then; its target may not.
bool mayWriteOver(const Kernel& kernel, uint32_t input, uint32_t output);

}  // namespace tenc::codegen
