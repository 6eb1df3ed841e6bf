// What NumPy and PyTorch mean differently without a call: integers beside arrays as indices, and elements, which are
// views in PyTorch.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// Of an index of a tensor of PyTorch, whose dims would have another order here; with the edit that says what is meant
/// there, where that can be written.
std::optional<Help> indexOfTorch(const ast::File& file, const ast::Expr& index);
/// Of a statement that changes a tensor of PyTorch by another name, `e = x[0]; e += 1`, or swaps its elements.
std::optional<Help> changeOfTorch(const ast::File& file, const ast::Stmt& change);
/// Whether an expression is `x.T` of three dims or more, as the text tells: all of them are reversed in NumPy and
/// PyTorch.
bool reversesDims(const ast::File& file, const ast::Expr& e);

}  // namespace tenc::frontend
