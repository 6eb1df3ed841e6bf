// Calls that give `None` in Python and a value in TL: of functions that end without a `return`, whose last expression
// is their value here, and of methods that change their receiver there.
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

struct NoneValue {
  Span span;  ///< of the call
  std::string_view text;
};

/// Whether a function, or a variable that an edit binds to a lambda in place of one, is written as in Python.
using IsOfPython = std::function<bool(const ast::Stmt&)>;

/// The first call of a script in Python's way whose value is used although it is `None` there, or that changes nothing
/// there although an edit would let it; nothing for none.
std::optional<NoneValue> noneUsed(const ast::File& file, const IsOfPython& isOfPython);

}  // namespace tenc::frontend
