#include "frontend/habits/OtherMeanings.h"

#include <algorithm>
#include <array>
#include <set>

#include "frontend/habits/Aliases.h"
#include "frontend/habits/ListArithmetic.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

bool isNamed(const ast::Expr& e, const std::string& name) { return e.kind == ExprKind::Name && e.text == name; }

/// Whether parts of the name's value are read: `r.values`, `r[1]`.
bool isTakenApart(const ast::File& file, const ast::Name& name) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool part = e.kind == ExprKind::Index || e.kind == ExprKind::Member;
    found = found || (part && isNamed(*e.args[0], name.text));
    return true;
  };
  visitAround(file, name.span, visitor);
  return found;
}

/// Whether no element is named twice by the indices, as the text tells.
bool areDistinct(const ast::File& file, const ast::Expr& indices) {
  constexpr std::array kDistinct = std::to_array<std::string_view>(
      {"arange", "argsort", "flatnonzero", "nonzero", "permutation", "randperm", "range"});
  const auto isLiteral = [](const ast::ExprPtr& e) { return e->kind == ExprKind::Int; };
  switch (indices.kind) {
    case ExprKind::Array: {
      std::set<int64_t> seen;
      return std::ranges::all_of(indices.args, isLiteral) &&
             std::ranges::all_of(indices.args, [&](const ast::ExprPtr& e) { return seen.insert(e->integer).second; });
    }
    case ExprKind::Call: {
      const ast::Expr& callee = *indices.args[0];
      const bool makes = callee.text == "tensor" || callee.text == "array";
      if (makes && !indices.arguments.empty()) return areDistinct(file, *indices.arguments[0].value);
      return std::ranges::find(kDistinct, std::string_view(callee.text)) != kDistinct.end();
    }
    case ExprKind::Index: {  // `i[:n]`, but not `i[k]`
      const bool several = std::ranges::any_of(
          indices.subscripts, [](const ast::Subscript& i) { return i.kind != ast::Subscript::Kind::Index; });
      return !several || areDistinct(file, *indices.args[0]);
    }
    case ExprKind::Binary:
      return indices.text != "+" && indices.text != "-" && indices.text != "*" && indices.text != "//" &&
             indices.text != "%";
    case ExprKind::Name: {
      bool all = true, any = false;
      TreeVisitor visitor;
      visitor.onStatement = [&](const ast::Stmt& s) {
        if (s.kind == StmtKind::For && !s.pattern.isTuple && s.pattern.name.text == indices.text) any = true;
        if (nameBound(s) != indices.text || !s.value || isNamed(*s.value, indices.text)) return;
        any = true;
        all = all && (s.value->kind == ExprKind::Int || areDistinct(file, *s.value));
      };
      visitAround(file, indices.span, visitor);
      return any && all;
    }
    default: return true;
  }
}

}  // namespace

std::optional<OtherMeaning> otherMeaning(const ast::File& file, const ast::Name& name) {
  if (const Span whole = listOperation(file, name); whole.valid())
    return OtherMeaning{whole,
                        "brackets make a tensor, and this works on its elements; Python repeats, joins and compares "
                        "whole lists"};
  const ast::Stmt* s = placeIn(file, name.span).statement;
  const bool binds = s && nameBound(*s) == name.text && s->value && s->value->kind == ExprKind::Call;
  const ast::Expr* callee = binds ? s->value->args[0].get() : nullptr;
  if (callee && callee->kind == ExprKind::Member && callee->text == "sort" && !isTakenApart(file, name))
    return OtherMeaning{callee->opSpan,
                        "`sort` gives the sorted values and changes nothing; NumPy and Python sort in place and give "
                        "`None`, PyTorch gives the values and where they were"};
  return std::nullopt;
}

std::optional<OtherMeaning> repeatedUpdate(const ast::File& file, const ast::Name& name) {
  std::optional<OtherMeaning> found;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (found || s.kind != StmtKind::Assign || s.op == "=" || !s.target || s.target->kind != ExprKind::Index) return;
    if (!isNamed(*s.target->args[0], name.text)) return;
    const auto& all = s.target->subscripts;
    const bool apart = std::ranges::any_of(all, [&](const ast::Subscript& i) {
      const bool array = i.index && (i.index->kind == ExprKind::Array || i.index->kind == ExprKind::Call);
      return array && areDistinct(file, *i.index);
    });
    const bool distinct = apart || std::ranges::all_of(all, [&](const ast::Subscript& i) {
                            return i.kind != ast::Subscript::Kind::Index || !i.index || areDistinct(file, *i.index);
                          });
    if (!distinct)
      found = OtherMeaning{s.span,
                           "an index that repeats accumulates here; in NumPy and PyTorch the last value alone counts"};
  };
  visitAround(file, name.span, visitor);
  return found;
}

bool changesOtherwise(const ast::File& file, const ast::Name& name) {
  return aliasRead(file, name) || repeatedUpdate(file, name);
}

}  // namespace tenc::frontend
