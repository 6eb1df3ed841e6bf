// Expressions other than calls, members and indices.
#include "frontend/expressions/Expressions.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/calls/Calls.h"
#include "frontend/calls/Training.h"
#include "frontend/control/Branches.h"
#include "frontend/control/Flow.h"
#include "frontend/control/PlacedBlocks.h"
#include "frontend/control/Regions.h"
#include "frontend/control/Statements.h"
#include "frontend/expressions/Elementwise.h"
#include "frontend/expressions/Formats.h"
#include "frontend/expressions/Indexing.h"
#include "frontend/expressions/Members.h"
#include "frontend/expressions/Operators.h"
#include "frontend/expressions/StructLiterals.h"
#include "frontend/habits/Habits.h"
#include "frontend/habits/LocalNames.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Names.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/names/UnknownNames.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using Kind = Val::Kind;
using ir::OpKind;
using ir::Trait;
}  // namespace

Val Expressions::evalSettled(const ast::Expr& e, const Ty* expected) {
  return tensors_.settle(eval(e, expected), expected);
}

Val Expressions::eval(const ast::Expr& e, const Ty* expected) {
  if (context_.spent(e.span)) return context_.lost();
  context_.at(e);
  if (context_.body.evaluated) {
    if (auto it = context_.body.evaluated->find(&e); it != context_.body.evaluated->end()) return it->second;
  }
  Val v;
  switch (e.kind) {
    case ExprKind::Error: return context_.lost();
    case ExprKind::Name: v = evalName(e); break;
    case ExprKind::Int:
      if (e.overflow) return context_.fail(Code::E0212, e.span, "`" + e.text + "` does not fit in 64 bits");
      v = Val::ofInt(static_cast<Int>(static_cast<uint64_t>(e.integer)), e.span);
      break;
    case ExprKind::Float: v = Val::ofFloat(e.real, e.span); break;
    case ExprKind::Bool: v = Val::ofBool(e.boolean, e.span); break;
    case ExprKind::Device: {
      DeviceRef d;
      d.name = ir::DeviceTable::normal(e.text);
      v = Val::ofDevice(d, e.span);
      break;
    }
    case ExprKind::String: v = formats_.formatString(e); break;
    case ExprKind::Tuple: {
      v = Val::ofTuple({}, e.span);
      for (size_t i = 0; i < e.args.size(); ++i) {
        const bool typed = expected && expected->kind == Ty::Kind::Tuple && i < expected->elems.size();
        v.elems.push_back(eval(*e.args[i], typed ? &expected->elems[i] : nullptr));
      }
      break;
    }
    case ExprKind::Array: v = evalArray(e, expected); break;
    case ExprKind::Unary: v = evalUnary(e, expected); break;
    case ExprKind::Binary: v = evalBinary(e, expected); break;
    case ExprKind::Member: v = evalMember(e); break;
    case ExprKind::Call: v = calls_.callExpr(e, expected, nullptr); break;
    case ExprKind::Index: v = indexing_.evalIndex(e); break;
    case ExprKind::Struct: v = structLiterals_.evalStruct(e, expected); break;
    case ExprKind::If: v = evalIf(e, expected); break;
    case ExprKind::Block: v = evalBlockExpr(e, expected); break;
    case ExprKind::Lambda: v = evalLambda(e); break;
  }
  const bool tooMany = (v.isTree() || v.is(Val::Kind::Format)) && v.elems.leaves() > kMostParts;
  if (std::vector<ir::Value*> unused; tooMany && !leavesOf(v, unused)) return context_.lost();  // of one with an error
  if (tooMany || (v.fn && tensorsIn(*v.fn) > kMostParts))
    return context_.fail(Code::E0208, e.span, "a value of more than " + std::to_string(kMostParts) + " parts");
  // What an operation makes of a tree is an operation for each of its leaves.
  const bool operation = e.kind == ExprKind::Unary || e.kind == ExprKind::Binary || e.kind == ExprKind::Call;
  if (operation && v.isTree() && v.elems.leaves() > 1 && context_.spent(e.span, v.elems.leaves()))
    return context_.lost();
  const bool named = e.kind == ExprKind::Name || e.kind == ExprKind::Member || e.kind == ExprKind::Index;
  if (named && v.is(Val::Kind::Int) && v.adopts) v.dim = true;
  if (!v.poison()) v.span = e.span;
  if (v.is(Kind::None)) return context_.lost();
  return v;
}

Val Expressions::evalName(const ast::Expr& e) {
  if (auto v = names_.lookup(e.span)) return placing_.keepCaptures(*v);
  return unknownNames_.unknownName(e.text, e.span);
}

Val Expressions::evalArray(const ast::Expr& e, const Ty* expected) {
  Val v;
  v.kind = Kind::Array;
  v.span = e.span;
  Ty inner;
  const Ty* hint = nullptr;
  if (expected && expected->kind == Ty::Kind::List && !expected->elems.empty()) {
    hint = &expected->elems[0];
  } else if (expected && expected->isTensor()) {
    inner.kind = Ty::Kind::Tensor;
    inner.dtype = expected->dtype;
    hint = &inner;
  }
  bool ok = true;
  for (const auto& a : e.args) {
    v.elems.push_back(eval(*a, hint));
    ok = ok && !v.elems.back().poison();
  }
  return ok ? v : context_.lost();
}

namespace {

/// The dtype alone of a declared type: what operands of arithmetic are, whatever their shapes.
std::optional<Ty> dtypeAlone(const Ty* expected) {
  if (!expected || !expected->isTensor() || !expected->dtype) return std::nullopt;
  Ty t;
  t.kind = Ty::Kind::Tensor;
  t.dtype = expected->dtype;
  return t;
}
}  // namespace

Val Expressions::evalUnary(const ast::Expr& e, const Ty* expected) {
  if (e.text == "not") {
    Val v = eval(*e.args[0]);
    if (v.poison()) return v;
    const ir::Type* type = v.is(Val::Kind::Tensor) ? &v.tensor->type : nullptr;
    if (!v.isNumber() && !(type && type->rank() == 0 && type->dtype != ir::DType::Bool))
      return elementwise_.elementwise(OpKind::Not, {v}, e.span, e.text);
    const ast::Expr& number = *e.args[0];
    const std::string text(context_.sources.text(number.span));
    const bool compound = number.kind == ExprKind::Binary && !number.grouped;
    auto d = context_.error(Code::E0201, e.span, "`not` needs bools, not " + describe(v));
    const std::string compared = (compound ? "(" + text + ")" : text) + " == 0";
    d.help("compare it", {{e.span, e.grouped ? "(" + compared + ")" : compared}});
    return d;
  }
  const std::optional<Ty> hint = dtypeAlone(expected);
  std::vector<Val> operands = {eval(*e.args[0], hint ? &*hint : nullptr)};
  if (operands[0].poison()) return operands[0];
  tensors_.adoptDeclared(operands, expected);
  return elementwise_.elementwise(OpKind::Neg, operands, e.span, e.text);
}

Val Expressions::evalBinary(const ast::Expr& e, const Ty* expected) {
  if (e.text == "|>") return calls_.pipe(e, expected);
  if (habits_.joinsText(e)) return context_.lost();
  const bool arithmetic = std::string_view("+ - * / // % **").find(e.text) != std::string_view::npos;
  const std::optional<Ty> hint = arithmetic ? dtypeAlone(expected) : std::nullopt;
  std::vector<Val> operands = {eval(*e.args[0], hint ? &*hint : nullptr)};
  if (e.text == "and" || e.text == "or") return shortCircuit(e, operands[0]);
  operands.push_back(eval(*e.args[1], hint ? &*hint : nullptr));
  habits_.warnOfLists(e, operands);
  if (hint) tensors_.adoptDeclared(operands, expected);
  return operators_.binary(e.text, operands[0], operands[1], e.span, e.opSpan);
}

Val Expressions::shortCircuit(const ast::Expr& e, const Val& left) {
  const bool isAnd = e.text == "and";
  if (left.is(Kind::Bool)) {
    if (left.boolean != isAnd) return Val::ofBool(!isAnd, e.span);
    Val right = eval(*e.args[1]);
    if (right.is(Kind::Bool) || right.poison()) return right;
    return operators_.binary(e.text, left, right, e.span, e.opSpan);
  }
  const bool single =
      left.is(Kind::Tensor) && left.tensor->type.shape.empty() && left.tensor->type.dtype == ir::DType::Bool;
  if (!single) return operators_.binary(e.text, left, eval(*e.args[1]), e.span, e.opSpan);
  Boundary assigned;
  scopes_.assignedIn(e.args[1]->span, assigned);
  const std::vector<Val> before = valuesOf(assigned.vars);
  // The right side goes into the branch that needs it. When nothing in it can fail or be seen, it comes out again.
  ir::Op* op = context_.b().makeTyped(OpKind::If, {left.tensor}, {});
  ir::Region* regions[2] = {context_.b().addRegion(op), context_.b().addRegion(op)};
  ir::Region *evaluated = regions[isAnd ? 0 : 1], *decided = regions[isAnd ? 1 : 0];
  Val right;
  Training* training = context_.body.training;
  const KeptLeaves keptBefore = training ? training->kept : KeptLeaves();
  {
    const Scoped deeper(context_.body.regionDepth, context_.body.regionDepth + 1);
    context_.inRegion(evaluated, [&] { right = eval(*e.args[1]); });
  }
  const bool changesLayers = training && !training->kept.changedIn(*op, keptBefore).empty();
  bool pure = true;
  for (const auto& o : evaluated->ops) {
    pure = pure && !o->has(Trait::HasSideEffect) && !o->has(Trait::CanFault) && !o->has(Trait::Control);
  }
  const bool scalar = right.is(Kind::Bool) || (right.is(Kind::Tensor) && right.tensor->type.shape.empty() &&
                                               right.tensor->type.dtype == ir::DType::Bool);
  if (scalar && (changesLayers || !assigned.vars.empty())) {
    op->erase();
    if (training) training->kept = keptBefore;
    return shortCircuitAssigning(e, left, assigned, before);
  }
  if (pure || !scalar) {
    while (!evaluated->ops.empty()) evaluated->ops.front()->moveBefore(op);
    op->erase();
    context_.at(e.span);
    return operators_.binary(e.text, left, right, e.span, e.opSpan);
  }
  ir::Value* value = nullptr;
  context_.inRegion(evaluated, [&] { value = tensors_.tensorOf(right); });
  ir::Value* constant = nullptr;
  context_.inRegion(decided, [&] { constant = context_.b().scalarInt(ir::DType::Bool, isAnd ? 0 : 1); });
  regions_.yield(evaluated, {value});
  regions_.yield(decided, {constant});
  context_.at(e.span);
  return Val::ofTensor(op->addResult({ir::DType::Bool, {}, {}}), e.span);
}

Val Expressions::shortCircuitAssigning(const ast::Expr& e, const Val& left, const Boundary& assigned,
                                       const std::vector<Val>& before) {
  const bool isAnd = e.text == "and";
  std::vector<std::string> labels;
  for (const std::string& n : assigned.names) labels.push_back("`" + n + "`");
  const auto branch = [&](bool taken) {
    setValues(assigned.vars, before);
    Val value = taken == isAnd ? eval(*e.args[1]) : Val::ofBool(!isAnd, e.span);
    std::vector<Val> values = valuesOf(assigned.vars);
    values.push_back(std::move(value));
    return values;
  };
  const std::vector<Val> merged =
      regions_.emitIf(left.tensor, e.span, labels, [&] { return branch(true); }, [&] { return branch(false); });
  setValues(assigned.vars, merged);
  return merged.back();
}

Val Expressions::evalMember(const ast::Expr& e) {
  if (habits_.foreignPrefix(e)) return context_.lost();
  Val base = eval(*e.args[0]);
  return members_.fieldOf(base, e.text, e.opSpan);
}

Val Expressions::evalLambda(const ast::Expr& e) {
  // Also where nothing calls it.
  const Resolution& names = *context_.frame().unit->resolution;
  for (const Declaration* d : names.assigned(e.span)) {
    const auto uses = names.within(e.span);
    const auto use = std::ranges::find_if(uses, [&](const Use& u) { return u.assigned && u.declaration == d; });
    if (use == uses.end()) continue;
    auto error = context_.error(Code::E0107, use->span,
                                "a lambda cannot assign to `" + d->name + "`, which is bound outside of it");
    const ast::File* file = fileOf(context_);
    const ast::Expr* target = file ? expressionAt(*file, use->span) : nullptr;
    if (target && isOfLambda(*file, *target))
      unknownNames_.offerBinding(error, d->name, use->span);
    else
      error.help("give the new value back, and assign it where `" + d->name + "` is bound");
    return error;
  }
  auto f = std::make_shared<FnValue>();
  f->kind = FnValue::Kind::Lambda;
  f->name = "|...|";
  f->lambda = &e;
  f->unit = context_.frame().unit;
  f->id = context_.freshId();
  f->writtenIn = placing_.annotationAround();
  for (const Declaration* d : f->unit->resolution->captured(e.span)) {
    if (Binding* local = scopes_.declaredAt(d->span))
      f->captures.emplace_back(d->name, placing_.keepCaptures(local->value));
  }
  return Val::ofFunction(std::move(f), e.span);
}

Val Expressions::evalBlockExpr(const ast::Expr& e, const Ty* expected) {
  if (exitsOf(e).any())
    return context_.fail(Code::E0108, e.span, "an exit inside an expression; make the block a statement");
  Boundary here;
  here.kind = Boundary::Kind::Expression;
  const Scoped inside(context_.body.boundary, &here);
  const Tail none{{}, nullptr, context_.frame().scopes.size(), true};
  Flow f = placedBlocks_.lowerPlaced(e.annotations, 0, e.blocks[0].span, none,
                                     [&](const Tail& t) { return statements_.lowerBlock(e.blocks[0], &t, expected); });
  return f.value;
}

Val Expressions::evalIf(const ast::Expr& e, const Ty* expected) {
  if (exitsOf(e).any())
    return context_.fail(Code::E0108, e.span, "an exit inside an expression; make the `if` a statement");
  Boundary here;
  here.kind = Boundary::Kind::Expression;
  const Scoped inside(context_.body.boundary, &here);
  const Tail none{{}, nullptr, context_.frame().scopes.size(), true};
  Flow f = branches_.lowerIf(e, 0, none, expected);
  if (e.blocks.size() == e.args.size() && !f.value.poison() && !f.value.is(Kind::Unit)) f.value = Val::unit(e.span);
  return f.value;
}

}  // namespace tenc::frontend
