#include "frontend/habits/ListArithmetic.h"

#include <algorithm>
#include <string>

#include "frontend/builtins/Builtin.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;

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
  const auto isWritten = [](const ast::Expr& part) { return part.kind == ExprKind::Array || listForm(part); };
  if (e.text == "+" && isWritten(left) && isWritten(right)) return ListForm{{}, &left, &right};
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
  const auto text = [&](const ast::Expr& part) {
    const auto written = listsWritten(sources, part);  // `[1] * 3` of `[1] * 3 + [2]`
    return written ? *written : std::string(sources.text(part.span));
  };
  if (form->counts.empty()) return "concat((" + text(*form->first) + ", " + text(*form->second) + "))";
  std::string shape;
  for (const ast::Expr* count : form->counts) shape += (shape.empty() ? "" : ", ") + text(*count);
  return "full([" + shape + "], " + text(*form->first) + ")";
}

}  // namespace tenc::frontend
