// The names that statements read, bind and assign, where code is moved into a function.
#pragma once
#include <set>
#include <string>

#include "syntax/Ast.h"

namespace tenc::frontend {

using NameSet = std::set<std::string>;

NameSet namesRead(const ast::Stmt& s);
NameSet namesRead(const ast::Expr& e);
/// Those that a pattern binds.
NameSet namesOf(const ast::Pattern& p);
/// By a `let` or `var`.
NameSet boundBy(const ast::Stmt& s);
NameSet assignedBy(const ast::Stmt& s);
bool meet(const NameSet& a, const NameSet& b);

}  // namespace tenc::frontend
