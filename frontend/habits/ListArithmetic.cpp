#include "frontend/habits/ListArithmetic.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "frontend/habits/Places.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// Whether all assignments give a name such a value: `x = [1, 2]`, `n = 3`.
bool isBoundTo(const ast::File& file, const ast::Expr& name, const std::function<bool(const ast::Expr&)>& wanted) {
  bool found = false, otherwise = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (nameBound(s) != name.text || !s.value) return;
    if (name.span.begin < s.value->span.begin || name.span.begin >= s.value->span.end)  // `x = x + [1]`
      (wanted(*s.value) ? found : otherwise) = true;
  };
  visitAround(file, name.span, visitor);
  return found && !otherwise;
}

bool isInteger(const ast::File& file, const ast::Expr& e) {
  const auto isInt = [](const ast::Expr& value) { return value.kind == ExprKind::Int; };
  return isInt(e) || (e.kind == ExprKind::Name && isBoundTo(file, e, isInt));
}

/// Whether an expression gives a list of Python, as the text tells: brackets, comprehensions, `sorted`, and parts and
/// copies of such.
bool isList(const ast::File& file, const ast::Expr& e, int depth = 0) {
  constexpr int kMostDepth = 8;
  if (depth > kMostDepth) return false;
  const auto is = [&](const ast::Expr& part) { return isList(file, part, depth + 1); };
  switch (e.kind) {
    case ExprKind::Array: return true;
    case ExprKind::Name: return isBoundTo(file, e, is);
    case ExprKind::Binary: return (e.text == "+" || e.text == "*") && (is(*e.args[0]) || is(*e.args[1]));
    case ExprKind::Index: return e.subscripts.size() == 1 && !e.subscripts[0].index && is(*e.args[0]);
    case ExprKind::Call: {
      const ast::Expr& callee = *e.args[0];
      if (callee.kind == ExprKind::Member)
        return callee.text == "tolist" || (callee.text == "copy" && e.arguments.empty() && is(*callee.args[0]));
      return callee.kind == ExprKind::Name && (callee.text == "list" || callee.text == "sorted");
    }
    default: return false;
  }
}

/// Whether Python computes with a list and the other operand, and not with their elements.
bool isOfLists(const ast::File& file, std::string_view op, const ast::Expr& other) {
  constexpr std::array kWhole = std::to_array<std::string_view>({"+", "+=", "==", "!=", "<", ">", "<=", ">="});
  if (op == "*" || op == "*=") return isInteger(file, other);
  return std::ranges::find(kWhole, op) != kWhole.end() && isList(file, other);
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
  if (!bound || nameBound(*bound) != name.text || !bound->value || !isList(file, *bound->value)) return {};
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
