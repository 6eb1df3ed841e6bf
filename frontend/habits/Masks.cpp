#include "frontend/habits/Masks.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

std::string textOf(Context& context, Span s) { return std::string(context.sources.text(s)); }

/// Whether one of the literals of a value is a float.
bool hasFloat(const ast::Expr& value) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    found = found || e.kind == ExprKind::Float;
    return true;
  };
  visitor.visit(value);
  return found;
}

/// A value that is computed element by element of what one mask picks, without the mask: `2 * x + y` of
/// `2 * x[m] + y[m]`; empty for other values.
class Unmasked {
 public:
  /// `chosenBy`: the mask as `where` takes it.
  Unmasked(Context& context, std::string mask, std::string chosenBy)
      : context_(context), mask_(std::move(mask)), chosenBy_(std::move(chosenBy)) {}

  std::string text(const ast::Expr& value) {
    if (!isElementwise(value) || picked_.empty()) return "";
    std::string text = textOf(context_, value.span);
    std::ranges::sort(picked_, std::greater(), [](const Picked& p) { return p.index->span.begin; });
    for (const auto& [e, singular] : picked_) {
      const std::string x = textOf(context_, e->args[0]->span);
      // What is not picked must not make a gradient that is no number.
      text.replace(e->span.begin - value.span.begin, e->span.end - e->span.begin,
                   singular ? "where(" + chosenBy_ + ", " + x + ", 1)" : x);
    }
    return text;
  }

 private:
  bool isElementwise(const ast::Expr& e, bool singular = false) {
    switch (e.kind) {
      case ExprKind::Int:
      case ExprKind::Float:
      case ExprKind::Name: return true;
      case ExprKind::Unary: return e.text == "-" && isElementwise(*e.args[0], singular);
      case ExprKind::Binary:
        return std::string_view("+ - * / // % **").find(e.text) != std::string_view::npos &&
               isElementwise(*e.args[0], singular) && isElementwise(*e.args[1], singular);
      case ExprKind::Call: {  // `log(x[m])`
        static constexpr std::string_view kOfOne[] = {"abs", "cos", "exp", "log", "sin", "sqrt", "square", "tanh"};
        const ast::Expr& f = *e.args[0];
        return f.kind == ExprKind::Name && std::ranges::find(kOfOne, f.text) != std::end(kOfOne) &&
               e.arguments.size() == 1 && !e.arguments[0].name && e.arguments[0].value &&
               isElementwise(*e.arguments[0].value, singular || f.text == "log" || f.text == "sqrt");
      }
      case ExprKind::Index: {
        const ast::Expr* mask = e.subscripts.size() == 1 ? e.subscripts[0].index.get() : nullptr;
        if (!mask || e.args[0]->kind != ExprKind::Name || textOf(context_, mask->span) != mask_) return false;
        picked_.push_back({&e, singular});
        return true;
      }
      default: return false;
    }
  }

  struct Picked {
    const ast::Expr* index;
    bool singular;  ///< an operand of a function that has no derivative everywhere
  };
  Context& context_;
  const std::string mask_, chosenBy_;
  std::vector<Picked> picked_;
};

/// Whether an argument says that the first axis is reduced: `0`, `axis: 0`, `dim=0`.
bool isFirstAxis(const ast::Argument& a) {
  const bool named = !a.name || a.name->text == "axis" || a.name->text == "dim";
  return named && a.value && a.value->kind == ExprKind::Int && a.value->integer == 0;
}

/// `x[mask].shape[0]`; null for none.
const ast::Expr* lengthOf(const ast::File& file, const ast::Expr& index) {
  return expressionAround(file, index.span, [&](const ast::Expr& e) {
    const ast::Expr* of = e.kind == ExprKind::Index && e.subscripts.size() == 1 ? e.args[0].get() : nullptr;
    const ast::Expr* i = of ? e.subscripts[0].index.get() : nullptr;
    const bool isFirst = i && i->kind == ExprKind::Int && i->integer == 0;
    return isFirst && of->kind == ExprKind::Member && of->text == "shape" && of->args[0].get() == &index;
  });
}

/// The call that reduces `x[mask]`, over all dims or over the first one: `x[mask].sum()`, `sum(x[mask], axis: 0)`.
struct Reduced {
  const ast::Expr* call = nullptr;
  bool overRows = false;
};
/// `sum(y[m] * log(p[m]))`: the outermost call that reduces what is computed of the elements that one mask picks.
struct ReducedTerm {
  const ast::Expr* call = nullptr;
  std::string term{};  ///< without the mask
};
ReducedTerm reducedTerm(Context& context, const ast::File& file, const ast::Expr& index, const std::string& mask,
                        const std::string& chosenBy) {
  ReducedTerm found;
  TreeVisitor visitor;
  visitor.within = index.span;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (found.call || e.kind != ExprKind::Call || !holds(e.span, index.span)) return true;
    const ast::Expr& callee = *e.args[0];
    const bool method = callee.kind == ExprKind::Member && e.arguments.empty();
    const bool function = callee.kind == ExprKind::Name && e.arguments.size() == 1 && !e.arguments[0].name;
    const ast::Expr* term = method ? callee.args[0].get() : function ? e.arguments[0].value.get() : nullptr;
    if (!term || (callee.text != "sum" && callee.text != "mean")) return true;
    found.term = Unmasked(context, mask, chosenBy).text(*term);
    if (!found.term.empty()) found.call = &e;
    return true;
  };
  visitor.visit(file);
  return found;
}

Reduced reductionOf(const ast::File& file, const ast::Expr& index) {
  Reduced found;
  found.call = expressionAround(file, index.span, [&](const ast::Expr& e) {
    if (e.kind != ExprKind::Call) return false;
    const ast::Expr& callee = *e.args[0];
    const bool method = callee.kind == ExprKind::Member && callee.args[0].get() == &index;
    const bool function = callee.kind == ExprKind::Name && !e.arguments.empty() && !e.arguments[0].name &&
                          e.arguments[0].value.get() == &index;
    const size_t options = e.arguments.size() - (function ? 1 : 0);
    found.overRows = options == 1 && isFirstAxis(e.arguments.back());
    return (method || function) && (options == 0 || found.overRows);
  });
  return found;
}

}  // namespace

std::optional<Help> withoutMask(Context& context, Span subscript, const ir::Type& indexed, const ir::Type& mask) {
  const bool whole = mask.rank() == indexed.rank();
  const bool rows = mask.rank() == 1 && indexed.rank() > 1 && mask.shape[0] == indexed.shape[0];
  const ast::File* file = whole || rows ? fileOf(context) : nullptr;
  const ast::Expr* index = file ? expressionAround(*file, subscript, ExprKind::Index) : nullptr;
  if (!index || index->subscripts.size() != 1 || !index->subscripts[0].index) return std::nullopt;
  const ast::Expr& base = *index->args[0];
  const ast::Expr& bools = *index->subscripts[0].index;
  const std::string written = textOf(context, bools.span), x = textOf(context, base.span);
  std::string chosenBy = written;
  if (rows) {
    chosenBy = asOperand(context.sources, bools) + "[:";
    for (int64_t i = 1; i < indexed.rank(); ++i) chosenBy += ", new";
    chosenBy += "]";
  }
  const StatementPlace at = placeIn(*file, index->span);
  const std::string said = "a mask keeps the shape: `where(mask" + std::string(rows ? "[:, new]" : "") + ", x, other)`";
  const bool assigns = at.statement && at.statement->kind == StmtKind::Assign &&
                       at.statement->target->kind == ExprKind::Index && at.statement->target->subscripts.size() == 1;
  const ast::Expr* target = assigns ? at.statement->target.get() : nullptr;
  if (target && target->subscripts[0].index && textOf(context, target->subscripts[0].index->span) == written) {
    const ast::Stmt& s = *at.statement;
    const std::string changed = textOf(context, target->args[0]->span);
    const std::string unmasked = Unmasked(context, written, chosenBy).text(*s.value);
    const bool isKnown = (target == index && isOfLiterals(*s.value)) || (!unmasked.empty() && (whole || changed == x));
    if (target->args[0]->kind != ExprKind::Name || !isKnown) return std::nullopt;
    if (!ir::isFloat(indexed.dtype) && hasFloat(*s.value))
      return Help{said + "; NumPy and PyTorch would cut the number to an integer", {}};
    std::string value = unmasked.empty() ? textOf(context, s.value->span) : unmasked;
    if (s.op != "=")
      value = changed + " " + s.op.substr(0, s.op.size() - 1) + " " +
              (unmasked.empty()                                   ? asOperand(context.sources, *s.value)
               : unmasked.find_first_of(" +-*/") == unmasked.npos ? unmasked
                                                                  : "(" + unmasked + ")");
    return Help{said, {{s.span, changed + " = where(" + chosenBy + ", " + value + ", " + changed + ")"}}};
  }
  if (const ast::Expr* length = lengthOf(*file, *index))
    return Help{said, {{length->span, "sum(i64(" + written + "))"}}};
  Reduced reduced = reductionOf(*file, *index);
  reduced.overRows &= rows;  // elements that are picked have one axis
  const bool isFloat = ir::isFloat(indexed.dtype);
  if (!reduced.call) {
    const ReducedTerm term = reducedTerm(context, *file, *index, written, chosenBy);
    if (!term.call || (term.call->args[0]->text == "mean" && (!isFloat || !whole))) return std::nullopt;
    const std::string total = "sum(where(" + chosenBy + ", " + term.term + ", 0))";
    const std::string dtype(ir::name(indexed.dtype));
    return Help{
        said,
        {{term.call->span,
          term.call->args[0]->text == "sum" ? total : "(" + total + " / " + dtype + "(sum(" + written + ")))"}}};
  }
  const std::string& name = reduced.call->args[0]->text;
  const auto over = [&](const std::string& function, const std::string& other) {
    return function + "(where(" + chosenBy + ", " + x + ", " + other + ")" + (reduced.overRows ? ", axis: 0)" : ")");
  };
  std::string text;
  if (name == "sum") text = over("sum", "0");
  if (name == "mean" && isFloat && (whole || reduced.overRows))
    text = "(" + over("sum", "0") + " / " + std::string(ir::name(indexed.dtype)) + "(sum(" + written + ")))";
  // Of no element NumPy and PyTorch give none, and stop.
  const auto ofSome = [&](const std::string& function, const std::string& other) {
    return "{ assert any(" + written + "), \"the mask picks nothing\"; " + over(function, other) + " }";
  };
  if (name == "max") text = ofSome("max", isFloat ? "-inf" : "min(" + x + ")");
  if (name == "min") text = ofSome("min", isFloat ? "inf" : "max(" + x + ")");
  if (name == "prod") text = over("prod", "1");
  if (name == "len" && reduced.call->arguments.size() < 2) text = "sum(i64(" + written + "))";
  if (text.empty()) return std::nullopt;
  return Help{said, {{reduced.call->span, text}}};
}

}  // namespace tenc::frontend
