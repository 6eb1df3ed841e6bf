#include "frontend/habits/TypeTests.h"

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;

/// Whether a parameter has the same type in every instance: a dtype with as many dims, or a struct without variables.
bool isFixed(const Unit& unit, const ast::Stmt& fn, const ast::TypePtr& type) {
  using Kind = ast::TypeExpr::Kind;
  if (!type || type->kind != Kind::Path || type->path.size() != 1) return false;
  const std::string& name = type->path[0].text;
  const auto isIt = [&](const ast::Generic& g) { return g.name.text == name; };
  if (std::ranges::any_of(fn.generics, isIt)) return false;
  if (const auto found = unit.structs.find(name); found != unit.structs.end())
    return found->second.stmt->generics.empty();
  return ir::dtypeNamed(name).has_value() &&
         std::ranges::none_of(type->args, [](const ast::TypePtr& a) { return a->kind == Kind::Pack; });
}

/// Whether what stands there is compiled for one type of each name: not in a lambda, a function that takes anything, or
/// a loop over the parts of a tuple. A local may have the type of any of those.
bool isOfOneInstance(Context& context, Span part) {
  const Unit* unit = context.frame().unit;
  if (!unit || !unit->file) return false;
  bool one = true;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (s.span.file != part.file || s.span.begin > part.begin || part.end > s.span.end) return;
    if (s.kind == ast::Stmt::Kind::For) one = one && s.hi;
    if (s.kind != ast::Stmt::Kind::Fn) return;
    one = one && std::ranges::all_of(s.params, [&](const ast::FnParam& p) { return isFixed(*unit, s, p.type); });
  };
  visitor.visit(*unit->file);
  return one && !expressionAround(*unit->file, part, ExprKind::Lambda);
}

/// Whether the value is of the type; nothing where the type is none that is known here.
std::optional<bool> isOf(Context& context, const Val& v, const ast::Expr& type) {
  const std::string& name = type.text;
  if (name == "Tensor" || name == "ndarray") {
    if (!v.is(Val::Kind::Tensor)) return v.is(Val::Kind::Struct) ? std::optional(false) : std::nullopt;
    return v.tensor->type.rank() > 0 ? std::optional(true) : std::nullopt;
  }
  const bool declared = type.kind == ExprKind::Name && context.frame().unit->structs.contains(name);
  if (!declared || !v.is(Val::Kind::Struct))
    return declared && v.is(Val::Kind::Tensor) ? std::optional(false) : std::nullopt;
  return v.info->decl->stmt->name.text == name;
}

}  // namespace

std::optional<Help> typeTest(Context& context, Scopes& scopes, const ast::Expr& call) {
  if (call.kind != ExprKind::Call || call.args[0]->text != "isinstance" || call.arguments.size() != 2)
    return std::nullopt;
  const ast::Expr *value = call.arguments[0].value.get(), *type = call.arguments[1].value.get();
  const Binding* bound = value && type && value->kind == ExprKind::Name ? scopes.find(value->span) : nullptr;
  if (!bound || !isOfOneInstance(context, call.span)) return std::nullopt;
  std::vector<const ast::Expr*> types{type};
  if (type->kind == ExprKind::Tuple) {
    types.clear();
    for (const ast::ExprPtr& t : type->args) types.push_back(t.get());
  }
  bool any = false;
  for (const ast::Expr* t : types) {
    const auto is = isOf(context, bound->value, *t);
    if (!is) return std::nullopt;
    any = any || *is;
  }
  return Help{"`" + value->text +
                  "` has one type, which is known at compile time; what depends on a type is a function for each",
              {{call.span, any ? "true" : "false"}}};
}

}  // namespace tenc::frontend
