#include "transforms/Activity.h"

#include <algorithm>

#include "ir/Loops.h"
#include "transforms/Functions.h"

namespace tenc::transforms {

using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;

namespace {

void collectCaptures(const ir::Region& r, const Op& outermost, std::unordered_set<const Value*>& seen,
                     std::vector<Value*>& found) {
  for (const auto& op : r.ops) {
    for (Value* v : op->operands()) {
      if (!v->home()->isInside(outermost) && seen.insert(v).second) found.push_back(v);
    }
    for (const auto& inner : op->regions) collectCaptures(*inner, outermost, seen, found);
  }
}

}  // namespace

std::vector<Value*> capturesOf(const ir::Region& r) {
  std::unordered_set<const Value*> seen;
  std::vector<Value*> found;
  if (r.parentOp != nullptr) collectCaptures(r, *r.parentOp, seen, found);
  return found;
}

std::shared_ptr<const Activity> Activity::of(const ir::Func& f, const std::vector<bool>& arguments, Known& known) {
  auto& entry = known[{&f, arguments}];
  if (entry != nullptr) return entry;
  std::shared_ptr<Activity> a(new Activity(known));
  for (size_t i = 0; i < arguments.size(); ++i) a->mark(f.body->args[i].get(), arguments[i]);
  a->region(*f.body);
  for (const Value* v : f.body->terminator()->operands()) a->results_.push_back(a->contains(v));
  // The map may have grown meanwhile.
  return known[{&f, arguments}] = std::move(a);
}

bool Activity::reads(const Op& op) const {
  auto active = [&](const Value* v) { return contains(v); };
  if (std::any_of(op.operands().begin(), op.operands().end(), active)) return true;
  return std::any_of(op.regions.begin(), op.regions.end(), [&](const auto& r) {
    const auto captures = capturesOf(*r);
    return std::any_of(captures.begin(), captures.end(), active);
  });
}

void Activity::mark(const Value* v, bool active) {
  if (active && ir::isFloat(v->type.dtype)) active_.insert(v);
}

bool Activity::flow(const std::vector<Value*>& from, const std::vector<const Value*>& targets) {
  const size_t before = active_.size();
  for (size_t i = 0; i < from.size(); ++i) mark(targets[i], contains(from[i]));
  return active_.size() != before;
}

void Activity::region(const ir::Region& r) {
  for (const auto& op : r.ops) visit(*op);
}

void Activity::visit(const Op& op) {
  std::vector<const Value*> results;
  for (const auto& v : op.results) results.push_back(v.get());
  if (op.kind == OpKind::Call) {
    std::vector<bool> arguments;
    for (const Value* v : op.operands()) arguments.push_back(contains(v));
    if (std::find(arguments.begin(), arguments.end(), true) == arguments.end()) return;
    if (op.hasAttr(kRuleForward)) {  // whatever the function does: its rule says what the gradient is
      for (const Value* v : results) mark(v, true);
      return;
    }
    const ir::Func* callee = calleeOf(op);
    if (callee == nullptr || callee->body->terminator() == nullptr) return;
    const auto inner = of(*callee, arguments, known_);
    for (size_t i = 0; i < results.size(); ++i) mark(results[i], inner->results()[i]);
    return;
  }
  if (ir::isLoop(op)) {
    const ir::Region& body = *op.regions.back();
    const size_t first = ir::firstCarriedArg(op);
    std::vector<const Value*> carried;
    for (size_t i = first; i < body.args.size(); ++i) carried.push_back(body.args[i].get());
    std::vector<Value*> initial(op.operands().begin() + static_cast<std::ptrdiff_t>(ir::firstCarriedOperand(op)),
                                op.operands().end());
    flow(initial, carried);
    do {
      if (op.kind == OpKind::While) {
        for (size_t i = 0; i < carried.size(); ++i) mark(op.regions[0]->args[i].get(), contains(carried[i]));
        region(*op.regions[0]);
      }
      region(body);
    } while (flow(body.terminator()->operands(), carried));
    for (size_t i = 0; i < results.size(); ++i) mark(results[i], contains(carried[i]));
    return;
  }
  if (!op.regions.empty()) {
    for (const auto& r : op.regions) {
      region(*r);
      if (r->terminator() != nullptr && r->terminator()->operandCount() == results.size())
        flow(r->terminator()->operands(), results);
    }
    return;
  }
  if (!op.has(Trait::Differentiable)) return;
  // What moves a value or says where it is passes its first operand on, whatever the others are.
  const auto end = op.has(Trait::Placing) ? op.operands().begin() + 1 : op.operands().end();
  if (std::any_of(op.operands().begin(), end, [&](const Value* v) { return contains(v); })) {
    for (const Value* v : results) mark(v, true);
  }
}

}  // namespace tenc::transforms
