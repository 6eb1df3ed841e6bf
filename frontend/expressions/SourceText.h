// What the IR knows of an expression as it is written.
#pragma once
#include "ir/SourceTexts.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

ir::SourceText sourceText(const ast::Expr& e);
/// Whether the `var` statement leaves open on which device its values are: `@gpu ` may stand before it.
bool leavesDeviceOpen(const ast::Stmt& var);

}  // namespace tenc::frontend
