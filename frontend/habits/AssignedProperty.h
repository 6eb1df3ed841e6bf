// Assignments to what a tensor tells of itself: `x.T[0] = v`, `x.device = d`.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;
class Scopes;
struct Val;

/// What is written in place of an assignment to `member`, or to elements of it, of the tensor `now`; none where the
/// tensor has nothing of that name.
std::optional<Help> assignedProperty(Context& context, Scopes& scopes, const Val& now, const ast::Expr& member);

}  // namespace tenc::frontend
