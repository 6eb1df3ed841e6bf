#include "frontend/habits/StartValues.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

bool mayChangeType(Context& context, Span expression) {
  const auto& unsettled = context.frame().unsettled;
  const ast::File* file = unsettled.empty() ? nullptr : fileOf(context);
  const ast::Expr* e =
      file && expression.valid() && expression.file == file->source ? expressionAt(*file, expression) : nullptr;
  return e && std::ranges::any_of(namesRead(*e), [&](const std::string& n) { return unsettled.contains(n); });
}

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

namespace {

constexpr size_t kMostElements = 64;  ///< of an array whose elements are written anew

/// Adds the integers that an array is written with; false where it has other elements, or too many.
bool integersOf(const ast::Expr& e, std::vector<Span>& found) {
  if (e.kind == ExprKind::Unary && e.text == "-") return integersOf(*e.args[0], found);
  if (e.kind == ExprKind::Int) {
    found.push_back(e.span);
    return found.size() <= kMostElements;
  }
  return e.kind == ExprKind::Array &&
         std::ranges::all_of(e.args, [&](const ast::ExprPtr& part) { return integersOf(*part, found); });
}

/// What a statement binds the name at a place to: `0` of `var (n, best) = (3, 0)`; null where that is not written
/// there.
const ast::Expr* startAt(const ast::Stmt& s, Span declared) {
  if (!s.pattern.isTuple) return s.pattern.name.span.begin == declared.begin ? s.value.get() : nullptr;
  const auto& names = s.pattern.elements;
  if (s.value->kind != ExprKind::Tuple || s.value->args.size() != names.size()) return nullptr;
  for (size_t i = 0; i < names.size(); ++i)
    if (!names[i].isTuple && names[i].name.span.begin == declared.begin) return s.value->args[i].get();
  return nullptr;
}

}  // namespace

std::optional<Help> floatStart(Context& context, Span declared, ir::DType dtype) {
  const ast::File* file = fileOf(context);
  const ast::Stmt* s = file && declared.file == file->source ? placeIn(*file, declared).statement : nullptr;
  const ast::Expr* start = s && s->kind == StmtKind::Var && !s->type && s->value ? startAt(*s, declared) : nullptr;
  const bool starts = start && (start->kind == ExprKind::Int || start->kind == ExprKind::Array);
  std::vector<Span> integers;
  if (!starts || !integersOf(*start, integers) || integers.empty()) return std::nullopt;
  const std::string zero(context.sources.text(start->span));
  const bool isPlain = dtype == ir::DType::F32;
  if (isPlain && start->kind == ExprKind::Array) {
    std::vector<Edit> edits;
    for (const Span n : integers) edits.push_back({Span{n.file, n.end, n.end}, ".0"});
    return Help{"a variable keeps its type: start from floats", std::move(edits)};
  }
  return Help{"a variable keeps its type: start from a float",
              {{start->span, isPlain ? zero + ".0" : std::string(ir::name(dtype)) + "(" + zero + ")"}}};
}

std::optional<Help> floatStartOf(Context& context, Span read) {
  const ast::File* file = fileOf(context);
  const ast::Expr* e = file ? expressionAt(*file, read) : nullptr;
  const ast::Stmt* bound = e && e->kind == ExprKind::Name ? boundBefore(*file, e->text, read.begin) : nullptr;
  return bound ? floatStart(context, bound->pattern.name.span, ir::DType::F32) : std::nullopt;
}

std::optional<Help> ownShapes(Context& context, Span assignment, Span declared) {
  const ast::File* file = fileOf(context);
  const ast::Stmt* loop = file ? statementAround(*file, assignment, {StmtKind::For, StmtKind::While}) : nullptr;
  if (!loop || loop->isStatic) return std::nullopt;
  const ast::Expr* branch = expressionAround(*file, assignment, ExprKind::If);
  if (branch && holds(loop->span, branch->span)) return std::nullopt;  // it may be changed, or not
  // Where a loop around it carries the variable, too, unrolling the inner one alone does not help.
  const ast::Stmt* outer = placeIn(*file, loop->span).outer;
  const bool inLoop = outer && (outer->kind == StmtKind::For || outer->kind == StmtKind::While) && !outer->isStatic &&
                      !holds(outer->span, declared);
  if (loop->kind == StmtKind::While || inLoop || !mayBeStatic(*loop))
    return Help{"make the tensor of the final size before the loop, and assign each part", {}};
  const Span start = loop->lo->span;
  return Help{
      "a loop that is `static` is unrolled, and each trip may have a shape of its own; where there are many, "
      "make the tensor of the final size before the loop, and assign each part",
      {{Span{start.file, start.begin, start.begin}, "static "}}};
}

std::optional<Help> extremeStart(Context& context, Span none) {
  const ast::File* file = fileOf(context);
  const ast::Stmt* s = file ? placeIn(*file, none).statement : nullptr;
  if (!s || !s->value || s->value->span != none) return std::nullopt;
  const bool assigns = s->kind == StmtKind::Assign && s->op == "=" && s->target->kind == ExprKind::Name;
  if (!assigns && (s->kind != StmtKind::Var && s->kind != StmtKind::Let)) return std::nullopt;
  const std::string& name = assigns ? s->target->text : s->pattern.name.text;
  const auto isIt = [&](const ast::ExprPtr& x) { return x->kind == ExprKind::Name && x->text == name; };
  const auto isNone = [&](const ast::ExprPtr& x) {
    const bool compares = x->kind == ExprKind::Binary && x->text == "==" && isIt(x->args[0]);
    return (x->kind == ExprKind::Bool && !x->boolean) || (compares && x->args[1]->text == "None");
  };
  // Only `best is None or x < best` does the same for an infinity: what else asks for a value first would not.
  bool below = false, above = false, otherwise = false;
  const ast::Expr *chosen = nullptr, *asked = nullptr;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (e.kind != ExprKind::Binary) return true;
    if (e.text == "or" && isNone(e.args[0])) {
      chosen = e.args[1].get();
      asked = e.args[0].get();
    }
    const bool compares = (e.text == "==" || e.text == "!=") && isIt(e.args[0]) && e.args[1]->text == "None";
    otherwise = otherwise || (compares && asked != &e);
    if (e.text[0] != '<' && e.text[0] != '>') return true;
    const bool left = isIt(e.args[0]), right = isIt(e.args[1]);
    if (left == right) return true;
    otherwise = otherwise || chosen != &e;
    (right == (e.text[0] == '<') ? below : above) = true;
    return true;
  };
  visitAround(*file, none, visitor);
  if (below == above || otherwise) return std::nullopt;
  const std::string start = below ? "inf" : "-inf";
  return Help{"a variable always has a value: one that keeps the " + std::string(below ? "least" : "greatest") +
                  " starts from `" + start + "`, and passes over NaN",
              {{none, start}}};
}

}  // namespace tenc::frontend
