// Indexing as in NumPy: elements of lists and tuples, reads and updates of tensors once the subscripts are read
// (Subscripts.cpp, IndexPlan.cpp).
#include "frontend/expressions/Indexing.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/expressions/IndexPlan.h"
#include "frontend/expressions/Operands.h"
#include "frontend/expressions/Operators.h"
#include "frontend/expressions/Subscripts.h"
#include "frontend/habits/FieldByKey.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Tensors.h"
#include "ir/Ir.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using Kind = Val::Kind;
using ir::Dims;
using ir::DType;
using ir::OpKind;
}  // namespace

std::optional<size_t> Indexing::listIndex(const Val& list, const ast::Expr& index, const std::optional<Val>& known) {
  if (index.subscripts.size() != 1 || index.subscripts[0].kind != ast::Subscript::Kind::Index) {
    context_.fail(Code::E0203, index.span, "a list or tuple takes one integer as its index");
    return std::nullopt;
  }
  const Val at = known ? *known : expressions_.eval(*index.subscripts[0].index);
  if (at.is(Val::Kind::Tensor)) {
    context_
        .error(Code::E0111, index.subscripts[0].span,
               "the index of a list or tuple must be known at compile time, but this is a run-time value")
        .note("literals, `const`s, `param`s, dims and arithmetic over them are known at compile time; a `var` is not")
        .help(
            "elements may be of different types: `for i in static 0..n` and `enumerate(xs)` have an index that is "
            "known");
    return std::nullopt;
  }
  auto i = evaluator_.constInt(at, "the index of a list or tuple");
  if (!i) return std::nullopt;
  const auto n = static_cast<int64_t>(list.elems.size());
  if (*i < -n || *i >= n) {
    context_.fail(Code::E0205, index.subscripts[0].span,
                  "index " + std::to_string(*i) + " is out of range for " + std::to_string(n) + " elements");
    return std::nullopt;
  }
  return static_cast<size_t>(*i < 0 ? *i + n : *i);
}

Val Indexing::elementOf(const Val& list, const ast::Expr& e, const std::optional<Val>& index) {
  if (e.subscripts.size() == 1 && e.subscripts[0].kind == ast::Subscript::Kind::Slice) {
    const ast::Subscript& s = e.subscripts[0];
    const auto n = static_cast<int64_t>(list.elems.size());
    const auto step = s.step ? evaluator_.constInt(expressions_.eval(*s.step), "the step of a slice") : 1;
    if (!step) return context_.lost();
    if (*step == 0) return context_.fail(Code::E0205, s.span, "the step of a slice cannot be 0");
    // As in Python: a slice that goes back starts at the last element, and ends before the first.
    const int64_t least = *step < 0 ? -1 : 0, most = *step < 0 ? n - 1 : n;
    auto bound = [&](const ast::ExprPtr& x, int64_t otherwise) -> std::optional<int64_t> {
      if (!x) return otherwise;
      auto i = evaluator_.constInt(expressions_.eval(*x), "a slice bound");
      if (!i) return std::nullopt;
      return std::clamp(*i < 0 ? *i + n : *i, least, most);
    };
    auto lo = bound(s.lo, *step < 0 ? most : least), hi = bound(s.hi, *step < 0 ? least : most);
    if (!lo || !hi) return context_.lost();
    Val r = list;
    r.elems = Elements();
    const int64_t forward = std::clamp(*step, -n - 1, n + 1);  // of which one is past the end
    for (int64_t i = *lo; forward < 0 ? i > *hi : i < *hi; i += forward)
      r.elems.push_back(list.elems[static_cast<size_t>(i)]);
    return r;
  }
  auto i = listIndex(list, e, index);
  return i ? list.elems[*i] : context_.lost();
}

namespace {

/// What all numbers, bools or texts in a nest of arrays are; nothing where they differ.
std::optional<Val::Kind> kindOfAll(const Val& v) {
  if (!v.is(Kind::Array)) return v.kind;
  std::optional<Val::Kind> all;
  for (const Val& e : v.elems) {
    const auto kind = kindOfAll(e);
    if (!kind || (all && *all != *kind)) return std::nullopt;
    all = kind;
  }
  return all;
}
}  // namespace

Val Indexing::knownElement(const Val& base, const ast::Expr& e, std::optional<Val>& index) {
  if (e.subscripts.size() != 1 || e.subscripts[0].kind != ast::Subscript::Kind::Index) return Val::unit();
  Val list = literalInts(base);
  const bool literal = base.is(Kind::Array);
  if (list.is(Kind::Tuple)) list.kind = Kind::Array;
  if (const auto kind = kindOfAll(list);
      kind != Kind::Int && kind != Kind::Float && kind != Kind::Bool && kind != Kind::String) {
    return Val::unit();
  }
  Val at = expressions_.eval(*e.subscripts[0].index);
  if (at.poison()) return at;
  const auto n = static_cast<Int>(list.elems.size());
  if (at.is(Kind::Int) && at.integer >= -n && at.integer < n) {
    Val v = list.elems[static_cast<size_t>(at.integer < 0 ? at.integer + n : at.integer)];
    v.adopts = v.adopts && literal;
    return v;
  }
  index = at;
  return Val::unit();
}

Val Indexing::evalIndex(const ast::Expr& e) {
  const ast::Expr& of = *e.args[0];
  const bool kind = of.kind == ExprKind::Name && of.text != ir::DeviceTable::kHost && ir::DeviceTable::isKind(of.text);
  const Declaration* named = kind ? context_.frame().unit->resolution->definition(of.span) : nullptr;
  if (named && named->kind == Declaration::Kind::Language && e.subscripts.size() == 1 && e.subscripts[0].index) {
    auto i = evaluator_.constInt(expressions_.eval(*e.subscripts[0].index), "a device number");
    if (!i) return context_.lost();
    DeviceRef d;
    d.name = of.text + ":" + std::to_string(*i);
    return Val::ofDevice(d, e.span);
  }
  Val base = expressions_.eval(of);
  switch (base.kind) {
    case Kind::None:
    case Kind::Poison: return context_.lost();
    case Kind::List:
    case Kind::Tuple:
    case Kind::Pack:
    case Kind::Sequence: return elementOf(base, e);
    case Kind::Array:
    case Kind::Tensor: {
      std::optional<Val> index;
      Val known = knownElement(base, e, index);
      if (!known.is(Kind::Unit)) return known;
      base = tensors_.settle(base);
      if (base.poison()) return base;
      return base.is(Kind::List) ? elementOf(base, e, index) : indexExpr(base, e, index);
    }
    case Kind::Int:
    case Kind::Float:
    case Kind::Bool: {
      using Part = ast::Subscript::Kind;
      const bool elements = std::any_of(e.subscripts.begin(), e.subscripts.end(), [](const ast::Subscript& s) {
        return s.kind != Part::New && s.kind != Part::Ellipsis;
      });
      if (elements) break;
      base = tensors_.materialise(base);
      return base.poison() ? base : indexExpr(base, e);
    }
    default: break;
  }
  auto d = context_.error(Code::E0203, e.span, describe(base) + " takes no index");
  if (const auto field = fieldByKey(base, e)) {
    d.help(field->text, field->edits);
  } else if (base.is(Kind::DType)) {
    const std::string dtype(ir::name(base.dtype));
    d.help("a tensor type stands after `:`, as in `let x: " + dtype +
           "[2, 3] = load(\"x.npy\")`; a tensor is made with `zeros([2, 3], dtype: " + dtype + ")`");
  }
  return d;
}

std::optional<ReadIndex> Indexing::readIndex(const Val& base, const ast::Expr& index, const std::optional<Val>& known) {
  ir::Value* x = tensors_.tensorOf(base);
  if (!x) return std::nullopt;
  Subscripts s({context_, evaluator_, tensors_, expressions_}, x->type, index, known);
  if (!s.read()) return std::nullopt;
  return ReadIndex{x->type.shape, std::move(s.steps), s.written(), index.span};
}

Val Indexing::part(const Val& base, const ReadIndex& index) {
  ir::Value* x = tensors_.tensorOf(base);
  if (!x) return context_.lost();
  context_.at(index.span, index.written);
  IndexPlan plan(context_, x->type, index.steps);
  if (!plan.prepare(index.span)) return context_.lost();
  return Val::ofTensor(ir::Compose(context_.b()).asTensor(plan.read(x)), index.span);
}

Val Indexing::indexExpr(const Val& base, const ast::Expr& index, const std::optional<Val>& known) {
  const std::optional<ReadIndex> read = readIndex(base, index, known);
  return read ? part(base, *read) : context_.lost();
}

Val Indexing::withPart(const Val& base, const Val& before, const ReadIndex& index, const Val& value,
                       std::string_view op, Span span) {
  ir::Value* x = tensors_.tensorOf(base);
  ir::Value* old = tensors_.tensorOf(before);
  if (!x || !old || value.poison()) return context_.lost();
  if (x->type.shape != index.base || old->type.shape != index.base) {
    return context_.fail(Code::E0202, span,
                         "the value or the index of this assignment gives the variable another shape, " +
                             ir::toString(x->type.shape) + " instead of " + ir::toString(index.base));
  }
  std::vector<ir::OperandText> written = index.written;
  written.push_back({value.span, ""});
  context_.at(span, std::move(written));
  IndexPlan plan(context_, x->type, index.steps);
  if (!plan.prepare(index.span)) return context_.lost();
  DType t = x->type.dtype;
  ir::Value* v = nullptr;
  if (t == DType::Bool && value.is(Val::Kind::Bool)) {
    v = tensors_.tensorOf(value);
  } else {
    if (changesDType(context_, Val::ofTensor(x, base.span), value, op, span, {})) return context_.lost();
    auto common = commonDType(context_, {Val::ofTensor(x, base.span), value}, span, op);
    if (!common) return context_.lost();
    v = tensors_.tensorOf(value, common);
    if (v && (*common != t || v->type.dtype != t)) {
      return context_.fail(Code::E0201, span,
                           "a value of " + std::string(ir::name(v->type.dtype)) + " is assigned into a tensor of " +
                               std::string(ir::name(t)));
    }
  }
  if (!v) return context_.lost();
  const std::string_view operation = op.substr(0, op.size() - 1);  // "" of a plain assignment
  const auto fits = [&] {
    const auto both = ir::broadcastShapes(v->type.shape, plan.resultShape());
    if (both && *both == plan.resultShape()) return true;
    context_.error(Code::E0202, span,
                   "a value of shape " + ir::toString(v->type.shape) + " does not fit the indexed part of shape " +
                       ir::toString(plan.resultShape()));
    return false;
  };
  const bool product = operation == "@";  // of another shape than its operands
  if (!product && !fits()) return context_.lost();
  context_.at(span);
  ir::Compose c(context_.b());
  std::string mode = "set";
  ir::Value* target = x;
  if (op != "=") {
    if (plan.usesScatter() && (operation == "+" || operation == "-" || operation == "*") && t != DType::Bool) {
      // Repeated places take every update, of what they were when the assignment began.
      if (old != x) target = plan.write(x, plan.read(old), "set");
      if (operation == "-") v = c.unary(OpKind::Neg, v);
      mode = operation == "*" ? "mul" : "add";
    } else {
      Val combined = operators_.binary(operation, Val::ofTensor(plan.read(old), index.span),
                                       Val::ofTensor(v, value.span), span, span);
      v = tensors_.tensorOf(combined);
      if (!v || (product && !fits())) return context_.lost();
    }
  }
  return Val::ofTensor(plan.write(target, c.broadcastTo(v, plan.resultShape()), mode), span);
}

}  // namespace tenc::frontend
