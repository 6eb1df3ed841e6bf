// Names that are used behind the block that binds them, or where nothing known binds them.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "frontend/names/Unit.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// Where a name that is assigned first in a block is used behind that block, where nothing else declares it: the first
/// place; none where it is not.
std::optional<Span> readBehindBlock(const Unit& unit, Span assigned, const std::string& name);
/// The outermost block around a statement that a use behind it does not stand in; the statement itself for none.
const ast::Stmt* blockBefore(const ast::File& file, const ast::Stmt& statement, Span use);
/// Where a part of the file binds a name, be it a block, a lambda, a function or a struct: the first place; none where
/// no part does.
std::optional<Span> boundSomewhere(const ast::File& file, const std::string& name);
/// Whether a statement of the script itself binds what stands there, not one of a block, a function, a lambda or a
/// struct.
bool isOfScriptItself(const ast::File& file, Span bound);
/// Whether what is not known may bind a name: a statement with a syntax error, or a module that was not found.
bool mayBeBound(const SourceManager& sources, const Unit& unit, const std::string& name);
/// How many statements of a block, and of those in it, assign to the name, or change a part of what it holds.
size_t timesAssigned(const ast::Stmt& block, const std::string& name);
/// How many statements of a block, and of those in it, bind the name.
size_t timesBound(const ast::Stmt& block, const std::string& name);

}  // namespace tenc::frontend
