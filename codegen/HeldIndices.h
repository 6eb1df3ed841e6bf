// Operands of native loops whose elements are indices: graphs, sparse matrices, keys.
#pragma once
#include <cstddef>
#include <vector>

#include "codegen/IndexRanges.h"

namespace tenc::codegen {

struct Kernel;

/// An operand of a native kernel of which all elements should be in a range.
struct HeldIndices {
  size_t operand;
  Range range;
};

/// The operands that a native kernel reads several times, or takes the ends of loops from, and whose elements are
/// indices wherever they are read: looking through them once costs less than checking each of them where it is read.
std::vector<HeldIndices> heldIndices(const Kernel& native);

}  // namespace tenc::codegen
