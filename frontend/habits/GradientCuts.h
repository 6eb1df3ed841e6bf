// Values that no gradient goes through in PyTorch, by how they are read or by the function that gives them.
#pragma once
#include <string>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// Whether the script takes gradients as PyTorch does.
bool isTrained(const ast::File& file);
/// What is said of a mark that TL does not have: `@np.vectorize`.
std::string noMark(const ast::Annotation& mark);
/// `@jax.jit` before a function. What a function gives under `@torch.no_grad()` is cut off where the script takes
/// gradients.
Help withoutMark(Context& context, const ast::Annotation& mark);
/// `x.data`; `member` is the place of the name behind the point.
Help dataOfTensor(Context& context, Span member);

}  // namespace tenc::frontend
