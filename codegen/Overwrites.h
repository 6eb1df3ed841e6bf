// Tensors that a native loop writes as a whole without reading them: what they begin with need not be made.
#pragma once
#include "ir/Module.h"

namespace tenc::codegen {

/// Whether a native loop puts an element into each place of an operand that it carries, and reads none of them.
bool overwritesAll(const ir::Op& fused, size_t operand);
/// Whether the one result of a fused op is only what such an operand begins with.
bool isOverwritten(const ir::Op& fused);

}  // namespace tenc::codegen
