#include "frontend/habits/WiderNumbers.h"

#include <algorithm>
#include <string>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Unit.h"
#include "ir/Ops.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;

/// Collects the edits; false where a part is something else.
bool widen(Context& context, const ast::Expr& e, ir::DType dtype, std::vector<Edit>& edits) {
  const auto all = [&](const std::vector<ast::ExprPtr>& parts) {
    return std::ranges::all_of(parts, [&](auto& part) { return part && widen(context, *part, dtype, edits); });
  };
  switch (e.kind) {
    case ExprKind::Int:
    case ExprKind::Float: return true;
    case ExprKind::Unary: return e.text == "-" && all(e.args);
    case ExprKind::Binary: return (e.text == "+" || e.text == "-" || e.text == "*" || e.text == "/") && all(e.args);
    case ExprKind::Call: break;
    default: return false;
  }
  const ast::Expr& callee = *e.args[0];
  const Declaration* called = context.frame().unit->resolution->definition(callee.span);
  const BuiltinRow* row = callee.kind == ExprKind::Name && called ? called->builtin : nullptr;
  if (!row || e.arguments.empty() || (row->op != ir::OpKind::Count && ir::opInfo(row->op).has(ir::Trait::Random)))
    return false;
  const Parameter* option = row->signature.find("dtype");
  if (!option || option->otherwise != "f32") return false;
  if (std::ranges::any_of(e.arguments, [](auto& a) { return !a.value || (a.name && a.name->text == "dtype"); }))
    return false;
  const Span last = e.arguments.back().value->span;
  edits.push_back({Span{last.file, last.end, last.end}, ", dtype: " + std::string(ir::name(dtype))});
  return true;
}
}  // namespace

std::optional<std::vector<Edit>> madeWider(Context& context, Span expression, ir::DType dtype) {
  const ast::File* file = fileOf(context);
  const ast::Expr* e = file && expression.file == file->source ? expressionAt(*file, expression) : nullptr;
  std::vector<Edit> edits;
  if (!e || !widen(context, *e, dtype, edits) || edits.empty()) return std::nullopt;
  return edits;
}

}  // namespace tenc::frontend
