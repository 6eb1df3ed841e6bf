// Names that Python takes for those of the function that assigns them, though they are also bound outside of it.
#pragma once
#include <optional>
#include <string>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// Whether the assignment of the name at `target` makes it one of the lambda around it: a statement of the lambda's own
/// block assigns it as a whole before anything in the lambda reads it, and what follows reads it.
bool isOfLambda(const ast::File& file, const ast::Expr& target);
/// Whether a statement of the block binds the name, or assigns to it as a whole, before anything in the block reads it.
bool bindsFirst(const ast::Block& block, const std::string& name);
/// The same of a lambda, which may have no block.
bool bindsFirst(const ast::Expr& lambda, const std::string& name);
/// Whether what a block leaves in the name is never read: the next statement behind the block that has the name binds
/// it, or assigns to it as a whole.
bool isBoundAnew(const ast::File& file, const ast::Stmt& block, const std::string& name);
/// `var x = x` in the lambda whose parameter is bound at `binding`, where the name at `target` is assigned as a whole,
/// and everywhere else, too: an update would change the caller's array.
std::optional<Edit> lambdaVariable(const SourceManager& sources, const ast::File& file, Span binding,
                                   const ast::Expr& target);

}  // namespace tenc::frontend
