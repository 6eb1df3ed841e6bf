// Tensors of which a native loop writes a part before it reads from it: what that begins with need not be made.
#pragma once
#include <optional>
#include <vector>

#include "ir/Module.h"

namespace tenc::codegen {

/// From `lo` to before `hi` along each dim.
struct Box {
  std::vector<int64_t> lo, hi;
};

/// The part of an operand that a native loop carries each of whose elements it writes before it reads it.
std::optional<Box> overwrittenPart(const ir::Op& fused, size_t operand);
/// That of all results of a fused op, which have one shape, if such a loop is all that each is for.
std::optional<Box> overwrittenPart(const ir::Op& fused);

/// Whether a native loop puts an element into each place of an operand that it carries before it reads it.
bool overwritesAll(const ir::Op& fused, size_t operand);
/// Whether the results of a fused op are only what such operands begin with.
bool isOverwritten(const ir::Op& fused);

}  // namespace tenc::codegen
