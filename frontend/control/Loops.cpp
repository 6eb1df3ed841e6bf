// Loops: counted ones as `for`, those that may be left early and `while` as `while`, compile-time sequences unrolled.
#include <utility>

#include "frontend/Lowering.h"
#include "frontend/names/Scan.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

namespace {
using ir::DType;
using ir::OpKind;
}  // namespace

Lowering::Flow Lowering::lowerTrip(const ast::Stmt& s, const Val* index, const Boundary& carried) {
  Boundary trip = carried;
  trip.kind = Boundary::Kind::Loop;
  trip.wantsValue = false;
  Boundary* outer = std::exchange(boundary_, &trip);
  push();
  if (index) bindPattern(s.pattern, *index, false, nullptr);
  Flow f = lowerBlock(s.body, nullptr, nullptr);
  pop();
  boundary_ = outer;
  return f;
}

/// What the loop walks over: a range of values that may be known at run time only, or a sequence.
Val Lowering::sequenceOf(const ast::Stmt& s) {
  if (!s.hi) {
    Val over = eval(*s.lo);
    if (s.by && over.is(Val::Kind::Range)) over.elems[2] = eval(*s.by);
    return over.is(Val::Kind::Array) ? settle(over) : over;
  }
  Val by = s.by ? eval(*s.by) : Val::ofInt(1, s.span);
  Val lo = eval(*s.lo), hi = eval(*s.hi);
  if (lo.poison() || hi.poison() || by.poison()) return Val::none();
  return Val::ofRange(lo, hi, by, false, Span::cover(s.lo->span, s.hi->span));
}

Lowering::Flow Lowering::lowerFor(const ast::Stmt& s) {
  Flow nothing;
  nothing.value = Val::unit(s.span);
  const Val over = sequenceOf(s);
  if (over.poison()) {
    // The body is looked at once for its own errors, with an unknown index.
    std::set<std::string> names;
    assignedNames(s.body, names);
    Boundary lost;
    visibleVars(names, lost);
    const Val unknown = Val::none();
    lowerTrip(s, &unknown, lost);
    for (Binding* v : lost.vars) v->value = Val::none();
    return nothing;
  }
  using Kind = Val::Kind;
  if (over.is(Kind::List) || over.is(Kind::Tuple) || over.is(Kind::Sequence) || over.is(Kind::Pack)) {
    return unrolled(s, over.elems);
  }
  if (over.is(Kind::Tensor)) {
    ir::Value* rows = over.tensor;
    if (rows->type.shape.empty()) {
      fail(Code::E0203, over.span, "`for` walks over a range, a list or the rows of a tensor, not one number");
      return nothing;
    }
    at(s.span);
    const std::vector<ir::Value*> range = {b().scalarInt(DType::I64, 0), b().scalarInt(DType::I64, rows->type.shape[0]),
                                           b().scalarInt(DType::I64, 1)};
    ir::Dims row(rows->type.shape.begin() + 1, rows->type.shape.end());
    return rangeLoop(s, range, [this, rows, row, &s](ir::Value* i) {
      at(s.pattern.span);
      // Without rows the body is compiled all the same, for its errors, and never runs.
      if (rows->type.shape[0] == 0) { return Val::ofTensor(zerosOf(rows->type.dtype, row), s.pattern.span); }
      ir::Value* part = b().value(OpKind::DynamicSlice, {rows, i}, {{"axes", ir::Dims{0}}, {"sizes", ir::Dims{1}}});
      return Val::ofTensor(b().value(OpKind::Reshape, {part}, {{"shape", row}}), s.pattern.span);
    });
  }
  if (!over.is(Kind::Range)) {
    fail(Code::E0203, over.span, "`for` walks over a range, a list or the rows of a tensor, not " + describe(over));
    return nothing;
  }
  const bool reversed = over.boolean;
  if (over.elems[2].is(Kind::Int) && over.elems[2].integer <= 0) {
    fail(Code::E0204, over.elems[2].span, "the step of a `for` is positive; `rev(a..b)` counts down");
    return nothing;
  }
  if (s.isStatic) {
    auto lo = constInt(over.elems[0], "a bound of a static loop"),
         hi = constInt(over.elems[1], "a bound of a static loop");
    auto by = constInt(over.elems[2], "the step of a static loop");
    if (!lo || !hi || !by) return nothing;
    constexpr uint64_t kMostTrips = 100'000;
    // The distance of two i64 fits u64 only.
    const uint64_t span = *hi > *lo ? static_cast<uint64_t>(*hi) - static_cast<uint64_t>(*lo) : 0;
    const uint64_t step = static_cast<uint64_t>(*by), count = span / step + (span % step != 0 ? 1 : 0);
    if (count > kMostTrips) {
      fail(Code::E0204, over.span, "a static loop of more than 100,000 trips");
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
    ir::Value* t = tensorOf(v, DType::I64);
    if (t && (!ir::isInt(t->type.dtype) || !t->type.shape.empty())) {
      fail(Code::E0203, v.span, "the bounds of `for` are integers, not " + describe(v));
      t = nullptr;
    }
    if (!t) return nothing;
    at(s.span);
    if (t->type.dtype != DType::I64) t = b().value(OpKind::Cast, {t}, {{"dtype", DType::I64}});
    range.push_back(t);
  }
  if (!over.elems[2].is(Kind::Int))  // one below 0 is as wrong as 0, which the loop looks for
    range[2] = b().value(OpKind::Max, {range[2], b().scalarInt(DType::I64, 0)});
  return rangeLoop(s, range, [this, range, reversed, &s](ir::Value* i) {
    if (reversed) {
      at(s.pattern.span);
      ir::Value* last = b().value(OpKind::Sub, {range[1], b().scalarInt(DType::I64, 1)});
      i = b().value(OpKind::Sub, {last, b().value(OpKind::Sub, {i, range[0]})});
    }
    return Val::ofTensor(i, s.pattern.span);
  });
}

Lowering::Flow Lowering::rangeLoop(const ast::Stmt& s, const std::vector<ir::Value*>& range, const TripIndex& index) {
  const Exits exits = exitsOf(s.body);
  if (exits.breaks || exits.returns) {
    at(s.span);
    const std::vector<ir::Value*> checked = {range[0], range[1], ir::Compose(b()).checkedStep(range[2])};
    return exitingLoop(s, &checked, index);
  }
  std::set<std::string> names;
  assignedNames(s.body, names);
  Boundary carried;
  visibleVars(names, carried);
  const std::vector<Val> before = valuesOf(carried.vars);
  std::vector<Val> after =
      loopCarried(range[0], range[1], range[2], before, carried.names, s.span, [&](ir::Value* i, std::vector<Val> now) {
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

Lowering::Flow Lowering::lowerWhile(const ast::Stmt& s) { return exitingLoop(s, nullptr, {}); }

Lowering::Flow Lowering::exitingLoop(const ast::Stmt& s, const std::vector<ir::Value*>* range, const TripIndex& index) {
  const Exits exits = exitsOf(s.body);
  std::set<std::string> names;
  assignedNames(s.body, names);
  Boundary carried;
  visibleVars(names, carried);
  const std::vector<Val> before = valuesOf(carried.vars);
  const size_t n = before.size();
  Flow flow;
  flow.value = Val::unit(s.span);
  Val result;  // zeros of the type that a `return` inside gives, once that is known
  for (int attempt = 0; attempt < 2; ++attempt) {
    at(s.span);
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
    const size_t brokeAt = exits.breaks ? carry(Val::ofTensor(boolConstant(false)), "broke") : kNone;
    const size_t returnedAt = exits.returns ? carry(Val::ofTensor(boolConstant(false)), "returned") : kNone;
    const size_t resultAt = carriesResult ? carry(result, "result") : kNone;
    std::vector<ir::Value*> operands;
    for (const Val& v : initial) leavesOf(v, operands);
    ir::Op* op = b().makeTyped(OpKind::While, operands, {});
    ir::Region* regions[2] = {b().addRegion(op), b().addRegion(op)};
    std::vector<Val> arguments[2];
    for (int r = 0; r < 2; ++r) {
      for (size_t i = 0; i < initial.size(); ++i)
        arguments[r].push_back(argumentsLike(initial[i], regions[r], labels[i]));
    }
    ++regionDepth_;
    inRegion(regions[0], [&] {
      setValues(carried.vars, arguments[0]);
      ir::Value* stop = nullptr;
      for (size_t flag : {brokeAt, returnedAt}) {
        if (flag == kNone) continue;
        ir::Value* v = arguments[0][flag].tensor;
        stop = stop ? b().value(OpKind::Or, {stop, v}) : v;
      }
      ir::Value* go = nullptr;
      auto condition = [&]() -> Val {
        if (range) return Val::ofTensor(b().value(OpKind::Lt, {arguments[0][at0].tensor, (*range)[1]}));
        Boundary expression;
        expression.kind = Boundary::Kind::Expression;
        Boundary* outer = std::exchange(boundary_, &expression);
        Val c = conditionOf(*s.lo, "while");
        boundary_ = outer;
        return c.poison() ? Val::ofBool(false) : c;
      };
      if (stop && !range) {
        go = tensorOf(emitIf(
            stop, s.span, {"the condition"}, [&] { return std::vector{Val::ofTensor(boolConstant(false))}; },
            [&] { return std::vector{Val::ofTensor(tensorOf(condition()))}; })[0]);
      } else {
        go = tensorOf(condition());
        if (stop) go = b().value(OpKind::And, {go, b().value(OpKind::Not, {stop})});
      }
      b().makeTyped(OpKind::Condition, {go}, {});
    });
    std::vector<Val> after;
    Flow trip;
    Val seen;
    inRegion(regions[1], [&] {
      setValues(carried.vars, arguments[1]);
      if (range) {
        const Val i = index(arguments[1][at0].tensor);
        trip = lowerTrip(s, &i, carried);
      } else {
        trip = lowerTrip(s, nullptr, carried);
      }
      after = valuesOf(carried.vars);
      at(s.span);
      auto flag = [&](const Val& v, Exit exit) { return trip.mixed ? v : Val::ofBool(trip.exit == exit); };
      if (range)
        after.push_back(Val::ofTensor(ir::Compose(b()).nextIndex(arguments[1][at0].tensor, (*range)[1], (*range)[2])));
      if (exits.breaks) after.push_back(flag(trip.broke, Exit::Break));
      if (exits.returns) after.push_back(flag(trip.returned, Exit::Return));
      if (trip.mixed)
        seen = trip.result.is(Val::Kind::Unit) ? trip.result : materialise(trip.result);
      else if (trip.exit == Exit::Return)
        seen = materialise(trip.value);
      else
        seen = Val::unit();
      if (carriesResult) after.push_back(seen.is(Val::Kind::Unit) ? arguments[1][resultAt] : seen);
    });
    --regionDepth_;
    if (exits.returns && attempt == 0 && !seen.poison() && !seen.is(Val::Kind::Unit)) {
      // Now the type of what is returned is known: once more, carrying it.
      result = placeholder(seen);
      op->erase();
      setValues(carried.vars, before);
      continue;
    }
    std::vector<ir::Value*> yields = carriedYields(initial, arguments[1], after, labels, regions[1], s.span);
    yield(regions[1], yields);
    at(s.span);
    std::vector<Val> results = carriedResults(op, initial, after, labels);
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

Lowering::Flow Lowering::unrolled(const ast::Stmt& s, const std::vector<Val>& trips) {
  ++staticLoops_;
  Flow f;
  f.value = Val::unit(s.span);
  if (!exitsOf(s.body).any()) {
    for (const Val& trip : trips) {
      if (spent(s.span)) break;
      lowerTrip(s, &trip, {});
    }
  } else {
    std::set<std::string> names;
    assignedNames(s.body, names);
    Boundary whole;
    whole.kind = Boundary::Kind::Region;
    whole.wantsValue = false;
    visibleVars(names, whole);
    Boundary* outer = std::exchange(boundary_, &whole);
    f = unrolledFrom(s, trips, 0, whole);
    boundary_ = outer;
    f.done = false;
    if (f.exit == Exit::Break) f.exit = Exit::Falls;
    f.broke = f.continued = Val::ofBool(false);
    if (!f.mayReturn()) f.mixed = false;
    if (f.exit == Exit::Falls) f.value = Val::unit(s.span);
  }
  --staticLoops_;
  return f;
}

Lowering::Flow Lowering::unrolledFrom(const ast::Stmt& s, const std::vector<Val>& trips, size_t from, Boundary& whole) {
  Flow f;
  f.value = Val::unit(s.span);
  f.done = true;
  for (size_t i = from; i < trips.size() && !spent(s.span); ++i) {
    Flow trip = lowerTrip(s, &trips[i], whole);
    if (trip.mixed) return resumeWith(trip, false, [&] { return unrolledFrom(s, trips, i + 1, whole); });
    if (trip.exit == Exit::Break || trip.exit == Exit::Return) {
      trip.done = true;
      return trip;
    }
  }
  return f;
}

}  // namespace tenc::frontend
