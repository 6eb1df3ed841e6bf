#include "frontend/habits/ListArithmetic.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "frontend/habits/Places.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// The value that all assignments give a name, by their kind: `x = [1, 2]`, `n = 3`.
bool isBoundTo(const ast::File& file, const ast::Expr& name, ExprKind kind) {
  bool found = false, otherwise = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (nameBound(s) != name.text || !s.value) return;
    (s.value->kind == kind ? found : otherwise) = true;
  };
  visitAround(file, name.span, visitor);
  return found && !otherwise;
}

bool isKind(const ast::File& file, const ast::Expr& e, ExprKind kind) {
  return e.kind == kind || (e.kind == ExprKind::Name && isBoundTo(file, e, kind));
}

/// Whether Python computes with a list and the other operand, and not with their elements.
bool isOfLists(const ast::File& file, std::string_view op, const ast::Expr& other) {
  constexpr std::array kWhole = std::to_array<std::string_view>({"+", "+=", "==", "!=", "<", ">", "<=", ">="});
  if (op == "*" || op == "*=") return isKind(file, other, ExprKind::Int);
  return std::ranges::find(kWhole, op) != kWhole.end() && isKind(file, other, ExprKind::Array);
}

}  // namespace

std::optional<std::string> listsWritten(const SourceManager& sources, const ast::Expr& e) {
  if (e.kind != ExprKind::Binary) return std::nullopt;
  const ast::Expr &left = *e.args[0], &right = *e.args[1];
  const auto text = [&](const ast::Expr& part) { return std::string(sources.text(part.span)); };
  const bool isLeft = left.kind == ExprKind::Array;
  if (e.text == "+" && isLeft && right.kind == ExprKind::Array)
    return "concat((" + text(left) + ", " + text(right) + "))";
  const ast::Expr &list = isLeft ? left : right, &count = isLeft ? right : left;
  if (e.text != "*" || list.kind != ExprKind::Array || count.kind == ExprKind::Array || list.args.size() != 1)
    return std::nullopt;
  const ast::Expr& element = *list.args[0];
  if (element.kind == ExprKind::Array) return std::nullopt;
  // `[[0] * 2] * 3`
  const auto rows = listsWritten(sources, element);
  constexpr std::string_view kFull = "full([";
  if (rows && !rows->starts_with(kFull)) return std::nullopt;
  return rows ? std::string(kFull) + text(count) + ", " + rows->substr(kFull.size())
              : std::string(kFull) + text(count) + "], " + text(element) + ")";
}

Span listOperation(const ast::File& file, const ast::Name& name) {
  const ast::Stmt* bound = placeIn(file, name.span).statement;
  if (!bound || nameBound(*bound) != name.text || !bound->value || bound->value->kind != ExprKind::Array) return {};
  const auto isIt = [&](const ast::Expr& e) { return e.kind == ExprKind::Name && e.text == name.text; };
  Span found{};
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (found.valid() || e.kind != ExprKind::Binary) return true;
    const ast::Expr &left = *e.args[0], &right = *e.args[1];
    if ((isIt(left) && isOfLists(file, e.text, right)) || (isIt(right) && isOfLists(file, e.text, left)))
      found = e.span;
    return true;
  };
  visitor.onStatement = [&](const ast::Stmt& s) {
    const bool changes = s.kind == StmtKind::Assign && s.op != "=" && isIt(*s.target) && s.value;
    if (changes && !found.valid() && isOfLists(file, s.op, *s.value)) found = s.span;
  };
  visitAround(file, name.span, visitor);
  return found;
}

}  // namespace tenc::frontend
