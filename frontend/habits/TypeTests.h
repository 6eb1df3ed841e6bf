// `isinstance` of what has a type that the script names.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;
class Scopes;

/// `isinstance(s, Circle)`, whose answer is the same in every call of the function at hand: the answer. None where a
/// parameter without a type may be one or the other.
std::optional<Help> typeTest(Context& context, Scopes& scopes, const ast::Expr& call);

}  // namespace tenc::frontend
