// Loops: counted ones as `for`, those that may be left early and `while` as `while`, compile-time sequences unrolled.
#include "frontend/control/Loops.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/control/Bindings.h"
#include "frontend/control/Branches.h"
#include "frontend/control/Continuations.h"
#include "frontend/control/Flow.h"
#include "frontend/control/Regions.h"
#include "frontend/control/Statements.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

namespace {
using ir::DType;
using ir::OpKind;
}  // namespace

Flow Loops::lowerTrip(const ast::Stmt& s, const Val* index, const Boundary& carried) {
  Boundary trip = carried;
  trip.kind = Boundary::Kind::Loop;
  trip.wantsValue = false;
  const Scoped inside(context_.body.boundary, &trip);
  const BlockScope names(context_.frame());
  if (index) bindings_.bindPattern(s.pattern, *index, false, nullptr);
  return statements_.lowerBlock(s.body, nullptr, nullptr);
}

/// What the loop walks over: a range of values that may be known at run time only, or a sequence.
Val Loops::sequenceOf(const ast::Stmt& s) {
  if (!s.hi) {
    Val over = expressions_.eval(*s.lo);
    if (s.by && over.is(Val::Kind::Range)) over.elems.edit()[2] = expressions_.eval(*s.by);
    return over.is(Val::Kind::Array) ? tensors_.settle(over) : over;
  }
  Val by = s.by ? expressions_.eval(*s.by) : Val::ofInt(1, s.span);
  Val lo = expressions_.eval(*s.lo), hi = expressions_.eval(*s.hi);
  if (lo.poison() || hi.poison() || by.poison()) return context_.lost();
  return Val::ofRange(lo, hi, by, false, Span::cover(s.lo->span, s.hi->span));
}

Flow Loops::lowerFor(const ast::Stmt& s) {
  Flow nothing;
  nothing.value = Val::unit(s.span);
  const Val over = sequenceOf(s);
  if (over.poison()) {
    // The body is looked at once for its own errors, with an unknown index.
    Boundary lost;
    scopes_.assignedIn(s.body.span, lost);
    const Val unknown = context_.lost();
    lowerTrip(s, &unknown, lost);
    for (Binding* v : lost.vars) v->value = context_.lost();
    return nothing;
  }
  using Kind = Val::Kind;
  if (over.is(Kind::List) || over.is(Kind::Tuple) || over.is(Kind::Sequence) || over.is(Kind::Pack)) {
    return unrolled(s, over.elems);
  }
  if (over.is(Kind::Tensor)) {
    ir::Value* rows = over.tensor;
    if (rows->type.shape.empty()) {
      context_.fail(Code::E0203, over.span,
                    "`for` iterates over a range, a list or the rows of a tensor, not one number");
      return nothing;
    }
    context_.at(s.span);
    const std::vector<ir::Value*> range = {context_.b().scalarInt(DType::I64, 0),
                                           context_.b().scalarInt(DType::I64, rows->type.shape[0]),
                                           context_.b().scalarInt(DType::I64, 1)};
    ir::Dims row(rows->type.shape.begin() + 1, rows->type.shape.end());
    return rangeLoop(s, range, [this, rows, row, &s](ir::Value* i) {
      context_.at(s.pattern.span);
      // Without rows the body is compiled all the same, for its errors, and never runs.
      if (rows->type.shape[0] == 0) { return Val::ofTensor(tensors_.zerosOf(rows->type.dtype, row), s.pattern.span); }
      ir::Value* part =
          context_.b().value(OpKind::DynamicSlice, {rows, i}, {{"axes", ir::Dims{0}}, {"sizes", ir::Dims{1}}});
      return Val::ofTensor(context_.b().value(OpKind::Reshape, {part}, {{"shape", row}}), s.pattern.span);
    });
  }
  if (!over.is(Kind::Range)) {
    context_.fail(Code::E0203, over.span,
                  "`for` iterates over a range, a list or the rows of a tensor, not " + describe(over));
    return nothing;
  }
  const bool reversed = over.boolean;
  if (over.elems[2].is(Kind::Int) && over.elems[2].integer <= 0) {
    context_.fail(Code::E0204, over.elems[2].span, "the step of a `for` must be positive; `rev(a..b)` counts down");
    return nothing;
  }
  if (s.isStatic) {
    auto lo = evaluator_.constInt(over.elems[0], "a bound of a static loop"),
         hi = evaluator_.constInt(over.elems[1], "a bound of a static loop");
    auto by = evaluator_.constInt(over.elems[2], "the step of a static loop");
    if (!lo || !hi || !by) return nothing;
    constexpr uint64_t kMostTrips = 100'000;
    // The distance of two i64 fits u64 only.
    const uint64_t span = *hi > *lo ? static_cast<uint64_t>(*hi) - static_cast<uint64_t>(*lo) : 0;
    const uint64_t step = static_cast<uint64_t>(*by), count = span / step + (span % step != 0 ? 1 : 0);
    if (count > kMostTrips) {
      context_.fail(Code::E0204, over.span, "a static loop of more than 100,000 trips");
      return nothing;
    }
    std::vector<Val> trips;
    for (uint64_t k = 0; k < count; ++k) {
      const auto along = static_cast<int64_t>(k * step);
      trips.push_back(Val::ofInt(reversed ? *hi - 1 - along : *lo + along, s.pattern.span));
    }
    return unrolled(s, trips);
  }
  std::vector<ir::Value*> range;
  for (const Val& v : over.elems) {
    ir::Value* t = tensors_.tensorOf(v, DType::I64);
    if (t && (!ir::isInt(t->type.dtype) || !t->type.shape.empty())) {
      context_.fail(Code::E0203, v.span, "the bounds of `for` must be integers, not " + describe(v));
      t = nullptr;
    }
    if (!t) return nothing;
    context_.at(s.span);
    if (t->type.dtype != DType::I64) t = context_.b().value(OpKind::Cast, {t}, {{"dtype", DType::I64}});
    range.push_back(t);
  }
  if (!over.elems[2].is(Kind::Int))  // one below 0 is as wrong as 0, which the loop looks for
    range[2] = context_.b().value(OpKind::Max, {range[2], context_.b().scalarInt(DType::I64, 0)});
  return rangeLoop(s, range, [this, range, reversed, &s](ir::Value* i) {
    if (reversed) {
      context_.at(s.pattern.span);
      ir::Value* last = context_.b().value(OpKind::Sub, {range[1], context_.b().scalarInt(DType::I64, 1)});
      i = context_.b().value(OpKind::Sub, {last, context_.b().value(OpKind::Sub, {i, range[0]})});
    }
    return Val::ofTensor(i, s.pattern.span);
  });
}

Flow Loops::rangeLoop(const ast::Stmt& s, const std::vector<ir::Value*>& range, const TripIndex& index) {
  const Exits exits = exitsOf(s.body);
  if (exits.breaks || exits.returns) {
    context_.at(s.span);
    const std::vector<ir::Value*> checked = {range[0], range[1], ir::Compose(context_.b()).checkedStep(range[2])};
    return exitingLoop(s, &checked, index);
  }
  Boundary carried;
  scopes_.assignedIn(s.body.span, carried);
  const std::vector<Val> before = valuesOf(carried.vars);
  std::vector<Val> after = regions_.loopCarried(range[0], range[1], range[2], before, carried.names, s.span,
                                                [&](ir::Value* i, const std::vector<Val>& now) {
                                                  setValues(carried.vars, now);
                                                  const Val trip = index(i);
                                                  lowerTrip(s, &trip, carried);
                                                  return valuesOf(carried.vars);
                                                });
  setValues(carried.vars, after);
  Flow f;
  f.value = Val::unit(s.span);
  return f;
}

Flow Loops::lowerWhile(const ast::Stmt& s) { return exitingLoop(s, nullptr, {}); }

Flow Loops::exitingLoop(const ast::Stmt& s, const std::vector<ir::Value*>* range, const TripIndex& index) {
  const Exits exits = exitsOf(s.body);
  std::vector<Span> assigning = {s.body.span};
  auto condition = [&]() -> Val {
    Boundary expression;
    expression.kind = Boundary::Kind::Expression;
    const Scoped inside(context_.body.boundary, &expression);
    Val c = branches_.conditionOf(*s.lo, "while");
    return c.poison() ? Val::ofBool(false) : c;
  };
  // The region of a condition hands nothing on: one that assigns is evaluated before the loop and behind each trip.
  Val first;
  if (!range) {
    if (!context_.frame().unit->resolution->assigned(s.lo->span).empty()) first = condition();
    assigning.push_back(s.lo->span);
  }
  const bool assigningCondition = !first.poison();
  Boundary carried;
  scopes_.assignedIn(assigning, carried);
  const std::vector<Val> before = valuesOf(carried.vars);
  const size_t n = before.size();
  Flow flow;
  flow.value = Val::unit(s.span);
  Val result;  // zeros of the type that a `return` inside gives, once that is known
  for (int attempt = 0; attempt < 2; ++attempt) {
    context_.at(s.span);
    const bool carriesResult = exits.returns && attempt == 1;
    // Carried: the variables, then [i], [broke], [returned, result].
    std::vector<Val> initial = before;
    std::vector<std::string> labels = carried.names;
    auto carry = [&](Val v, const char* label) {
      initial.push_back(std::move(v));
      labels.push_back(label);
      return initial.size() - 1;
    };
    constexpr size_t kNone = ~size_t{0};
    const size_t at0 = range ? carry(Val::ofTensor((*range)[0]), "i") : kNone;
    const size_t brokeAt = exits.breaks ? carry(Val::ofTensor(context_.b().scalarInt(DType::Bool, 0)), "broke") : kNone;
    const size_t returnedAt =
        exits.returns ? carry(Val::ofTensor(context_.b().scalarInt(DType::Bool, 0)), "returned") : kNone;
    const size_t resultAt = carriesResult ? carry(result, "result") : kNone;
    const size_t goesOnAt = assigningCondition ? carry(Val::ofTensor(tensors_.tensorOf(first)), "goes on") : kNone;
    std::vector<ir::Value*> operands;
    for (const Val& v : initial) leavesOf(v, operands);
    ir::Op* op = context_.b().makeTyped(OpKind::While, operands, {});
    ir::Region* regions[2] = {context_.b().addRegion(op), context_.b().addRegion(op)};
    std::vector<Val> arguments[2];
    for (int r = 0; r < 2; ++r) {
      for (size_t i = 0; i < initial.size(); ++i)
        arguments[r].push_back(argumentsLike(initial[i], regions[r], labels[i]));
    }
    std::optional<Scoped<int>> deeper(std::in_place, context_.body.regionDepth, context_.body.regionDepth + 1);
    context_.inRegion(regions[0], [&] {
      setValues(carried.vars, arguments[0]);
      ir::Value* stop = nullptr;
      for (size_t flag : {brokeAt, returnedAt}) {
        if (flag == kNone) continue;
        ir::Value* v = arguments[0][flag].tensor;
        stop = stop ? context_.b().value(OpKind::Or, {stop, v}) : v;
      }
      ir::Value* go = nullptr;
      if (assigningCondition) {
        go = arguments[0][goesOnAt].tensor;
      } else if (stop && !range) {
        go = tensors_.tensorOf(regions_.emitIf(
            stop, s.span, {"the condition"},
            [&] { return std::vector{Val::ofTensor(context_.b().scalarInt(DType::Bool, 0))}; },
            [&] { return std::vector{Val::ofTensor(tensors_.tensorOf(condition()))}; })[0]);
      } else {
        go = range ? context_.b().value(OpKind::Lt, {arguments[0][at0].tensor, (*range)[1]})
                   : tensors_.tensorOf(condition());
        if (stop) go = context_.b().value(OpKind::And, {go, context_.b().value(OpKind::Not, {stop})});
      }
      context_.b().makeTyped(OpKind::Condition, {go}, {});
    });
    std::vector<Val> after;
    Flow trip;
    Val seen;
    context_.inRegion(regions[1], [&] {
      setValues(carried.vars, arguments[1]);
      if (range) {
        const Val i = index(arguments[1][at0].tensor);
        trip = lowerTrip(s, &i, carried);
      } else {
        trip = lowerTrip(s, nullptr, carried);
      }
      auto flag = [&](const Val& v, Exit exit) { return trip.mixed ? v : Val::ofBool(trip.exit == exit); };
      Val goesOn;
      if (assigningCondition) {
        goesOn =
            conditionBehind(s, {flag(trip.broke, Exit::Break), flag(trip.returned, Exit::Return)}, carried, condition);
      }
      after = valuesOf(carried.vars);
      context_.at(s.span);
      if (range)
        after.push_back(
            Val::ofTensor(ir::Compose(context_.b()).nextIndex(arguments[1][at0].tensor, (*range)[1], (*range)[2])));
      if (exits.breaks) after.push_back(flag(trip.broke, Exit::Break));
      if (exits.returns) after.push_back(flag(trip.returned, Exit::Return));
      if (trip.mixed)
        seen = trip.result.is(Val::Kind::Unit) ? trip.result : tensors_.materialise(trip.result);
      else if (trip.exit == Exit::Return)
        seen = tensors_.materialise(trip.value);
      else
        seen = Val::unit();
      if (carriesResult) after.push_back(seen.is(Val::Kind::Unit) ? arguments[1][resultAt] : seen);
      if (assigningCondition) after.push_back(goesOn);
    });
    deeper.reset();
    if (exits.returns && attempt == 0 && !seen.poison() && !seen.is(Val::Kind::Unit)) {
      // Now the type of what is returned is known: once more, carrying it.
      result = regions_.placeholder(seen);
      op->erase();
      setValues(carried.vars, before);
      continue;
    }
    std::vector<ir::Value*> yields = regions_.carriedYields(initial, arguments[1], after, labels, regions[1], s.span);
    regions_.yield(regions[1], yields);
    context_.at(s.span);
    std::vector<Val> results = regions_.carriedResults(op, initial, after, labels);
    setValues(carried.vars, std::vector<Val>(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(n)));
    // A `return` that no trip comes to leaves the loop to fall through.
    if (exits.returns && trip.mayReturn()) {
      flow.mixed = true;
      flow.broke = flow.continued = Val::ofBool(false);
      flow.returned = results[returnedAt];
      flow.result = carriesResult ? results[resultAt] : Val::unit();
    }
    break;
  }
  return flow;
}

Val Loops::conditionBehind(const ast::Stmt& s, const std::vector<Val>& left, const Boundary& carried,
                           const std::function<Val()>& condition) {
  ir::Value* stop = nullptr;
  for (const Val& v : left) {
    if (v.is(Val::Kind::Bool) && v.boolean) return Val::ofBool(false);
    if (!v.is(Val::Kind::Tensor)) continue;
    stop = stop ? context_.b().value(OpKind::Or, {stop, v.tensor}) : v.tensor;
  }
  if (!stop) return condition();
  const std::vector<Val> before = valuesOf(carried.vars);
  std::vector<std::string> labels;
  for (const std::string& n : carried.names) labels.push_back("`" + n + "`");
  labels.push_back("the condition");
  const auto branch = [&](bool stopped) {
    setValues(carried.vars, before);
    Val goesOn = stopped ? Val::ofBool(false) : condition();
    std::vector<Val> values = valuesOf(carried.vars);
    values.push_back(std::move(goesOn));
    return values;
  };
  const std::vector<Val> merged =
      regions_.emitIf(stop, s.span, labels, [&] { return branch(true); }, [&] { return branch(false); });
  setValues(carried.vars, merged);
  return merged.back();
}

Flow Loops::unrolled(const ast::Stmt& s, const std::vector<Val>& trips) {
  const Scoped unrolling(context_.body.staticLoops, context_.body.staticLoops + 1);
  Flow f;
  f.value = Val::unit(s.span);
  if (!exitsOf(s.body).any()) {
    for (const Val& trip : trips) {
      if (context_.spent(s.span)) break;
      lowerTrip(s, &trip, {});
    }
  } else {
    Boundary whole;
    whole.kind = Boundary::Kind::Region;
    whole.wantsValue = false;
    scopes_.assignedIn(s.body.span, whole);
    {
      const Scoped inside(context_.body.boundary, &whole);
      f = unrolledFrom(s, trips, 0, whole);
    }
    f.done = false;
    if (f.exit == Exit::Break) f.exit = Exit::Falls;
    f.broke = f.continued = Val::ofBool(false);
    if (!f.mayReturn()) f.mixed = false;
    if (f.exit == Exit::Falls) f.value = Val::unit(s.span);
  }
  return f;
}

Flow Loops::unrolledFrom(const ast::Stmt& s, const std::vector<Val>& trips, size_t from, Boundary& whole) {
  Flow f;
  f.value = Val::unit(s.span);
  f.done = true;
  for (size_t i = from; i < trips.size() && !context_.spent(s.span); ++i) {
    Flow trip = lowerTrip(s, &trips[i], whole);
    if (trip.mixed) return continuations_.resumeWith(trip, false, [&] { return unrolledFrom(s, trips, i + 1, whole); });
    if (trip.exit == Exit::Break || trip.exit == Exit::Return) {
      trip.done = true;
      return trip;
    }
  }
  return f;
}

}  // namespace tenc::frontend
