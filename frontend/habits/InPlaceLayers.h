// Activations of PyTorch that write their result into their operand: `F.relu(x, inplace=True)`, `nn.ReLU(True)`.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "syntax/Ast.h"

namespace tenc::frontend {

/// Which argument of the call is `inplace`, by its name or its place; nothing where none is.
std::optional<size_t> inPlaceArgument(const ast::Expr& call);
/// Whether the call is given `inplace=True`, or a value that may be true.
bool isAskedInPlace(const ast::Expr& call);
/// Whether the text tells if the call is given `inplace=True`.
bool isInPlaceKnown(const ast::Expr& call);
/// Whether the value, a layer or a function, may give what it is called with, or a view of it, as its text tells.
bool passesOperand(const ast::Expr& layer);
/// Whether the call makes a layer that works in place.
bool makesInPlaceLayer(const ast::Expr& call);
/// A name that shows, behind a call, what that changed in its operand; nothing where the operand is a value that
/// nothing else has.
std::optional<std::string> readBehindChange(const ast::File& file, const ast::Expr& call, const ast::Expr& operand);
/// The same for all calls of a layer that is made there; empty where it is handed on to what cannot be followed.
std::optional<std::string> changedByLayer(const ast::File& file, const ast::Expr& layer);

}  // namespace tenc::frontend
