#include <cstddef>
#include <functional>

#include "ir/build/Compose.h"
#include "transforms/Batch.h"
#include "transforms/Functions.h"

namespace tenc::transforms {

// Loops of the same trips in every row keep their form; the others go on while a row has trips left, and a row that is
// done keeps its values under a mask.

using ir::Dims;
using ir::Op;
using ir::OpKind;
using ir::Value;

bool Batcher::counted(const Op& op) {
  const ir::Region& from = *op.regions[0];
  const bool sameBounds =
      !entry(op.operand(0)).batched && !entry(op.operand(1)).batched && !entry(op.operand(2)).batched;
  const size_t n = op.results.size();
  if (!sameBounds) {
    ir::Compose c(*b_);
    Value *hi = batched(op.operand(1)), *step = entry(op.operand(2)).value;
    if (entry(op.operand(2)).batched && n_ > 0) {
      // The least of those that are here is looked at; those that are not get one that ends.
      step = guarded(step, 1);
      step = c.binary(OpKind::Max, step, c.checkedStep(c.reduce(OpKind::ReduceMin, step, {0}, false)));
    } else if (!entry(op.operand(2)).batched) {
      step = c.broadcastTo(c.checkedStep(step), {n_});
    }
    Values carried = {carriedIn(op.operand(0))};
    for (size_t i = 0; i < n; ++i) carried.push_back(carriedIn(op.operand(3 + i)));
    auto bindCarried = [&](const Values& now) {
      for (size_t i = 0; i < now.size(); ++i) bind(from.args[i].get(), {now[i], true});
    };
    Trip trip;
    trip.condition = [&] { return b_->value(OpKind::Lt, {entry(from.args[0].get()).value, hi}); };
    trip.body = [&](Values& after) {
      Value* index = entry(from.args[0].get()).value;
      if (!body(from)) return false;
      after.push_back(ir::Compose(*b_).nextIndex(index, hi, step));
      for (Value* v : from.terminator()->operands()) after.push_back(batched(v));
      return true;
    };
    return maskedLoop(op, carried, bindCarried, trip, 1);
  }
  // Which carried values differ between instances is found by going over the body until nothing new does.
  std::vector<bool> flags;
  for (size_t i = 0; i < n; ++i) flags.push_back(entry(op.operand(3 + i)).batched);
  while (true) {
    Values operands;
    for (size_t i = 0; i < 3; ++i) operands.push_back(entry(op.operand(i)).value);
    for (size_t i = 0; i < n; ++i) {
      Value* lane = op.operand(3 + i);
      operands.push_back(flags[i] ? carriedIn(lane) : entry(lane).value);
    }
    Op* made = b_->makeTyped(OpKind::For, operands, {});
    ir::Region* region = b_->addRegion(made);
    bind(from.args[0].get(), {region->addArg(from.args[0]->type, from.args[0]->name), false});
    for (size_t i = 0; i < n; ++i) {
      const Value* lane = from.args[1 + i].get();
      bind(lane, {region->addArg(withoutPlace(operands[3 + i]->type), lane->name), flags[i]});
    }
    bool grew = false;
    const bool ok = inside(region, [&] {
      if (!body(from)) return false;
      Values yields;
      for (size_t i = 0; i < n; ++i) {
        Value* lane = from.terminator()->operand(i);
        grew = grew || (entry(lane).batched && !flags[i]);
        flags[i] = flags[i] || entry(lane).batched;
        Value* const carried = entry(from.args[1 + i].get()).value;
        yields.push_back(flags[i] ? decisionNear(batched(lane), carried) : entry(lane).value);
      }
      b_->makeTyped(OpKind::Yield, yields, {});
      return true;
    });
    if (!ok) return false;
    if (grew) {
      made->erase();
      continue;
    }
    for (size_t i = 0; i < n; ++i) { define(op, i, made->addResult(withoutPlace(operands[3 + i]->type)), flags[i]); }
    return true;
  }
}

bool Batcher::whileLoop(const Op& op) {
  const ir::Region &test = *op.regions[0], &from = *op.regions[1];
  const size_t n = op.results.size();
  std::vector<bool> flags;
  for (size_t i = 0; i < n; ++i) flags.push_back(entry(op.operand(i)).batched);
  while (true) {
    Values operands;
    for (size_t i = 0; i < n; ++i) {
      operands.push_back(flags[i] ? carriedIn(op.operand(i)) : entry(op.operand(i)).value);
    }
    Op* made = b_->makeTyped(OpKind::While, operands, {});
    ir::Region* regions[2] = {b_->addRegion(made), b_->addRegion(made)};
    bool grew = false, differs = false;
    for (size_t r = 0; r < 2; ++r) {
      const ir::Region& lane = r == 0 ? test : from;
      for (size_t i = 0; i < n; ++i) {
        bind(lane.args[i].get(), {regions[r]->addArg(withoutPlace(operands[i]->type), lane.args[i]->name), flags[i]});
      }
      const bool ok = inside(regions[r], [&] {
        if (!body(lane)) return false;
        if (r == 0) {
          const Entry go = entry(lane.terminator()->operand(0));
          differs = go.batched;
          b_->makeTyped(OpKind::Condition, {go.value}, {});
          return true;
        }
        Values yields;
        for (size_t i = 0; i < n; ++i) {
          Value* v = lane.terminator()->operand(i);
          grew = grew || (entry(v).batched && !flags[i]);
          flags[i] = flags[i] || entry(v).batched;
          yields.push_back(flags[i] ? batched(v) : entry(v).value);
        }
        b_->makeTyped(OpKind::Yield, yields, {});
        return true;
      });
      if (!ok) return false;
      if (differs) break;
    }
    if (differs) {
      made->erase();
      break;
    }
    if (grew) {
      made->erase();
      continue;
    }
    for (size_t i = 0; i < n; ++i) define(op, i, made->addResult(withoutPlace(operands[i]->type)), flags[i]);
    return true;
  }
  Values carried;
  for (size_t i = 0; i < n; ++i) carried.push_back(carriedIn(op.operand(i)));
  auto bindCarried = [&](const Values& now) {
    for (size_t i = 0; i < n; ++i) {
      bind(test.args[i].get(), {now[i], true});
      bind(from.args[i].get(), {now[i], true});
    }
  };
  Trip trip;
  trip.condition = [&]() -> Value* { return body(test) ? batched(test.terminator()->operand(0)) : nullptr; };
  trip.body = [&](Values& after) {
    if (!body(from)) return false;
    for (Value* v : from.terminator()->operands()) after.push_back(batched(v));
    return true;
  };
  return maskedLoop(op, carried, bindCarried, trip, 0);
}

bool Batcher::maskedLoop(const Op& op, Values carried, const std::function<void(const Values&)>& bindCarried,
                         const Trip& trip, size_t firstResult) {
  Value* outer = mask_;
  const size_t n = carried.size();
  bindCarried(carried);
  Value* go = trip.condition();
  if (go == nullptr) return false;
  carried.push_back(both(outer, go));
  Op* made = b_->makeTyped(OpKind::While, carried, {});
  ir::Region* regions[2] = {b_->addRegion(made), b_->addRegion(made)};
  Values args[2];
  for (size_t r = 0; r < 2; ++r) {
    for (size_t i = 0; i <= n; ++i) {
      args[r].push_back(regions[r]->addArg(withoutPlace(carried[i]->type), i < n ? carried[i]->name : ""));
    }
  }
  inside(regions[0], [&] {
    b_->makeTyped(OpKind::Condition, {b_->value(OpKind::Any, {args[0][n]}, {{"axes", Dims{0}}})}, {});
    return true;
  });
  const bool ok = inside(regions[1], [&] {
    const Values now(args[1].begin(), args[1].begin() + static_cast<std::ptrdiff_t>(n));
    Value* active = args[1][n];
    mask_ = active;
    bindCarried(now);
    Values after;
    if (!trip.body(after)) return false;
    for (size_t i = 0; i < n; ++i) after[i] = choose(active, decisionNear(after[i], now[i]), now[i]);
    bindCarried(after);
    Value* more = trip.condition();
    if (more == nullptr) return false;
    after.push_back(both(active, more));
    b_->makeTyped(OpKind::Yield, after, {});
    return true;
  });
  mask_ = outer;
  if (!ok) return false;
  for (size_t i = 0; i <= n; ++i) {
    Value* result = made->addResult(withoutPlace(carried[i]->type));
    if (i >= firstResult && i < n) define(op, i - firstResult, result, true);
  }
  return true;
}

}  // namespace tenc::transforms
