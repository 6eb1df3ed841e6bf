#include "frontend/habits/ListArithmetic.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "frontend/builtins/Builtin.h"
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

/// Which expressions give a list of Python, as the text tells: brackets, comprehensions, `sorted`, and parts and copies
/// of such.
class Lists {
 public:
  explicit Lists(const ast::File& file) : file_(file) {}

  /// Whether it is a list whose elements are lists: `[[1, 2], [3]]`.
  bool hasNested(const ast::Expr& e) {
    if (e.kind == ExprKind::Array)
      return std::ranges::any_of(e.args, [&](const ast::ExprPtr& part) { return has(*part); });
    if (e.kind == ExprKind::Binary) return has(e) && (hasNested(*e.args[0]) || hasNested(*e.args[1]));
    return e.kind == ExprKind::Name && isBoundTo(file_, e, [this](const ast::Expr& value) {
             return value.kind == ExprKind::Array && hasNested(value);
           });
  }

  bool has(const ast::Expr& e) {
    switch (e.kind) {
      case ExprKind::Array: return true;
      case ExprKind::Name: return hasNamed(e);
      case ExprKind::Binary: return (e.text == "+" || e.text == "*") && (has(*e.args[0]) || has(*e.args[1]));
      case ExprKind::Index: return e.subscripts.size() == 1 && !e.subscripts[0].index && has(*e.args[0]);
      case ExprKind::Call: {
        const ast::Expr& callee = *e.args[0];
        if (callee.kind == ExprKind::Member)
          return callee.text == "tolist" || (callee.text == "copy" && e.arguments.empty() && has(*callee.args[0]));
        return callee.kind == ExprKind::Name && (callee.text == "list" || callee.text == "sorted");
      }
      default: return false;
    }
  }

 private:
  /// No list while it is being found out.
  bool hasNamed(const ast::Expr& name) {
    const auto [known, isNew] = names_.try_emplace(name.text, false);
    if (!isNew) return known->second;
    const bool list = isBoundTo(file_, name, [this](const ast::Expr& value) { return has(value); });
    return names_[name.text] = list;
  }

  const ast::File& file_;
  std::map<std::string, bool> names_;
};

/// Whether Python computes with a list and the other operand, and not with their elements.
bool isOfLists(const ast::File& file, Lists& lists, std::string_view op, const ast::Expr& other) {
  constexpr std::array kWhole = std::to_array<std::string_view>({"+", "+=", "==", "!=", "<", ">", "<=", ">="});
  if (op == "*" || op == "*=") return isInteger(file, other);
  return std::ranges::find(kWhole, op) != kWhole.end() && lists.has(other);
}

}  // namespace

namespace {
/// Whether it gives an array in Python too, as the built-ins tell that it is made with: `sin(arange(4))`.
bool isArray(const ast::Expr& e) {
  if (e.kind == ExprKind::Unary || e.kind == ExprKind::Binary)
    return std::ranges::any_of(e.args, [](const ast::ExprPtr& part) { return isArray(*part); });
  if (e.kind != ExprKind::Call) return false;
  const ast::Expr& callee = *e.args[0];
  const BuiltinRow* row =
      callee.kind == ExprKind::Name || callee.kind == ExprKind::Member ? builtinRow(callee.text) : nullptr;
  if (!row) return false;
  const auto isShape = [row](size_t i) {
    const Parameter* p = row->signature.positional(i);
    return p && p->kind == Parameter::Kind::Shape;
  };
  if (callee.kind == ExprKind::Name && (isShape(0) || row->traits.ofNumbers)) return true;
  const bool keeps = isShape(1) || (row->op != ir::OpKind::Count && ir::opInfo(row->op).has(ir::Trait::Elementwise));
  if (!keeps) return false;
  const ast::Expr* operand = callee.kind == ExprKind::Member ? callee.args[0].get()
                             : e.arguments.empty()           ? nullptr
                                                             : e.arguments[0].value.get();
  return operand && isArray(*operand);
}
}  // namespace

bool isListArithmetic(const ast::Expr& e) {
  if (e.kind != ExprKind::Binary || (e.text != "*" && e.text != "+")) return false;
  if (isArray(*e.args[0]) || isArray(*e.args[1])) return false;
  const auto isOne = [](const ast::Expr& part) { return part.kind == ExprKind::Array || isListArithmetic(part); };
  return e.text == "*" ? isOne(*e.args[0]) || isOne(*e.args[1]) : isOne(*e.args[0]) && isOne(*e.args[1]);
}

std::optional<ListForm> listForm(const ast::Expr& e) {
  if (e.kind != ExprKind::Binary) return std::nullopt;
  const ast::Expr &left = *e.args[0], &right = *e.args[1];
  const bool isLeft = left.kind == ExprKind::Array, both = isLeft && right.kind == ExprKind::Array;
  if (e.text == "+" && both) return ListForm{{}, &left, &right};
  const ast::Expr& list = isLeft ? left : right;
  if (e.text != "*" || both || list.kind != ExprKind::Array || list.args.size() != 1) return std::nullopt;
  const ast::Expr& element = *list.args[0];
  ListForm form{{isLeft ? &right : &left}, &element};
  if (element.kind == ExprKind::Array) return std::nullopt;
  if (!isListArithmetic(element)) return form;
  const auto rows = listForm(element);
  if (!rows || rows->counts.empty()) return std::nullopt;
  form.counts.insert(form.counts.end(), rows->counts.begin(), rows->counts.end());
  form.first = rows->first;
  return form;
}

std::optional<std::string> listsWritten(const SourceManager& sources, const ast::Expr& e) {
  const auto form = listForm(e);
  if (!form) return std::nullopt;
  const auto text = [&](const ast::Expr& part) { return std::string(sources.text(part.span)); };
  if (form->counts.empty()) return "concat((" + text(*form->first) + ", " + text(*form->second) + "))";
  std::string shape;
  for (const ast::Expr* count : form->counts) shape += (shape.empty() ? "" : ", ") + text(*count);
  return "full([" + shape + "], " + text(*form->first) + ")";
}

bool isListOfLists(const ast::File& file, const ast::Expr& e) { return Lists(file).hasNested(e); }

Span listOperation(const ast::File& file, const ast::Name& name) {
  const ast::Stmt* bound = placeIn(file, name.span).statement;
  if (!bound || nameBound(*bound) != name.text || !bound->value) return {};
  Lists lists(file);
  if (!lists.has(*bound->value)) return {};
  const auto isIt = [&](const ast::Expr& e) { return e.kind == ExprKind::Name && e.text == name.text; };
  Span found{};
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (found.valid() || e.kind != ExprKind::Binary) return true;
    const ast::Expr &left = *e.args[0], &right = *e.args[1];
    if ((isIt(left) && isOfLists(file, lists, e.text, right)) || (isIt(right) && isOfLists(file, lists, e.text, left)))
      found = e.span;
    return true;
  };
  visitor.onStatement = [&](const ast::Stmt& s) {
    const bool changes = s.kind == StmtKind::Assign && s.op != "=" && isIt(*s.target) && s.value;
    if (changes && !found.valid() && isOfLists(file, lists, s.op, *s.value)) found = s.span;
  };
  visitAround(file, name.span, visitor);
  return found;
}

}  // namespace tenc::frontend
