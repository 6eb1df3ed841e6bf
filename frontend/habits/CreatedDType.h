// Tensors that other libraries make in a dtype of their own, `x = np.zeros(3)`, where TL makes them in that of the
// variable that they are assigned to.
#pragma once
#include <string>

#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;
class Scopes;

/// What a call becomes, `text`, with the dtype that its library makes, where it is assigned to a variable that has, or
/// may have, another one.
std::string inItsDType(Context& context, Scopes& scopes, const ast::Expr& call, const std::string& text);

}  // namespace tenc::frontend
