#include "frontend/habits/GradientCuts.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"
#include "syntax/ForeignFunctions.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

bool isNamed(const ast::Expr& e, std::string_view name) {
  return (e.kind == ExprKind::Name || e.kind == ExprKind::Member) && e.text == name;
}

std::vector<Edit> cutOff(const ast::Expr& value) {
  const Span s = value.span;
  return {{Span{s.file, s.begin, s.begin}, "stop_gradient("}, {Span{s.file, s.end, s.end}, ")"}};
}

/// The function that a mark stands before; null where what is between is more than the parentheses of a call.
const ast::Stmt* markedFunction(const StatementPlace& place, bool called) {
  if (!place.statement || place.statement->kind == StmtKind::Fn) return place.statement;
  if (!called || !place.among) return nullptr;
  const auto at = std::ranges::find(*place.among, place.statement, &ast::StmtPtr::get);
  const auto next = at == place.among->end() ? at : std::next(at);
  return next != place.among->end() && (*next)->kind == StmtKind::Fn ? next->get() : nullptr;
}

}  // namespace

bool isTrained(const ast::File& file) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool method = e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Member;
    found = found || (method && (e.args[0]->text == "backward" ||
                                 (e.args[0]->text == "grad" && isNamed(*e.args[0]->args[0], "autograd"))));
    return !found;
  };
  visitor.visit(file);
  return found;
}

std::string noMark(const ast::Annotation& mark) {
  std::string path;
  for (const ast::Name& part : mark.path) path += (path.empty() ? "" : ".") + part.text;
  return (mark.path.size() > 1 ? "there is no mark `" : "there is no device `") + path + "`";
}

Help withoutMark(Context& context, const ast::Annotation& mark) {
  const ast::File* file = fileOf(context);
  const StatementPlace place = file ? placeIn(*file, mark.span) : StatementPlace{};
  const ast::Stmt* s = place.statement;
  // `@torch.no_grad()`: the parentheses are read as a statement.
  const bool called =
      s && s->kind == StmtKind::Expr && s->value && s->value->kind == ExprKind::Tuple && s->value->args.empty();
  std::vector<Edit> edits{syntax::removed(context.sources, called ? Span::cover(mark.span, s->span) : mark.span)};
  const std::string_view last = mark.path.empty() ? std::string_view() : mark.path.back().text;
  if (!syntax::isIdleMark(last))
    return Help{
        "what a mark makes of a function is written where it is called, `vmap(f)(x)`, `grad(f)(x)`; one with a "
        "derivative of its own is made by `custom_vjp(f, forward, backward)`",
        {}};
  const bool cuts = (last == "no_grad" || last == "inference_mode") && file && isTrained(*file);
  if (!cuts) return Help{"a function needs no mark: every one is compiled", std::move(edits)};
  const std::string said = "no gradient goes through `stop_gradient(x)`: what such a function gives";
  const ast::Stmt* fn = markedFunction(place, called);
  if (!fn) return Help{said, {}};
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& r) {
    if (r.kind == StmtKind::Return && r.value) std::ranges::move(cutOff(*r.value), std::back_inserter(edits));
  };
  visitor.visit(*fn);
  return Help{said, std::move(edits)};
}

Help dataOfTensor(Context& context, Span member) {
  Help itself{"a tensor is its data", {{Span{member.file, member.begin - 1, member.end}, ""}}};
  const ast::File* file = fileOf(context);
  const ast::Stmt* s = file ? placeIn(*file, member).statement : nullptr;
  const ast::Expr* data =
      file ? expressionAround(*file, member,
                              [&](const ast::Expr& e) { return e.kind == ExprKind::Member && e.opSpan == member; })
           : nullptr;
  // What a statement changes, and what it is changed from, are the parameter: `w.data = w.data - step`.
  const bool gives =
      s && data && s->kind != StmtKind::Expr && s->value && Span::cover(s->value->span, data->span) == s->value->span;
  if (!gives || !isTrained(*file)) return itself;
  const ast::Expr* root = rootOf(*data);
  const ast::Expr* target = s->target ? rootOf(*s->target) : nullptr;
  if (root && target && root->text == target->text) return itself;
  const Span whole = data->span;
  return Help{"no gradient goes through `x.data`, which is `stop_gradient(x)` here",
              {{Span{whole.file, whole.begin, whole.begin}, "stop_gradient("},
               {Span{whole.file, member.begin - 1, whole.end}, ")"}}};
}

}  // namespace tenc::frontend
