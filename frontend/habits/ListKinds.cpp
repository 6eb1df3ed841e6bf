#include "frontend/habits/ListKinds.h"

#include <algorithm>

#include "frontend/Context.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

bool bindsWithoutLet(const ast::File& file) {
  NameSet declared, assigned;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    declared.merge(boundBy(s));
    if (s.kind == ast::Stmt::Kind::For) declared.merge(namesOf(s.pattern));
    for (const ast::FnParam& p : s.params) declared.insert(p.name.text);
    if (s.kind == ast::Stmt::Kind::Assign && s.op == "=") assignedNames(s, assigned);
  };
  visitor.visit(file);
  return !std::ranges::includes(declared, assigned);
}

const PythonFlow& pythonFlow(Context& context, const ast::File& file) {
  auto& known = context.pythonFlows[file.source];
  if (!known) known = std::make_shared<const PythonFlow>(file, bindsWithoutLet(file));
  return *known;
}

Span wholeListOperation(Context& context, const ast::File& file) { return pythonFlow(context, file).wholeOperation(); }

}  // namespace tenc::frontend
