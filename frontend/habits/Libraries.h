// Which library of Python an array comes from, in scripts that use NumPy and PyTorch.
#pragma once
#include "syntax/Ast.h"

namespace tenc::frontend {

struct Libraries {
  bool numpy = false, torch = false;
};

/// Those that the script names.
Libraries librariesOf(const ast::File& file);
/// Those whose functions may have made the value, as the text tells; none where it tells nothing.
Libraries librariesOf(const ast::File& file, const ast::Expr& value);

}  // namespace tenc::frontend
