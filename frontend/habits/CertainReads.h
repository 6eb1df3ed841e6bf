// Which names are read in every case, and which in branches alone.
#pragma once
#include "frontend/habits/StatementNames.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

struct Reads {
  NameSet always;  ///< whatever the conditions give
  NameSet ever;    ///< these, and those of branches
};

/// Of a statement. Functions of the file that it calls are gone into: an argument is read as they read the parameter,
/// and what is behind an early `return` is a branch. Loops count as run.
Reads readsOf(const ast::File& file, const ast::Stmt& s);

}  // namespace tenc::frontend
