#include "frontend/habits/Aliases.h"

#include <algorithm>
#include <set>
#include <vector>

#include "frontend/habits/AliasScope.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Scan.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// The name that a caller of the function passes for one of the parameters and reads after the call.
std::optional<std::string> readByCaller(AliasFile& all, const ast::Stmt& fn, const NameSet& aliases) {
  std::optional<std::string> found;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (found || e.kind != ExprKind::Call || holds(fn.span, e.span)) return true;
    const ast::Expr& callee = *e.args[0];
    const bool method = callee.kind == ExprKind::Member;
    if ((callee.kind != ExprKind::Name && !method) || callee.text != fn.name.text) return true;
    const AliasScope& scope = all.scopeAt(e.span);
    for (size_t i = 0; i < fn.params.size(); ++i) {
      if (!aliases.contains(fn.params[i].name.text)) continue;
      // `x.f(y)` passes `x` first, where `x` is no module.
      std::vector<const ast::Expr*> given;
      if (method && i == 0) given.push_back(callee.args[0].get());
      if (method && i > 0 && i <= e.arguments.size()) given.push_back(e.arguments[i - 1].value.get());
      if (i < e.arguments.size()) given.push_back(e.arguments[i].value.get());
      for (const ast::Argument& a : e.arguments)
        if (a.name && a.name->text == fn.params[i].name.text) given.push_back(a.value.get());
      for (const ast::Expr* value : given)
        for (const std::string& n : value ? scope.sharedBy(*value) : NameSet())
          for (const std::string& other : scope.aliasesOf(n, e.span))
            if (!found && scope.isReadAfter(other, e.span)) found = other;
    }
    return true;
  };
  visitor.visit(all.file());
  return found;
}

std::optional<std::string> aliasIn(AliasFile& all, const std::string& name, Span change) {
  const AliasScope& scope = all.scopeAt(change);
  NameSet aliases = scope.aliasesOf(name, change);
  for (const std::string& other : aliases)
    if (other != name && scope.isReadAfter(other, change)) return other;
  if (scope.isBoundFor(name, change)) aliases.erase(name);  // which is no longer what was passed
  const ast::Stmt* fn = scope.function();
  // A default is made once in Python.
  const auto isKept = [&](const ast::FnParam& p) {
    return aliases.contains(p.name.text) && p.otherwise && p.otherwise->kind != ExprKind::Int &&
           p.otherwise->kind != ExprKind::Float;
  };
  if (fn && std::ranges::any_of(fn->params, isKept)) return name;
  return fn && fn->kind == StmtKind::Fn ? readByCaller(all, *fn, aliases) : std::nullopt;
}

}  // namespace

bool isChangedInPlace(const ast::File& file, const ast::Expr& name) {
  AliasFile all(file);
  return all.scopeAt(name.span).changes(name.text);
}

bool isPartChanged(const ast::File& file, const ast::Name& name) {
  AliasFile all(file);
  return std::ranges::any_of(all.scopeAt(name.span).changes(),
                             [&](const AliasScope::Changed& c) { return c.ofPart && c.name == name.text; });
}

bool hasUnread(const ast::File& file) {
  bool found = !file.lost.empty();
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) { found = found || s.kind == StmtKind::Error; };
  visitor.visit(file);
  return found;
}

/// `F.relu(x, inplace=True)`.
bool isAskedInPlace(const ast::Expr& call) {
  return std::ranges::any_of(call.arguments, [](const ast::Argument& a) {
    return a.name && a.name->text == "inplace" && a.value && (a.value->text == "True" || a.value->boolean);
  });
}

std::optional<std::string> changedByLayer(const ast::File& file, const ast::Name& layer) {
  AliasFile all(file);
  std::optional<std::string> found;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (found || e.kind != ExprKind::Call || e.args[0]->text != layer.text || e.arguments.empty()) return true;
    const ast::Expr* operand = e.arguments[0].value.get();
    const ast::Stmt* s = placeIn(file, e.span).statement;
    const bool same = s && s->value.get() == &e && operand && nameBound(*s) == operand->text;  // `x = act(x)`
    if (operand && operand->kind == ExprKind::Name && !same && all.scopeAt(e.span).isReadAfter(operand->text, e.span))
      found = operand->text;
    return true;
  };
  visitor.visit(file);
  return found;
}

const ast::Expr* changedByCall(const ast::Expr& call) {
  if (call.kind != ExprKind::Call || call.args[0]->kind != ExprKind::Member) return nullptr;
  const ast::Expr& callee = *call.args[0];
  const ast::Expr& root = rootOfMember(callee);
  const syntax::Familiar* head = root.kind == ExprKind::Name ? syntax::familiarName(root.text) : nullptr;
  const bool ofLibrary = head && (head->prefix || head->layer);
  const ast::Expr* operand = callee.args[0].get();
  if (ofLibrary && !call.arguments.empty()) {
    const auto isOperand = [&](const ast::Argument& a) {
      return a.name ? a.name->text == "input" : &a == &call.arguments[0];
    };
    const auto given = std::ranges::find_if(call.arguments, isOperand);
    operand = given == call.arguments.end() ? nullptr : given->value.get();
  }
  const std::string_view name = callee.text;
  const syntax::Familiar* known = syntax::familiarName(name);
  const bool changes = name.size() > 1 && name.ends_with('_') && !name.ends_with("__") && !(known && known->nothing);
  return changes || (ofLibrary && isAskedInPlace(call)) ? operand : nullptr;
}

bool isAssignedBehind(const ast::File& file, Span at, const std::string& name) {
  std::set<std::string> names;
  TreeVisitor behind;
  behind.onStatement = [&](const ast::Stmt& s) {
    if (s.kind == ast::Stmt::Kind::Assign && s.target && s.target->span.begin >= at.end) assignedNames(s, names);
  };
  behind.onExpression = [&](const ast::Expr& e) {
    const ast::Expr* changed = e.span.begin >= at.end ? changedByCall(e) : nullptr;
    if (const ast::Expr* root = changed ? rootOf(*changed) : nullptr) names.insert(root->text);
    return true;
  };
  visitAround(file, at, behind);
  return names.contains(name);
}

std::optional<std::string> aliasRead(const ast::File& file, const std::string& name, Span change) {
  AliasFile all(file);
  return aliasIn(all, name, change);
}

std::optional<std::string> aliasRead(const ast::File& file, const ast::Name& binding) {
  AliasFile all(file);
  const AliasScope& scope = all.scopeAt(binding.span);
  for (const AliasScope::Changed& c : scope.changes()) {
    if (c.name != binding.text) continue;
    if (c.ofPart && scope.holdsTwice(c.name)) return c.name;
    if (auto other = aliasIn(all, c.name, c.span)) return other;
  }
  return std::nullopt;
}

std::string aliasHelp(const std::string& name, const std::string& other) {
  if (name == other)
    return "in NumPy and PyTorch `" + name +
           "`, or its parts, would be one array for all that hold it; here each is a value of its own";
  return "in NumPy and PyTorch `" + name + "` and `" + other +
         "` are one array; here each is a value of its own: change `" + other + "` itself, or bind `var " + name +
         "` where a copy is meant";
}

}  // namespace tenc::frontend
