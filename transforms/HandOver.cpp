#include "transforms/HandOver.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "ir/Loops.h"
#include "ir/build/Compose.h"
#include "support/InternalError.h"
#include "transforms/Residuals.h"

namespace tenc::transforms {

using ir::Dims;
using ir::DType;
using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;

namespace {

using Values = std::vector<Value*>;

/// Uses of the value by linear code, which stands in another function.
std::vector<Value::Use> linearUses(const Value& v) {
  const ir::Func* own = v.home()->func;
  std::vector<Value::Use> uses;
  for (const Value::Use& use : v.uses) {
    if (use.user->func() != own) uses.push_back(use);
  }
  return uses;
}

bool isRead(const Value& v) {
  const ir::Func* own = v.home()->func;
  return std::any_of(v.uses.begin(), v.uses.end(), [&](const Value::Use& use) { return use.user->func() != own; });
}

void redirect(const std::vector<Value::Use>& uses, Value* to) {
  for (const Value::Use& use : uses) use.user->setOperand(use.operand, to);
}

/// A number is made anew before each op that reads it.
void remake(Value& v) {
  for (const Value::Use& use : linearUses(v)) {
    ir::Builder at(use.user);
    at.setLoc(v.op->loc);
    ir::ValueMap none;
    use.user->setOperand(use.operand, ir::clone(*v.op, at, none)->result());
  }
}

/// What linear code reads of a region, in its order.
Values readOf(const ir::Region& region) {
  Values read;
  const auto look = [&](Value& v) {
    if (!isRead(v)) return;
    if (isNumber(v)) return remake(v);
    read.push_back(&v);
  };
  for (const auto& v : region.args) look(*v);
  for (const auto& op : region.ops) {
    for (const auto& v : op->results) look(*v);
  }
  return read;
}

bool isPlacedApart(const Op& op) {
  for (const Op* outer = op.parent->parentOp; outer != nullptr; outer = outer->parent->parentOp) {
    if (outer->kind == OpKind::On) return true;
  }
  return false;
}

/// What it costs to keep a value that others may keep, too.
int64_t oftenThere(const ir::Type& t) {
  const int64_t whole = costOfBytes(t);
  return whole - whole / 4;
}

/// The value without checks of where it is.
const Value* unchecked(const Value* v) {
  while (v->op != nullptr && (v->op->kind == OpKind::SamePlace || v->op->kind == OpKind::CheckPlace))
    v = v->op->operand(0);
  return v;
}

/// Linear code runs where its operands live and in no `on`: there nothing is computed again, as operands of an op enter
/// the region.
ResidualChoice choose(const ir::Region& region, const Values& read, int64_t times, const KeepingCost& cost) {
  if (region.parentOp != nullptr && isPlacedApart(*region.parentOp)) return {read, {}};
  return chooseResiduals(region, read, times, cost);
}

/// Linear code reads `kept` by what stands for it, and the rest is computed from that at `at`. What is kept from
/// outside the region stands for itself, until the region around is handed over.
void handOver(const ResidualChoice& choice, const Values& read, ir::Builder& at,
              const std::function<Value*(Value&)>& keep) {
  ir::ValueMap stands;
  for (Value* v : choice.kept) {
    const std::vector<Value::Use> uses = linearUses(*v);
    stands[v] = keep(*v);
    if (stands[v] != v) redirect(uses, stands[v]);
  }
  for (const Op* op : choice.repeated) {
    at.setLoc(op->loc);
    for (Value* operand : op->operands()) {
      if (!isNumber(*operand) || stands.contains(operand)) continue;
      ir::ValueMap none;
      stands[operand] = ir::clone(*operand->op, at, none)->result();
    }
    ir::clone(*op, at, stands)->origin = OriginScope::kDerivative;
  }
  for (Value* v : read) {
    if (const auto again = stands.find(v); again != stands.end() && again->second != v)
      redirect(linearUses(*v), again->second);
  }
  // What was made for linear code alone goes.
  for (auto it = choice.repeated.rbegin(); it != choice.repeated.rend(); ++it) {
    const Op& op = **it;
    if (op.result()->unused() && !op.has(Trait::CanFault)) op.result()->op->erase();
  }
}

/// The value of every trip in one tensor, as a further result of the loop; `last`, if it is given, is one more entry.
Value* stack(Op& loop, Value& v, Value* last) {
  ir::Region& body = *loop.regions[0];
  const int64_t lo = *ir::constantInt(loop.operand(0)), step = *ir::constantInt(loop.operand(2));
  ir::Builder before(&loop);
  before.setLoc(loop.loc);
  Dims shape = v.type.shape, row = shape;
  const int64_t trips = *ir::tripCount(loop);
  // A row even where there is no trip: the body writes one.
  shape.insert(shape.begin(), last != nullptr ? trips + 1 : std::max<int64_t>(trips, 1));
  row.insert(row.begin(), 1);
  ir::Compose outside(before);
  // Without a place: it lives where what is written into it does.
  loop.addOperand(outside.broadcastTo(outside.literal(&v, 0), shape));
  Value* carried = body.addArg({v.type.dtype, shape, {}}, v.name);
  ir::Builder write(body.terminator());
  write.setLoc(loop.loc);
  ir::Compose w(write);
  Value* at = body.args[0].get();
  if (lo != 0) at = w.sub(at, write.scalarInt(DType::I64, lo));
  if (step != 1) at = w.binary(OpKind::FloorDiv, at, write.scalarInt(DType::I64, step));
  // A number is written and read as an element, so that a loop over numbers stays one.
  Value* written = v.type.shape.empty()
                       ? write.value(OpKind::Scatter, {carried, &v, at},
                                     {{"axes", Dims{0}}, {"at", int64_t{0}}, {"mode", std::string("set")}})
                       : write.value(OpKind::DynamicUpdate, {carried, w.reshape(&v, row), at}, {{"axes", Dims{0}}});
  written->op->set(kKeptOfTrips, true);
  body.terminator()->addOperand(written);
  Value* all = loop.addResult({v.type.dtype, shape, {}}, v.name);
  if (last == nullptr) return all;
  ir::Builder behind(std::next(loop.self)->get());
  behind.setLoc(loop.loc);
  Dims starts(shape.size(), 0);
  starts[0] = trips;
  return behind.value(OpKind::UpdateSlice, {all, ir::Compose(behind).reshape(last, row)},
                      {{"starts", starts}, {"steps", Dims(shape.size(), 1)}});
}

/// What a loop keeps of every trip. What is carried is what the trip before made: where both are kept, one tensor has
/// both.
class Stacks {
 public:
  Stacks(Op& loop, const Values& kept) : loop_(loop) {
    const ir::Region& body = *loop.regions[0];
    const auto isKept = [&](const Value* v) { return std::find(kept.begin(), kept.end(), v) != kept.end(); };
    for (size_t i = 0; i + 1 < body.args.size(); ++i) {
      const Value* made = unchecked(body.terminator()->operand(i));
      Value* carried = body.args[1 + i].get();
      if (made->op == nullptr || !isKept(made) || !isKept(carried)) continue;
      if (carriedAs_.try_emplace(made, carried).second) last_[carried] = loop.result(i);
    }
  }

  struct Rows {
    Value* all;
    bool later;  ///< the value of a trip is in the row of the next one
  };
  Rows of(Value& v) {
    const auto carried = carriedAs_.find(&v);
    Value* kept = carried != carriedAs_.end() ? carried->second : &v;
    Value*& all = all_[kept];
    if (all == nullptr) {
      const auto last = last_.find(kept);
      all = stack(loop_, *kept, last != last_.end() ? last->second : nullptr);
    }
    return {all, kept != &v};
  }

 private:
  Op& loop_;
  std::unordered_map<const Value*, Value*> carriedAs_;  ///< by what a trip makes
  std::unordered_map<const Value*, Value*> last_;       ///< by what is carried: the loop's result
  std::unordered_map<const Value*, Value*> all_;
};

}  // namespace

void HandOver::run(LinearizedFunc& made) {
  const OriginScope derivative(*made.forward->module);
  regionsOf(*made.forward->body);
  residuals(made);
}

void HandOver::regionsOf(ir::Region& region) {
  std::vector<Op*> ops;
  for (const auto& op : region.ops) ops.push_back(op.get());
  for (Op* op : ops) {
    for (size_t r = 0; r < op->regions.size(); ++r) {
      regionsOf(*op->regions[r]);
      this->region(*op, r);
    }
  }
}

void HandOver::region(Op& op, size_t r) {
  const Values read = readOf(*op.regions[r]);
  if (read.empty()) return;
  switch (op.kind) {
    case OpKind::For: return loop(op, read);
    case OpKind::If: return branch(op, r, read);
    case OpKind::On:
      for (Value* v : read) {
        const std::vector<Value::Use> uses = linearUses(*v);
        op.regions[0]->terminator()->addOperand(v);
        redirect(uses, op.addResult(withoutPlace(v->type), v->name));
      }
      return;
    default: throw InternalError("linear code reads a value in a region of `" + std::string(op.info().mnemonic) + "`");
  }
}

void HandOver::branch(Op& op, size_t r, const Values& read) {
  ir::Region& from = *op.regions[r];
  const auto cost = [&](const Value& v) { return !v.home()->isInside(op) && isRead(v) ? 0 : costOfBytes(v.type); };
  ir::Builder at(linearOf_.at(&op)->regions[r]->ops.front().get());
  handOver(choose(from, read, 1, cost), read, at, [&](Value& v) {
    if (!v.home()->isInside(op)) return &v;
    from.terminator()->addOperand(&v);
    Dims kept = op.intsAttr(kKeptOfBranches);
    kept.resize(op.results.size(), -1);
    kept.push_back(static_cast<int64_t>(r));
    op.set(kKeptOfBranches, kept);
    // Nobody reads what the other branch gives; it lives where this one does.
    ir::Builder other(op.regions[1 - r]->terminator());
    ir::Compose c(other);
    op.regions[1 - r]->terminator()->addOperand(c.broadcastTo(c.literal(&v, 0), v.type.shape));
    return op.addResult(withoutPlace(v.type), v.name);
  });
}

/// Out of a loop come what every trip makes alike, the number of the trip, and what is kept of every trip.
void HandOver::loop(Op& op, const Values& read) {
  ir::Region &body = *op.regions[0], &reader = *linearOf_.at(&op)->regions[0];
  const Value* counter = body.args[0].get();
  const int64_t trips = std::max<int64_t>(*ir::tripCount(op), 1);
  invariant_.clear();
  const auto cost = [&](const Value& v) {
    if (&v == counter) return int64_t{0};
    if (!v.home()->isInside(op)) return isRead(v) ? 0 : oftenThere(v.type);
    if (isInvariant(v, op)) return costOfBytes(v.type);
    const auto& made = body.terminator()->operands();
    const bool carried = std::any_of(made.begin(), made.end(), [&](const Value* m) { return unchecked(m) == &v; });
    // The next trip may keep what is carried, too.
    return std::min(carried ? oftenThere(v.type) : costOfBytes(v.type), (int64_t{1} << 48) / trips) * trips;
  };
  Value* trip = reader.args[0].get();
  const int64_t lo = *ir::constantInt(op.operand(0)), step = *ir::constantInt(op.operand(2));
  ir::Builder at(reader.ops.front().get());
  at.setLoc(op.loc);
  ir::Compose c(at);
  const ResidualChoice choice = choose(body, read, trips, cost);
  Values everyTrip;
  std::copy_if(choice.kept.begin(), choice.kept.end(), std::back_inserter(everyTrip),
               [&](const Value* v) { return v != counter && !isInvariant(*v, op); });
  Stacks stacks(op, everyTrip);
  handOver(choice, read, at, [&](Value& v) -> Value* {
    if (&v == counter) {
      Value* index = step == 1 ? trip : c.mul(trip, at.scalarInt(DType::I64, step));
      return lo == 0 ? index : c.add(index, at.scalarInt(DType::I64, lo));
    }
    if (isInvariant(v, op)) {
      hoist(v, op);
      return &v;
    }
    at.setLoc(op.loc);
    const auto [all, later] = stacks.of(v);
    Value* row = later ? c.add(trip, at.scalarInt(DType::I64, 1)) : trip;
    Value* one = v.type.shape.empty()
                     ? c.gather(all, {row}, {0}, 0)
                     : at.value(OpKind::DynamicSlice, {all, row}, {{"axes", Dims{0}}, {"sizes", Dims{1}}});
    one->op->set(kKeptOfTrips, true);
    return c.reshape(one, v.type.shape);
  });
}

/// Whether every trip makes the same.
bool HandOver::isInvariant(const Value& v, const Op& loop) {
  if (!v.home()->isInside(loop)) return true;
  if (v.op == nullptr || v.op->parent != loop.regions[0].get() || !v.op->regions.empty()) return false;
  if (const auto known = invariant_.find(&v); known != invariant_.end()) return known->second;
  const Op& op = *v.op;
  return invariant_[&v] = !op.has(Trait::HasSideEffect) && !op.has(Trait::Random) && op.kind != OpKind::Call &&
                          std::all_of(op.operands().begin(), op.operands().end(),
                                      [&](const Value* operand) { return isInvariant(*operand, loop); });
}

/// Takes what makes an invariant value out of the loop.
void HandOver::hoist(const Value& v, Op& loop) {
  if (!v.home()->isInside(loop)) return;
  for (const Value* operand : v.op->operands()) hoist(*operand, loop);
  v.op->moveBefore(&loop);
}

/// What is read of the function itself becomes arguments of the linear one, in front of its tangents.
void HandOver::residuals(LinearizedFunc& made) {
  ir::Region &forward = *made.forward->body, &linear = *made.linear->body;
  Op& end = *forward.terminator();
  const Values read = readOf(forward);
  const auto given = [&](const Value* v) {
    const auto known = std::find(end.operands().begin(), end.operands().end(), v);
    return known == end.operands().end() ? std::nullopt
                                         : std::optional<size_t>(static_cast<size_t>(known - end.operands().begin()));
  };
  const auto cost = [&](const Value& v) {
    if (v.op == nullptr && isRead(v)) return int64_t{0};
    return v.op == nullptr || given(&v) ? oftenThere(v.type) : costOfBytes(v.type);
  };
  const size_t tangents = linear.args.size();
  ir::Builder at(linear.ops.front().get());
  handOver(choose(forward, read, 1, cost), read, at, [&](Value& v) -> Value* {
    if (v.op == nullptr) {
      made.residuals.push_back({true, v.index});
    } else {
      const auto known = given(&v);
      made.residuals.push_back({false, known ? *known : end.operandCount()});
      if (!known) end.addOperand(&v);
    }
    return linear.addArg(withoutPlace(v.type), v.name);
  });
  std::rotate(linear.args.begin(), linear.args.begin() + static_cast<std::ptrdiff_t>(tangents), linear.args.end());
  for (size_t i = 0; i < linear.args.size(); ++i) linear.args[i]->index = static_cast<uint32_t>(i);
}

}  // namespace tenc::transforms
