// Edits that add a declaration to a script: an import, a device line.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "support/Diagnostics.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// `line` as a line of its own, below the imports and above everything else.
Edit declared(const ast::File& file, const SourceFile& source, const std::string& line);
/// `import name`, above everything else.
Edit imported(const ast::File& file, const SourceFile& source, std::string_view name);
/// `var x = x` at the head of the body of a function that has the parameter; nothing where the body is an expression.
std::optional<Edit> parameterAsVariable(const ast::Stmt& fn, const SourceFile& source, const ast::Name& parameter);
/// `device name = device or cpu`; without one the accelerator.
std::string deviceLine(std::string_view name, std::string_view device = {});

}  // namespace tenc::frontend
