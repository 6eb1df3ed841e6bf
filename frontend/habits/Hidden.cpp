#include "frontend/habits/Hidden.h"

#include <algorithm>
#include <set>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/BuiltinNames.h"
#include "frontend/habits/OwnNames.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/Translation.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Library.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;

bool isOfTL(std::string_view name) { return isBuiltin(name) || isTransform(name); }

/// `nn.step` and `optim.step`, of the modules that the unit imports; empty for none.
std::vector<std::string> ofModules(const Unit& unit, const std::string& name) {
  std::vector<std::string> paths;
  if (name == "call") return paths;  // how a value is called, whatever its type
  for (const std::string_view module : importedWith(unit, name)) paths.push_back(std::string(module) + "." + name);
  return paths;
}

/// Another name for a variable, wherever it is not called; nothing where it is not certain that all places are known.
std::vector<Edit> renamed(const ast::File& file, const Resolution& resolution, const Declaration& variable) {
  const std::string other = variable.name + "_";
  bool open = variable.kind == Declaration::Kind::Dim || variable.kind == Declaration::Kind::Generic;
  std::set<uint32_t> called;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    open = open || e.text == other;
    for (const ast::Argument& a : e.arguments) open = open || (a.name && a.name->text == variable.name);
    const bool pipe = e.kind == ExprKind::Binary && e.text == "|>";
    const size_t callee = pipe ? 1 : 0;
    if ((pipe || e.kind == ExprKind::Call) && e.args[callee]->kind == ExprKind::Name)
      called.insert(e.args[callee]->span.begin);
    return true;
  };
  visitor.visit(file);
  if (open) return {};
  std::vector<Edit> edits{{variable.span, other}};
  for (const Use& use : resolution.usesOf(variable))
    if (!use.method && !called.contains(use.span.begin) && use.span != variable.span)
      edits.push_back({use.span, other});
  return edits;
}

}  // namespace

std::string hiddenBy(const FnDecl& decl) {
  const std::string& name = decl.stmt->name.text;
  if (!decl.unit->isScript) return "";
  if (isOfTL(name)) return ownNameHelp(name);
  const std::vector<std::string> others = ofModules(*decl.unit, name);
  std::string listed;
  for (const std::string& other : others) listed += (listed.empty() ? "`" : " and `") + other + "`";
  return others.empty() ? ""
                        : "`" + name + "` is a function of this script; " +
                              (others.size() > 1 ? "those of the library are " : "that of the library is ") + listed;
}

std::optional<Help> calledVariable(Context& context, Span callee) {
  const Unit& unit = *context.frame().unit;
  const Declaration* variable = unit.isScript && unit.file ? unit.resolution->definition(callee) : nullptr;
  if (!variable || !variable->isLocal() || !variable->span.valid()) return std::nullopt;
  if (isOfTL(variable->name))
    return Help{ownNameHelp(variable->name), renamed(*unit.file, *unit.resolution, *variable)};
  const std::vector<std::string> others = ofModules(unit, variable->name);
  if (others.size() != 1) return std::nullopt;
  return Help{
      "`" + variable->name + "` is a variable of this script; the function of the library is `" + others[0] + "`",
      {{callee, others[0]}}};
}

}  // namespace tenc::frontend
