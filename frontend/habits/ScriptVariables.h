// Variables of a script that its functions read, as in Python: they become constants or arguments.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "frontend/names/Unit.h"
#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// A constant of a script that reads its variables, as a `let`; a `let` of literals that functions read, as a constant.
std::optional<Help> bindsOtherwise(Context& context, const ast::Stmt& variable, Span use);
/// Makes the names parameters of the function, and gives them to it wherever it is called; where it is a value itself,
/// a lambda calls it. Nothing where that may mean something else: a variable that the function changes, a call where
/// the name means another value, or a method. Functions that call it get them in the same way, once they are looked at.
std::vector<Edit> handedOver(const SourceManager& sources, const Unit& unit, const ast::Stmt& fn,
                             const std::vector<std::string>& names);

}  // namespace tenc::frontend
