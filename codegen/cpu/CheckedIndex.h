// The check of a run-time index, for every form of kernel.
#pragma once
#include <functional>

#include "codegen/cpu/LlvmScalars.h"

namespace tenc::codegen::cpu {

/// Allowed are 0 to `extent` - 1 and, with `fromEnd`, negative indices, to which `size` is added: `extent` is less than
/// `size` where a block of several elements starts at the index.
struct IndexRule {
  int64_t extent, size;
  int64_t axis;    ///< of the indexed tensor, for what is said of the fault
  uint32_t fault;  ///< the kernel's fault that an index out of range sets
  bool fromEnd = true;
};

/// The index counted from the start, 0 where it is out of range, and where it is. `index` is an I32 or I64; `asked`
/// gives it as I64, as the program knows it, and runs aside.
struct CheckedIndex {
  Scalar index, outside;
};
CheckedIndex checkIndex(LlvmScalars& s, Scalar index, const IndexRule& rule, const std::function<Scalar()>& asked);

}  // namespace tenc::codegen::cpu
