#include "frontend/habits/StatementNames.h"

#include <algorithm>

#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

TreeVisitor reading(NameSet& names) {
  TreeVisitor visitor;
  visitor.onExpression = [&names](const ast::Expr& e) {
    if (e.kind == ast::Expr::Kind::Name) names.insert(e.text);
    return true;
  };
  return visitor;
}

void addBound(const ast::Pattern& p, NameSet& names) {
  if (!p.isTuple) names.insert(p.name.text);
  for (const ast::Pattern& part : p.elements) addBound(part, names);
}

}  // namespace

NameSet namesRead(const ast::Stmt& s) {
  NameSet names;
  reading(names).visit(s);
  return names;
}

NameSet namesRead(const ast::Expr& e) {
  NameSet names;
  reading(names).visit(e);
  return names;
}

NameSet namesOf(const ast::Pattern& p) {
  NameSet names;
  addBound(p, names);
  return names;
}

NameSet boundBy(const ast::Stmt& s) {
  NameSet names;
  if (s.kind == ast::Stmt::Kind::Let || s.kind == ast::Stmt::Kind::Var) addBound(s.pattern, names);
  return names;
}

NameSet assignedBy(const ast::Stmt& s) {
  NameSet names;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& part) { assignedNames(part, names); };
  visitor.visit(s);
  return names;
}

bool meet(const NameSet& a, const NameSet& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& n) { return b.contains(n); });
}

}  // namespace tenc::frontend
