// Rewrites of single ops, tried by Simplify.cpp. A rule returns the value that replaces result 0, or null. It may make
// new ops at the builder, which stands before the op.
#pragma once
#include <optional>

#include "ir/Ir.h"
#include "ir/Scalar.h"

namespace tenc::passes {

/// The value of an elementwise op on scalars, when it is the same on every target: integer arithmetic, comparisons,
/// bits, conversions, and the IEEE operations that are correctly rounded. nullopt otherwise, and where the op would
/// stop.
std::optional<ir::Scalar> evaluate(const ir::Op& op, const std::vector<ir::Scalar>& operands);

/// An elementwise op whose operands are literals or broadcasts of literals.
ir::Value* foldConstants(ir::Op& op, ir::Builder& b);
/// Identities that keep every bit: x * 1, x + 0 of integers, x - 0, -(-x), conversions to the same dtype, ... And what
/// is computed better in other ops: x ** 2, products of a matrix and a vector.
ir::Value* simplifyArithmetic(ir::Op& op, ir::Builder& b);
/// Structural ops that move nothing, and chains of them.
ir::Value* simplifyStructural(ir::Op& op, ir::Builder& b);
/// Writes to every s-th element, and what is read beside them.
ir::Value* simplifyUpdates(ir::Op& op, ir::Builder& b);
/// Products of many matrices with one, and what is computed of their elements.
ir::Value* simplifyProducts(ir::Op& op, ir::Builder& b);
/// Gathers of what elementwise ops make.
ir::Value* simplifyGather(ir::Op& op, ir::Builder& b);

}  // namespace tenc::passes
