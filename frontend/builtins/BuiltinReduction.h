// What reductions are given, read and checked.
#pragma once
#include "frontend/builtins/Builtin.h"

namespace tenc::frontend {

/// The operand `x` of a reduction and its options.
struct Reduced {
  ir::Value* x = nullptr;
  ir::Dims axes;
  bool keep = false;
  std::optional<ir::DType> dtype;  ///< that it is computed in and gives, where it is named
};

/// Reports what is wrong with them.
std::optional<Reduced> reductionOperands(BuiltinCall& k);

/// `sum`, `prod`, `max` and `min`, by the op of the row.
Val reduction(BuiltinCall& k);

}  // namespace tenc::frontend
