#include "frontend/habits/TypeTests.h"

#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;

/// Whether the name is a parameter without a type, or one whose type is a variable.
bool isOpen(Context& context, const std::string& name) {
  const FnDecl* fn = context.frame().fn;
  if (!fn) return false;
  for (const ast::FnParam& p : fn->stmt->params) {
    if (p.name.text != name) continue;
    if (!p.type || p.type->kind != ast::TypeExpr::Kind::Path) return true;
    for (const ast::Generic& g : fn->stmt->generics)
      if (g.name.text == p.type->path[0].text) return true;
  }
  return false;
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
  if (!bound || isOpen(context, value->text)) return std::nullopt;
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
