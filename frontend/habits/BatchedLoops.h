// Loops over PyTorch's `DataLoader`, as loops over the rows of batches.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;
class Scopes;

/// `DataLoader(TensorDataset(x, y), batch_size=32)` with the loops that walk over it; without an edit where only words
/// can tell. None where the call is of something else.
std::optional<Help> batchedLoops(Context& context, Scopes& scopes, const ast::Expr& call);

}  // namespace tenc::frontend
