// Floats that are made of literals alone at run time: of f32 by themselves, and exact beside an operand of f64.
#pragma once
#include "frontend/values/Values.h"

namespace tenc::frontend {

/// A number that adopts, as a value of f32 that `exactly` knows; null where its dtype is written or it is no number.
ir::Value* exactLiteral(ir::Builder& b, const Val& v);
/// Whether `v` is a number of f32 made of such literals alone, and of conditions, with other digits in f64.
bool isExact(const ir::Value* v);
bool isConstant(const ir::Value* v);
/// A number of f64 made of such literals, as a value of f32 that is exact; what is none as it is.
ir::Value* roundedExactly(ir::Builder& b, ir::Value* v);
/// The same computed in f64; `v` must be exact, or a constant.
ir::Value* exactly(ir::Builder& b, ir::Value* v);

}  // namespace tenc::frontend
