#include "frontend/habits/StartValues.h"

#include "frontend/Context.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"

namespace tenc::frontend {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

std::string startOf(const ir::Type& t) {
  const bool isBool = t.dtype == ir::DType::Bool, isPlain = t.dtype == ir::DType::F32;
  if (t.shape.empty() && isPlain) return "0.0";
  if (t.shape.empty() && isBool) return "false";
  if (t.shape.empty() && t.dtype == ir::DType::I64) return "0";
  std::string shape;
  for (const int64_t n : t.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(n);
  if (isBool) return "full([" + shape + "], false)";
  return "zeros([" + shape + "]" + (isPlain ? "" : ", dtype: " + std::string(ir::name(t.dtype))) + ")";
}

std::optional<Help> extremeStart(Context& context, Span none) {
  const ast::File* file = context.frame().unit ? context.frame().unit->file : nullptr;
  const ast::Stmt* s = file ? placeIn(*file, none).statement : nullptr;
  if (!s || !s->value || s->value->span != none) return std::nullopt;
  const bool assigns = s->kind == StmtKind::Assign && s->op == "=" && s->target->kind == ExprKind::Name;
  if (!assigns && (s->kind != StmtKind::Var && s->kind != StmtKind::Let)) return std::nullopt;
  const std::string& name = assigns ? s->target->text : s->pattern.name.text;
  bool below = false, above = false;  // the values that it is replaced by
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (e.kind != ExprKind::Binary || (e.text[0] != '<' && e.text[0] != '>')) return true;
    const auto isIt = [&](const ast::ExprPtr& x) { return x->kind == ExprKind::Name && x->text == name; };
    const bool left = isIt(e.args[0]), right = isIt(e.args[1]);
    if (left == right) return true;
    (right == (e.text[0] == '<') ? below : above) = true;
    return true;
  };
  visitor.visit(*file);
  if (below == above) return std::nullopt;
  const std::string start = below ? "inf" : "-inf";
  return Help{"a variable always has a value: one that keeps the " + std::string(below ? "least" : "greatest") +
                  " starts from `" + start + "`",
              {{none, start}}};
}

}  // namespace tenc::frontend
