// Loops: counted ones as `for`, those that may be left early and `while` as `while`, compile-time sequences unrolled.
#include "frontend/control/Loops.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
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
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

namespace {
using ir::DType;
using ir::OpKind;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
}  // namespace

Flow Loops::lowerTrip(const ast::Stmt& s, const Val* index, const Boundary& carried) {
  Boundary trip = carried;
  trip.kind = Boundary::Kind::Loop;
  trip.wantsValue = false;
  const Scoped inside(context_.body.boundary, &trip);
  const BlockScope names(context_.frame());
  // Bound in the block, as a `let` would: what is from outside of an annotation around it enters.
  if (index) bindings_.bindPattern(s.pattern, placing_.enterAnnotation(*index), false, nullptr);
  return statements_.lowerBlock(s.body, nullptr, nullptr);
}

/// What the loop walks over: a range of values that may be known at run time only, or a sequence.
Val Loops::sequenceOf(const ast::Stmt& s) {
  if (!s.hi) {
    Val over = expressions_.eval(*s.lo);
    if (s.by && over.is(Val::Kind::Range)) over.elems.edit()[2] = expressions_.eval(*s.by);
    if (!over.is(Val::Kind::Array)) return over;
    // Unrolled, what is known about an element is known in its trip.
    if (s.isStatic) return Val::ofSequence(over.elems, over.span);
    return tensors_.settle(over);
  }
  Val lo = expressions_.eval(*s.lo), hi = expressions_.eval(*s.hi);
  Val by = s.by ? expressions_.eval(*s.by) : Val::ofInt(1, s.span);
  if (lo.poison() || hi.poison() || by.poison()) return context_.lost();
  return Val::ofRange(lo, hi, by, false, Span::cover(s.lo->span, s.hi->span));
}

Flow Loops::lowerFor(const ast::Stmt& s) {
  Flow nothing;
  nothing.value = Val::unit(s.span);
  bindings_.warnHidden(s);
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
    const Range range{context_.b().scalarInt(DType::I64, 0), context_.b().scalarInt(DType::I64, rows->type.shape[0]),
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
  return countedLoop(s, over);
}

ir::Value* Loops::boundOf(const Val& v) {
  ir::Value* t = tensors_.tensorOf(v, DType::I64);
  if (!t || (ir::isInt(t->type.dtype) && t->type.shape.empty())) return t;
  context_.fail(Code::E0203, v.span, "the bounds of `for` must be integers, not " + describe(v));
  return nullptr;
}

ir::Value* Loops::within(ir::Value* bound) {
  ir::Compose c(context_.b());
  if (bound->type.dtype == DType::U64) bound = c.binary(OpKind::Min, bound, c.literalInt(bound, kMost));
  return c.cast(bound, DType::I64);
}

bool Loops::checkBounds(const ast::Stmt& s, const Val& over, ir::Value* lo, ir::Value* hi) {
  const bool reversed = over.boolean, exits = exitsOf(s.body).breaks || exitsOf(s.body).returns;
  if (hi->type.dtype != DType::U64) return true;  // what starts beyond i64 has no trip
  // The first index of a loop that counts down, and the last of one that nothing ends before.
  const bool getsThere = reversed || !exits;
  const Val &from = over.elems[0], &to = over.elems[1];
  if (from.is(Val::Kind::Int) && to.is(Val::Kind::Int)) {
    if (to.integer <= kMost || from.integer >= to.integer || (!getsThere && from.integer <= kMost)) return true;
    context_.error(Code::E0212, to.span,
                   "the index of a `for` is an i64, and does not count to " + toString(to.integer));
    return false;
  }
  ir::Compose c(context_.b());
  ir::Value* bad = beyond(hi);
  if (lo->type.dtype == DType::U64) {
    bad = c.binary(OpKind::And, bad, c.binary(OpKind::Lt, lo, hi));
    if (!getsThere) bad = c.binary(OpKind::And, bad, beyond(lo));
  } else if (!getsThere) {
    return true;
  }
  stopIf(bad, {"the index of a `for` is an i64, and does not count to ", ""}, hi);
  return true;
}

bool Loops::checkStep(const Val& written, ir::Value* by) {
  if (by->type.dtype != DType::U64) return true;
  if (!written.is(Val::Kind::Int)) {
    stopIf(beyond(by), {"the step of a `for` is an i64, not ", ""}, by);
    return true;
  }
  if (written.integer <= kMost) return true;
  context_.error(Code::E0212, written.span, "the step of a `for` is an i64, not " + toString(written.integer));
  return false;
}

ir::Value* Loops::beyond(ir::Value* bound) {
  ir::Compose c(context_.b());
  return c.binary(OpKind::Gt, bound, c.literalInt(bound, kMost));
}

void Loops::stopIf(ir::Value* bad, std::vector<std::string> pieces, ir::Value* value) {
  context_.b().makeTyped(OpKind::Assert, {context_.b().value(OpKind::Not, {bad}), value}, {},
                         {{"pieces", std::move(pieces)}, {"formats", std::vector<std::string>{""}}});
}

Flow Loops::countedLoop(const ast::Stmt& s, const Val& over) {
  Flow nothing;
  nothing.value = Val::unit(s.span);
  ir::Value *lo = boundOf(over.elems[0]), *hi = lo ? boundOf(over.elems[1]) : nullptr;
  ir::Value* by = hi ? boundOf(over.elems[2]) : nullptr;
  if (!by) return nothing;
  context_.at(over.span);
  if (!checkBounds(s, over, lo, hi) || !checkStep(over.elems[2], by)) return nothing;
  context_.at(s.span);
  ir::Compose c(context_.b());
  Range range{within(lo), within(hi), within(by)};
  const Val& end = over.elems[1];
  if (hi->type.dtype == DType::U64 && !(end.is(Val::Kind::Int) && end.integer <= kMost)) range.written = hi;
  if (!over.elems[2].is(Val::Kind::Int))  // one below 0 is as wrong as 0, which the loop looks for
    range.by = c.binary(OpKind::Max, range.by, c.literalInt(range.by, 0));
  return rangeLoop(s, range, [this, range, reversed = over.boolean, &s](ir::Value* i) {
    if (reversed) {
      context_.at(s.pattern.span);
      ir::Value* last = context_.b().value(OpKind::Sub, {range.hi, context_.b().scalarInt(DType::I64, 1)});
      i = context_.b().value(OpKind::Sub, {last, context_.b().value(OpKind::Sub, {i, range.lo})});
    }
    return Val::ofTensor(i, s.pattern.span);
  });
}

Flow Loops::rangeLoop(const ast::Stmt& s, const Range& range, const TripIndex& index) {
  const Exits exits = exitsOf(s.body);
  if (exits.breaks || exits.returns) {
    context_.at(s.span);
    Range checked = range;
    checked.by = ir::Compose(context_.b()).checkedStep(range.by);
    return exitingLoop(s, &checked, index);
  }
  Boundary carried;
  scopes_.assignedIn(s.body.span, carried);
  const std::vector<Val> before = valuesOf(carried.vars);
  std::vector<Val> after = regions_.loopCarried(range.lo, range.hi, range.by, before, carried.names, s.span,
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

Flow Loops::unrolled(const ast::Stmt& s, const std::vector<Val>& trips) {
  const Scoped unrolling(context_.body.staticLoops, context_.body.staticLoops + 1);
  Flow f;
  f.value = Val::unit(s.span);
  context_.coverage.isUnrolled(s);
  if (trips.empty()) context_.coverage.hasNoTrips(s);
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
      f = unrolledFrom(s, trips, whole);
    }
    f.done = false;
    if (f.exit == Exit::Break) f.exit = Exit::Falls;
    f.broke = f.continued = Val::ofBool(false);
    if (!f.mayReturn()) f.mixed = false;
    if (f.exit == Exit::Falls) f.value = Val::unit(s.span);
  }
  return f;
}

Flow Loops::unrolledFrom(const ast::Stmt& s, std::span<const Val> trips, const Boundary& whole) {
  // What follows a trip that may leave becomes a part of its branches, one in the other: too many would nest too
  // deeply, and half of them are compiled apart.
  constexpr size_t kMostNested = 32;
  Flow f;
  f.value = Val::unit(s.span);
  f.done = true;
  const bool halves = trips.size() > kMostNested;
  while (!trips.empty() && !context_.spent(s.span)) {
    const size_t now = halves ? std::max<size_t>(trips.size() / 2, 1) : 1;
    Flow made;
    if (now > 1) {
      Boundary half = whole;
      const Scoped inside(context_.body.boundary, &half);
      made = unrolledFrom(s, trips.first(now), half);
    } else {
      made = lowerTrip(s, &trips[0], whole);
    }
    trips = trips.subspan(now);
    if (made.mixed) return continuations_.resumeWith(made, false, [&] { return unrolledFrom(s, trips, whole); });
    if (made.exit == Exit::Break || made.exit == Exit::Return) {
      made.done = true;
      return made;
    }
  }
  return f;
}

}  // namespace tenc::frontend
