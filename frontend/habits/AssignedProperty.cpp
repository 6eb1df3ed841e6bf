#include "frontend/habits/AssignedProperty.h"

#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/GradientCuts.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Literals.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using Subscript = ast::Subscript;

constexpr const char* kTransposed =
    "`.T` gives a new value: assign to the variable, whose dims stand the other way round";

/// Whether a subscript takes one place of its dim, so that what is assigned has one dim less.
bool takesOne(Scopes& scopes, const Subscript& s) {
  if (s.kind != Subscript::Kind::Index || !s.index) return false;
  const ast::Expr& i = *s.index;
  if (i.kind == ExprKind::Int) return true;
  if (i.kind == ExprKind::Unary) return i.args[0]->kind == ExprKind::Int;
  const Binding* bound = i.kind == ExprKind::Name ? scopes.named(i.text) : nullptr;
  return bound && !bound->value.poison() && (bound->value.is(Val::Kind::Int) || bound->value.is(Val::Kind::Tensor)) &&
         rankOf(bound->value) == 0;
}

/// `x[:, i] = v` for `x.T[i] = v`, `x += 1.0` for `x.T += 1.0`.
Help transposed(Context& context, Scopes& scopes, const Val& now, const ast::Expr& member) {
  Help help{kTransposed, {}};
  const ast::File* file = context.frame().unit->file;
  const ast::Stmt* s = file ? placeIn(*file, member.span).statement : nullptr;
  if (!s || s->kind != ast::Stmt::Kind::Assign || rankOf(now) != 2) return help;
  const std::string x(context.sources.text(member.args[0]->span));
  if (s->target.get() == &member) {
    const bool number = s->value->kind == ExprKind::Int || s->value->kind == ExprKind::Float;
    if (number && s->op != "=") help.edits.push_back({member.span, x});
    return help;
  }
  const ast::Expr& target = *s->target;
  if (target.kind != ExprKind::Index || target.args[0].get() != &member || target.subscripts.size() > 2) return help;
  const auto isPart = [&](const Subscript& sub) {
    return takesOne(scopes, sub) || sub.kind == Subscript::Kind::Slice || sub.kind == Subscript::Kind::Window;
  };
  const Subscript& row = target.subscripts[0];
  const Subscript& column = target.subscripts.back();
  const bool one = target.subscripts.size() == 1;
  // Of one dim alone what is assigned stands as it is.
  if (!isPart(row) || !isPart(column) || !(takesOne(scopes, row) || (!one && takesOne(scopes, column)))) return help;
  const auto textOf = [&](const Subscript& sub) { return std::string(context.sources.text(sub.span)); };
  help.edits.push_back({target.span, x + "[" + (one ? ":" : textOf(column)) + ", " + textOf(row) + "]"});
  return help;
}

/// `w -= step` for `w.data -= step`, unless another name of the array is read behind it.
Help data(Context& context, const ast::Expr& member) {
  const ast::File* file = context.frame().unit->file;
  const ast::Expr* root = rootOf(member);
  const auto other = file && root ? aliasRead(*file, root->text, member.span, true) : std::nullopt;
  return other ? Help{aliasHelp(root->text, *other), {}} : dataOfTensor(context, member.opSpan);
}
}  // namespace

std::optional<Help> assignedProperty(Context& context, Scopes& scopes, const Val& now, const ast::Expr& member) {
  const std::string x(context.sources.text(member.args[0]->span));
  if (member.text == "T") return transposed(context, scopes, now, member);
  if (member.text == "device")
    return Help{"a variable keeps its device: `" + x + ".to(d)` gives the value on another, which is bound to a name",
                {}};
  if (member.text == "shape")
    return Help{
        "a variable keeps its shape: `" + x + ".reshape([...])` gives the value in another, which is bound to a name",
        {}};
  if (member.text == "dtype")
    return Help{"a variable keeps its dtype: `f64(" + x + ")` gives the value in another, which is bound to a name",
                {}};
  if (member.text == "data") return data(context, member);
  if (member.text == "flat") return Help{"elements are assigned by their indices in each dim, `x[i, j] = v`", {}};
  return std::nullopt;
}

}  // namespace tenc::frontend
