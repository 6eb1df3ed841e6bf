#include "transforms/Batch.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "ir/Causes.h"
#include "ir/Loops.h"
#include "ir/build/Compose.h"
#include "transforms/Activity.h"
#include "transforms/Functions.h"
#include "transforms/HandOver.h"
#include "transforms/Origin.h"

namespace tenc::transforms {

using ir::Dims;
using ir::DType;
using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;

namespace {

void collectOuter(const ir::Region& region, std::vector<const Value*>& used) {
  for (const auto& op : region.ops) {
    for (const Value* v : op->operands()) used.push_back(v);
    for (const auto& r : op->regions) collectOuter(*r, used);
  }
}

}  // namespace

const BatchedFuncs::Variant* BatchedFuncs::find(const ir::Func& callee, int64_t n,
                                                const std::vector<bool>& operands) const {
  const auto it = variants_.find({&callee, n, operands});
  return it == variants_.end() ? nullptr : &it->second;
}

const BatchedFuncs::Variant& BatchedFuncs::add(const ir::Func& callee, int64_t n, const std::vector<bool>& operands,
                                               Variant variant) {
  return variants_[{&callee, n, operands}] = std::move(variant);
}

void BatchedFuncs::forget(const ir::Func& gone) {
  std::erase_if(variants_,
                [&](const auto& entry) { return std::get<0>(entry.first) == &gone || entry.second.func == &gone; });
  std::erase_if(rules_, [&](const auto& entry) {
    const Rule& r = entry.second;
    return std::get<0>(entry.first) == &gone || r.primal == &gone || r.forward == &gone || r.backward == &gone;
  });
}

Batcher::Entry Batcher::entry(Value* lane) const {
  auto it = env_.find(lane);
  return it == env_.end() ? Entry{lane, false} : it->second;
}

Value* Batcher::batched(Value* lane) {
  const Entry e = entry(lane);
  if (e.batched) return e.value;
  Dims shape = e.value->type.shape;
  shape.insert(shape.begin(), n_);
  return b_->broadcastTo(e.value, shape);
}

Value* Batcher::carriedIn(Value* lane) {
  const Entry e = entry(lane);
  if (e.batched || e.value->type.rank() > 0 || anchor_ == nullptr || moves_) return batched(lane);
  // What a derivative sums up is where it is added to.
  const Op* zero = e.value->op;
  if (zero != nullptr && zero->kind == OpKind::Constant && OriginScope::isOfDerivative(*zero)) {
    const OriginScope derivative(module());
    return batched(lane);
  }
  const OriginScope hidden(module(), OriginScope::kBatch);
  return ir::Compose(*b_).fillOn(anchor_, {n_}, e.value);
}

namespace {
/// Whether a value lives where it is used, as numbers do and what is made of them.
bool madeOfNumbers(const Value& v) {
  if (v.type.shape.empty()) return true;
  if (v.op == nullptr) return false;
  if (v.op->kind == OpKind::Constant) return true;
  return (v.op->kind == OpKind::Broadcast || v.op->kind == OpKind::Reshape) && madeOfNumbers(*v.op->operand(0));
}
}  // namespace

void BatchedFuncs::notePlaces() {
  if (std::exchange(placed_, true)) return;
  variants_.clear();
  rules_.clear();
}

bool Batcher::refuse(const Op& op, Code code, std::string why) {
  if (!failed_) fail_(op, code, std::move(why));
  failed_ = true;
  return false;
}

void Batcher::define(const Op& op, size_t result, Value* v, bool batched) {
  Value* lane = op.result(result);
  if (v->name.empty()) v->name = lane->name;
  env_[lane] = {v, batched};
}

bool Batcher::anyBatched(const Op& op) const {
  auto isBatched = [&](const Value* v) {
    auto it = env_.find(v);
    return it != env_.end() && it->second.batched;
  };
  if (std::any_of(op.operands().begin(), op.operands().end(), isBatched)) return true;
  std::vector<const Value*> used;
  for (const auto& r : op.regions) collectOuter(*r, used);
  return std::any_of(used.begin(), used.end(), isBatched);
}

ir::ValueMap Batcher::sharedBy(const Op& op) const {
  std::vector<const Value*> used(op.operands().begin(), op.operands().end());
  for (const auto& r : op.regions) collectOuter(*r, used);
  ir::ValueMap map;
  for (const Value* lane : used) {
    auto it = env_.find(lane);
    if (it != env_.end() && !it->second.batched) map[lane] = it->second.value;
  }
  return map;
}

void Batcher::copy(const Op& op) {
  ir::ValueMap map = sharedBy(op);
  Op* made = ir::clone(op, *b_, map);
  for (size_t i = 0; i < op.results.size(); ++i) define(op, i, made->result(i), false);
}

bool Batcher::body(const ir::Region& region) {
  for (const auto& op : region.ops) {
    if (op->has(Trait::Terminator)) continue;
    b_->setLoc(op->loc);
    constexpr size_t kMostOps = 500'000;
    if (++*visited_ > kMostOps) return refuse(*op, Code::E0105, "expands to more than 500,000 operations");
    if (!visit(*op)) return false;
  }
  return !failed_;
}

namespace {
/// Whether `x.to(d)` stands in it.
bool moves(const ir::Region& r) {
  return std::ranges::any_of(r.ops, [](const auto& op) {
    return (op->kind == OpKind::To && ir::causeOf(*op) == ir::Cause::To) ||
           std::ranges::any_of(op->regions, [](const auto& inner) { return moves(*inner); });
  });
}
}  // namespace

std::optional<std::vector<bool>> Batcher::function(const ir::Func& from, const std::vector<bool>& mask, ir::Func& to,
                                                   bool masked) {
  ir::Builder at(to.body.get());
  b_ = &at;
  for (size_t i = 0; i < mask.size(); ++i) {
    const Value* lane = from.body->args[i].get();
    ir::Type t = lane->type;
    if (mask[i]) t.shape.insert(t.shape.begin(), n_);
    bind(lane, {to.body->addArg(t, lane->name), mask[i]});
  }
  moves_ = moves(*from.body) || std::set<std::string>(from.paramPlaces.begin(), from.paramPlaces.end()).size() > 1;
  if (masked) mask_ = to.body->addArg({DType::Bool, {n_}, {}});
  if (!body(*from.body)) return std::nullopt;
  Values results;
  std::vector<bool> batchedResults;
  to.resultTypes.clear();  // those of all lanes
  for (Value* v : from.body->terminator()->operands()) {
    const Entry e = entry(v);
    results.push_back(e.value);
    batchedResults.push_back(e.batched);
    to.resultTypes.push_back(e.value->type);
  }
  at.setLoc(from.body->terminator()->loc);
  at.makeTyped(OpKind::Return, results, {});
  return batchedResults;
}

std::optional<Batched> batch(const ir::Func& f, const std::vector<bool>& mask, int64_t n, BatchedFuncs& functions,
                             const Batcher::Fail& fail) {
  std::unique_ptr<ir::Func> made = freeFunc(*f.module, f.name + ".vmap");
  auto results = Batcher(n, functions, fail).function(f, mask, *made);
  if (!results) return std::nullopt;
  return Batched{std::move(made), std::move(*results)};
}

bool Batcher::inside(ir::Region* region, const std::function<bool()>& f) {
  ir::Builder inner(region);
  inner.setLoc(b_->loc());
  ir::Builder* outer = std::exchange(b_, &inner);
  const bool ok = f();
  b_ = outer;
  return ok;
}

bool Batcher::visit(const Op& op) {
  const OriginScope origin(module(), op.origin);
  switch (op.kind) {
    case OpKind::Call: return call(op);
    case OpKind::On: return placed(op);
    case OpKind::If: return branch(op);
    case OpKind::For: return counted(op);
    case OpKind::While: return whileLoop(op);
    default: return single(op);
  }
}

Value* Batcher::both(Value* a, Value* b) { return a == nullptr ? b : b_->value(OpKind::And, {a, meeting(b, a)}); }

namespace {
Value* beside(ir::Builder& b, Value* mask, Value* v) {
  return b
      .makeTyped(OpKind::To, {mask, v}, {withoutPlace(mask->type)},
                 {{"device", std::string()}, {"cause", std::string(ir::name(ir::Cause::If))}})
      ->result();
}
}  // namespace

Value* Batcher::decisionNear(Value* v, Value* near) {
  return v->type.dtype == DType::Bool && v->type.rank() == 1 ? meeting(v, near) : v;
}

Value* Batcher::meeting(Value* mask, Value* v) {
  return functions_->arePlaced() && !madeOfNumbers(*v) ? beside(*b_, mask, v) : mask;
}

namespace {
/// How sure it is that a value has a device of its own. Of a single number only placement knows: it is on a device, or
/// free as one of the host.
enum class Placed : uint8_t { Never, Maybe, Surely };

Placed isPlaced(const Value& v, int depth = 0) {
  constexpr int kDeepest = 8;
  const Op* op = v.op;
  const bool tensor = !v.type.shape.empty();
  const Placed unknown = tensor ? Placed::Surely : Placed::Maybe;
  const auto most = [&](const std::vector<Value*>& operands) {
    Placed found = Placed::Never;
    for (const Value* operand : operands) found = std::max(found, isPlaced(*operand, depth + 1));
    return found;
  };
  if (op == nullptr) {
    const Op* around = v.region->parentOp;
    const bool counter = !tensor && around != nullptr && around->kind == OpKind::For && v.index == 0;
    return counter ? Placed::Never : unknown;
  }
  if (op->kind == OpKind::SamePlace) return depth == kDeepest ? Placed::Maybe : most(op->operands());
  if (op->operandCount() == 0) return tensor && op->kind != OpKind::Constant ? Placed::Surely : Placed::Never;
  const bool shaped = tensor && (op->kind == OpKind::Broadcast || op->kind == OpKind::Reshape);
  if (shaped) return isPlaced(*op->operand(0), depth);
  return op->has(ir::Trait::Elementwise) && depth < kDeepest ? most(op->operands()) : unknown;
}

/// Whether two values of one type are the same constant everywhere: what no mask has to choose from, nor to be near.
bool areSameNumber(const Value& a, const Value& b) {
  const auto constant = [](const Value& v) {
    const Op* op = v.op;
    while (op != nullptr && op->kind == OpKind::Broadcast) op = op->operand(0)->op;
    const bool single = op != nullptr && op->kind == OpKind::Constant && op->result()->type.shape.empty();
    const ir::Attr* value = single ? op->find("value") : nullptr;
    return value != nullptr ? std::get_if<ir::Data>(value) : nullptr;
  };
  const ir::Data *x = constant(a), *y = constant(b);
  return x != nullptr && y != nullptr && a.type.dtype == b.type.dtype && **x == **y;
}
}  // namespace

namespace {
bool isCounted(const Value& v, std::set<const Value*>& seen) {
  if (!seen.insert(&v).second) return true;  // what a loop carries, as far as it is made of itself
  const auto all = [&](std::span<Value* const> values) {
    return std::ranges::all_of(values, [&](const Value* o) { return isCounted(*o, seen); });
  };
  const Op* around = v.op == nullptr ? v.region->parentOp : v.op;
  if (around == nullptr) return false;
  if (ir::isLoop(*around) && v.type.shape.empty()) {
    const size_t firstArg = ir::firstCarriedArg(*around);
    if (v.op == nullptr && v.index < firstArg) return true;  // counts the trips
    const size_t k = v.op == nullptr ? v.index - firstArg : v.index;
    return isCounted(*around->operand(ir::firstCarriedOperand(*around) + k), seen) &&
           isCounted(*around->regions.back()->terminator()->operand(k), seen);
  }
  if (v.op == nullptr) return false;
  if (around->kind == OpKind::If && v.type.shape.empty())
    return std::ranges::all_of(around->regions,
                               [&](const auto& r) { return isCounted(*r->terminator()->operand(v.index), seen); });
  if (around->kind == OpKind::Broadcast || around->kind == OpKind::Reshape) return isCounted(*around->operand(0), seen);
  if (!v.type.shape.empty()) return false;
  if (around->kind == OpKind::SamePlace) return all(around->operands());
  return around->kind == OpKind::Constant || (around->has(ir::Trait::Elementwise) && all(around->operands()));
}
}  // namespace

bool isCounted(const Value& lane) {
  std::set<const Value*> seen;
  return isCounted(lane, seen);
}

Value* Batcher::mixed(Value* lane, Value* value, Value* near) {
  const bool ownPlace = value != near && functions_->arePlaced() && entry(lane).batched;
  return ownPlace && isCounted(*lane) ? beside(*b_, value, near) : value;
}

Value* Batcher::choose(Value* mask, Value* yes, Value* no) {
  if (yes == no || areSameNumber(*yes, *no)) return yes;
  Value* surest = isPlaced(*no) > isPlaced(*yes) ? no : yes;
  if (functions_->arePlaced() && isPlaced(*surest) != Placed::Never) mask = beside(*b_, mask, surest);
  if (mask->type.shape != yes->type.shape)
    mask = b_->broadcastTo(column(mask, yes->type.shape.size()), yes->type.shape);
  return b_->value(OpKind::Where, {mask, yes, no});
}

ir::Func* Batcher::variantThatGives(const ir::Func& callee, const std::vector<bool>& operands,
                                    const std::vector<bool>& given) {
  ir::Module& module = *callee.module;
  ir::Func* made = module.addFuncLike(callee.name + ".vmap" + std::to_string(module.funcs.size()), callee);
  Batcher inner(n_, *functions_, fail_);
  inner.visited_ = visited_;
  const auto batched = inner.function(callee, operands, *made, mask_ != nullptr);
  if (!batched) {
    failed_ = true;
    return nullptr;
  }
  made->paramPlaces.resize(callee.body->args.size(), kAnywhere);
  made->paramPlaces.resize(made->body->args.size(), kBeside);
  ir::Builder at(made->body->terminator());
  at.setLoc(made->body->terminator()->loc);
  ir::Compose c(at);
  Values results = made->body->terminator()->operands();
  for (size_t i = 0; i < results.size(); ++i) {
    Value*& v = results[i];
    if (!(*batched)[i]) {
      Dims one = v->type.shape, all = one;
      one.insert(one.begin(), 1);
      all.insert(all.begin(), n_);
      v = c.broadcastTo(c.reshape(v, one), all);
    }
    if (!given[i]) v = c.reduce(OpKind::Sum, v, {0}, false);
  }
  setResults(*made, results);
  return made;
}

/// The three functions of a rule over all instances: the results and what is saved have the leading dim, and so have
/// the gradients of the operands that do. Those of the others are sums.
bool Batcher::ruled(const Op& op, const ir::Func& callee) {
  const ir::Module& module = *op.func()->module;
  std::vector<bool> flags;
  for (Value* v : op.operands()) flags.push_back(entry(v).batched);
  std::vector<bool> key = flags;
  if (mask_ != nullptr) key.push_back(true);
  BatchedFuncs::Rule rule = functions_->rule(callee, n_, key);
  if (rule.primal == nullptr) {
    const ir::Func &forward = *module.find(op.stringAttr(kRuleForward)),
                   &backward = *module.find(op.stringAttr(kRuleBackward));
    const auto own = static_cast<std::ptrdiff_t>(op.intAttr(kRuleArguments));
    const std::vector<bool> all(forward.resultTypes.size(), true), results(callee.resultTypes.size(), true);
    std::vector<bool> taken = all;  // what is saved, cotangents of the results, captures
    taken.insert(taken.end(), flags.begin() + own, flags.end());
    rule.primal = variantThatGives(callee, flags, results);
    if (rule.primal != nullptr) rule.forward = variantThatGives(forward, flags, all);
    if (rule.forward != nullptr)
      rule.backward = variantThatGives(backward, taken, {flags.begin(), flags.begin() + own});
    if (rule.backward == nullptr) return false;
    functions_->rule(callee, n_, key) = rule;
  }
  std::vector<ir::Type> types;
  for (const ir::Type& t : rule.primal->resultTypes) types.push_back(withoutPlace(t));
  Values operands = asTheyAre(op);
  if (mask_ != nullptr) operands.push_back(mask_);
  Op* made = b_->makeTyped(OpKind::Call, operands, types, {{"callee", rule.primal->name}});
  made->set(kRuleForward, rule.forward->name);
  made->set(kRuleBackward, rule.backward->name);
  made->set(kRuleArguments, op.intAttr(kRuleArguments));
  for (size_t i = 0; i < op.results.size(); ++i) define(op, i, made->result(i), true);
  return true;
}

bool Batcher::call(const Op& op) {
  ir::Module& module = *op.func()->module;
  const ir::Func* callee = calleeOf(op);
  if (!callee || !callee->body->terminator()) return refuse(op, Code::E0204, "calls a function that has errors");
  if (op.hasAttr(ir::kOracle)) return oneByOne(op);
  const bool random = !everyOp(*callee->body, [](const Op& inner) { return !inner.has(Trait::Random); });
  if (!anyBatched(op) && !random && mask_ == nullptr) {
    copy(op);
    return true;
  }
  if (op.hasAttr(kRuleForward)) return ruled(op, *callee);
  std::vector<bool> flags;
  Values operands;
  for (Value* v : op.operands()) {
    flags.push_back(entry(v).batched);
    operands.push_back(entry(v).value);
  }
  const bool masked = mask_ != nullptr;  // what can fault in it must look at the mask
  if (masked) {
    flags.push_back(true);
    operands.push_back(mask_);
  }
  const BatchedFuncs::Variant* known = functions_->find(*callee, n_, flags);
  if (known == nullptr) {
    ir::Func* variant = module.addFuncLike(callee->name + ".vmap" + std::to_string(module.funcs.size()), *callee);
    Batcher inner(n_, *functions_, fail_);
    inner.visited_ = visited_;
    auto batchedResults = inner.function(*callee, {flags.begin(), flags.begin() + op.operandCount()}, *variant, masked);
    if (!batchedResults) {
      failed_ = true;
      return false;
    }
    variant->paramPlaces.resize(callee->body->args.size());
    variant->paramPlaces.resize(variant->body->args.size(), kBeside);
    known = &functions_->add(*callee, n_, flags, {variant, std::move(*batchedResults)});
  }
  std::vector<ir::Type> types;
  for (const ir::Type& t : known->func->resultTypes) types.push_back(withoutPlace(t));
  Op* made = b_->makeTyped(OpKind::Call, operands, types, {{"callee", known->func->name}});
  if (op.boolAttr(kRecomputed)) made->set(kRecomputed, true);
  for (size_t i = 0; i < op.results.size(); ++i) define(op, i, made->result(i), known->results[i]);
  return true;
}

bool Batcher::placed(const Op& op) {
  Op* made = b_->makeTyped(OpKind::On, homes(op), {}, {{"device", op.stringAttr("device")}});
  if (op.boolAttr("named")) made->set("named", true);
  ir::Region* region = b_->addRegion(made);
  const ir::Region& from = *op.regions[0];
  std::vector<Entry> yields;
  const bool ok = inside(region, [&] {
    if (!body(from)) return false;
    Values values;
    for (Value* v : from.terminator()->operands()) {
      yields.push_back(entry(v));
      values.push_back(yields.back().value);
    }
    b_->makeTyped(OpKind::Yield, values, {});
    return true;
  });
  if (!ok) return false;
  for (size_t i = 0; i < yields.size(); ++i) {
    define(op, i, made->addResult(withoutPlace(yields[i].value->type)), yields[i].batched);
  }
  return true;
}

bool Batcher::branch(const Op& op) {
  const Entry condition = entry(op.operand(0));
  if (condition.batched) return select(op, condition.value);
  Op* made = b_->makeTyped(OpKind::If, {condition.value}, {});
  std::vector<Entry> yields[2];
  ir::Region* regions[2] = {b_->addRegion(made), b_->addRegion(made)};
  for (size_t r = 0; r < 2; ++r) {
    const bool ok = inside(regions[r], [&] {
      if (!body(*op.regions[r])) return false;
      for (Value* v : op.regions[r]->terminator()->operands()) yields[r].push_back(entry(v));
      return true;
    });
    if (!ok) return false;
  }
  std::vector<bool> flags;
  for (size_t i = 0; i < op.results.size(); ++i) flags.push_back(yields[0][i].batched || yields[1][i].batched);
  for (size_t r = 0; r < 2; ++r) {
    inside(regions[r], [&] {
      Values values;
      for (size_t i = 0; i < flags.size(); ++i) {
        values.push_back(flags[i] ? batched(op.regions[r]->terminator()->operand(i)) : yields[r][i].value);
      }
      b_->makeTyped(OpKind::Yield, values, {});
      return true;
    });
  }
  const Op& end = *regions[0]->terminator();
  for (size_t i = 0; i < flags.size(); ++i) {
    define(op, i, made->addResult(withoutPlace(end.operand(i)->type)), flags[i]);
  }
  return true;
}

bool Batcher::select(const Op& op, Value* condition) {
  Value* outer = mask_;
  Values results[2], alike(op.results.size());
  const ir::Dims& kept = op.intsAttr(kKeptOfBranches);
  for (size_t r = 0; r < 2; ++r) {
    Value* here = r == 0 ? condition : b_->value(OpKind::Not, {condition});
    mask_ = both(outer, here);
    // No derivative goes out of a branch in instances that do not take it: what it makes there may be infinite.
    std::vector<std::pair<const Value*, Entry>> outside;
    for (Value* v : capturesOf(*op.regions[r])) {
      const Entry e = entry(v);
      if (!e.batched || !ir::isFloat(v->type.dtype) || areSameNumber(*e.value, *e.value)) continue;
      outside.emplace_back(v, e);
      env_[v] = {choose(here, e.value, b_->value(OpKind::StopGradient, {e.value})), true,
                 e.home != nullptr ? e.home : e.value};
    }
    const bool ok = body(*op.regions[r]);
    mask_ = outer;
    if (ok) {
      const Values yields = op.regions[r]->terminator()->operands();
      for (size_t i = 0; i < yields.size(); ++i) {
        // What a derivative keeps of this branch is read in it alone, and may go on to be the same for all.
        const Entry e = entry(yields[i]);
        const bool same = !e.batched && i < kept.size() && kept[i] == static_cast<int64_t>(r);
        if (same) alike[i] = e.value;
        results[r].push_back(same ? nullptr : batched(yields[i]));
      }
    }
    for (const auto& [v, e] : outside) env_[v] = e;
    if (!ok) return false;
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (alike[i])
      define(op, i, alike[i], false);
    else
      define(op, i, choose(condition, results[0][i], decisionNear(results[1][i], results[0][i])), true);
  }
  return true;
}

}  // namespace tenc::transforms
