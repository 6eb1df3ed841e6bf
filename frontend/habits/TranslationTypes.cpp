// What is known of the types of values that a translated call is given.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/Translation.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;

int rankOfValue(const Val& v) {
  if (v.is(Val::Kind::Tensor)) return static_cast<int>(v.tensor->type.rank());
  const bool several = v.is(Val::Kind::Array) || v.is(Val::Kind::Tuple) || v.is(Val::Kind::List);
  if (!several || v.elems.empty()) return v.is(Val::Kind::Int) || v.is(Val::Kind::Float) ? 0 : -1;
  const int part = rankOfValue(v.elems[0]);
  return part < 0 ? -1 : 1 + part;
}
}  // namespace

/// The dtype for `float`, `"float64"`; empty for what means none.
std::string Translation::dtypeMeant(const ast::Expr& value) const {
  if (value.kind == ExprKind::Name && !scopes_.nameExists(value.text)) {
    const syntax::Familiar* known = syntax::familiarName(value.text);
    if (!known || isAssigned(value.text)) return "";
    const ast::File* file = fileOf(context_);
    return known->asDType == "f64" && file && isGivenToJax(*file, value.span) ? "f32" : std::string(known->asDType);
  }
  if (value.kind != ExprKind::String) return "";
  const std::string_view text = context_.sources.text(value.span);
  if (text.size() < 3) return "";
  const std::string name = nameOf(text.substr(1, text.size() - 2));
  return ir::dtypeNamed(name) ? name : "";
}

std::vector<int64_t> Translation::shapeOf(const ast::Expr& value) const {
  if (value.kind == ExprKind::Name) {
    const Binding* local = scopes_.find(value.span);
    return local && local->value.is(Val::Kind::Tensor) ? local->value.tensor->type.shape : std::vector<int64_t>();
  }
  if (value.kind == ExprKind::Array && !value.args.empty()) {
    std::vector<int64_t> shape{static_cast<int64_t>(value.args.size())};
    if (rankOf(*value.args[0]) == 0) return shape;
    const std::vector<int64_t> part = shapeOf(*value.args[0]);
    shape.insert(shape.end(), part.begin(), part.end());
    return part.empty() ? std::vector<int64_t>() : shape;
  }
  const bool counted = value.kind == ExprKind::Call && value.args[0]->text == "arange" && value.arguments.size() == 1;
  const ast::Expr* n = counted ? value.arguments[0].value.get() : nullptr;
  if (n && n->kind == ExprKind::Int && !n->overflow) return {static_cast<int64_t>(n->integer)};
  return {};
}

namespace {
/// `np.array` and its kin, which give what they are given.
bool isValueItself(const ast::Expr& callee) {
  const auto calls = syntax::familiarCalls(callee.text);
  return std::ranges::any_of(calls, [](const syntax::FamiliarCall& c) {
    return c.operands == 1 && c.form == syntax::FamiliarCall::Form::Function && c.pattern == "#1";
  });
}
/// `len`, and what else gives a size.
bool isLength(const ast::Expr& callee) {
  const auto calls = syntax::familiarCalls(callee.text);
  return callee.kind == ExprKind::Name && std::ranges::any_of(calls, [](const syntax::FamiliarCall& c) {
           return c.operands == 1 && c.pattern.ends_with(".shape[0]");
         });
}
}  // namespace

bool Translation::isOfManyTypes(Span part) const {
  const ast::File* file = context_.frame().unit->file;
  if (!file) return true;
  const ast::Stmt* fn = statementAround(*file, part, {ast::Stmt::Kind::Fn});
  return (fn && !fn->params.empty()) || expressionAround(*file, part, ExprKind::Lambda);
}

std::string Translation::dtypeOf(const ast::Expr& value) const {
  if (value.kind == ExprKind::Name) {
    const Binding* local = scopes_.find(value.span);
    return local && local->value.is(Val::Kind::Tensor) ? std::string(ir::name(local->value.tensor->type.dtype)) : "";
  }
  if (value.kind == ExprKind::Call && value.args[0]->kind == ExprKind::Name && ir::dtypeNamed(value.args[0]->text))
    return value.args[0]->text;
  if (value.kind == ExprKind::Unary && value.text == "-") return dtypeOf(*value.args[0]);
  if (value.kind == ExprKind::Binary && (value.text == "+" || value.text == "-" || value.text == "*")) {
    // A literal takes the dtype of what it stands beside, unless a float stands beside an integer.
    const ast::Expr &left = *value.args[0], &right = *value.args[1];
    const std::string a = dtypeOf(left), b = dtypeOf(right);
    const auto takes = [](const ast::Expr& e, const std::string& dtype) {
      return e.kind == ExprKind::Int || (e.kind == ExprKind::Float && dtype.starts_with('f'));
    };
    return a == b || takes(right, a) ? a : takes(left, b) ? b : "";
  }
  const bool same = value.kind == ExprKind::Call ? value.arguments.size() == 1 && isValueItself(*value.args[0])
                                                 : value.kind == ExprKind::Index;
  if (same) return dtypeOf(value.kind == ExprKind::Call ? *value.arguments[0].value : *value.args[0]);
  if (value.kind != ExprKind::Array || value.args.empty()) return "";
  return value.args[0]->kind == ExprKind::Float ? "f32" : dtypeOf(*value.args[0]);
}

/// Of `x[:, None]`, `x[0]`; -1 where an index may be an array or a mask.
int Translation::rankOfPart(const ast::Expr& part) const {
  using Kind = ast::Subscript::Kind;
  int rank = rankOf(*part.args[0]);
  for (const ast::Subscript& s : part.subscripts) {
    const syntax::Familiar* known =
        s.kind == Kind::Index && s.index->kind == ExprKind::Name ? syntax::familiarName(s.index->text) : nullptr;
    if (rank < 0) return -1;
    if (s.kind == Kind::New || (known && !known->inSubscript.empty()))
      ++rank;
    else if (s.kind == Kind::Index && rankOf(*s.index) == 0)
      --rank;
    else if (s.kind == Kind::Index)
      return -1;
  }
  return rank;
}

int Translation::rankOf(const ast::Expr& value) const {
  if (value.kind == ExprKind::Int || value.kind == ExprKind::Float) return 0;
  if (value.kind == ExprKind::Name) {
    const Binding* local = scopes_.find(value.span);
    if (local != nullptr) return rankOfValue(local->value);
    const ast::File* file = context_.frame().unit->file;
    const auto isIt = [&](const ast::StmtPtr& s) {
      return s && s->kind == ast::Stmt::Kind::Const && s->name.text == value.text && s->value;
    };
    const auto constant = file ? std::ranges::find_if(file->statements, isIt) : decltype(file->statements.begin()){};
    return file && constant != file->statements.end() ? rankOf(*(*constant)->value) : -1;
  }
  if (value.kind == ExprKind::Unary || (value.kind == ExprKind::Member && value.text == "T"))
    return rankOf(*value.args[0]);
  if (value.kind == ExprKind::Binary && value.text != "@" && value.text != "|>") {
    const int a = rankOf(*value.args[0]), b = rankOf(*value.args[1]);
    return a < 0 || b < 0 ? -1 : std::max(a, b);
  }
  if (value.kind == ExprKind::Binary && value.text == "@") {
    const int a = rankOf(*value.args[0]), b = rankOf(*value.args[1]);
    if (a < 1 || b < 1) return -1;
    return a == 1 && b == 1 ? 0 : a == 1 || b == 1 ? std::max(a, b) - 1 : std::max(a, b);
  }
  if (value.kind == ExprKind::Array || value.kind == ExprKind::Tuple) {
    const int part = value.args.empty() ? -1 : rankOf(*value.args[0]);
    return part < 0 ? -1 : 1 + part;
  }
  if (value.kind == ExprKind::Index && value.args[0]->kind == ExprKind::Member && value.args[0]->text == "shape")
    return value.subscripts.size() == 1 && value.subscripts[0].index ? 0 : -1;
  if (value.kind == ExprKind::Index) return rankOfPart(value);
  if (value.kind != ExprKind::Call || value.arguments.empty()) return -1;
  if (isLength(*value.args[0])) return 0;
  if (value.arguments.size() == 1 && isValueItself(*value.args[0])) return rankOf(*value.arguments[0].value);
  if (value.args[0]->kind != ExprKind::Name) return -1;
  if (value.args[0]->text == "arange" || value.args[0]->text == "linspace") return 1;
  if (value.args[0]->text == "eye") return 2;
  const BuiltinRow* row = builtinRow(value.args[0]->text);  // zeros([2, 3])
  const Parameter* first = row != nullptr ? row->signature.positional(0) : nullptr;
  const ast::Expr* shape = value.arguments[0].value.get();
  if (first == nullptr || first->kind != Parameter::Kind::Shape || !shape || shape->kind != ExprKind::Array) return -1;
  return static_cast<int>(shape->args.size());
}

}  // namespace tenc::frontend
