// Placement of loops and branches: what they carry keeps its place, and branches agree (P2, P3).
#include "ir/Loops.h"
#include "passes/place/PlaceInfer.h"

namespace tenc::passes::placing {

void Inference::loop(Op& op, size_t first, size_t lead) {
  const size_t mostRounds = op.results.size() + 2;
  for (size_t round = 0; round < mostRounds; ++round) {
    in_.needs.erase(&op);
    in_.errors.erase(&op);
    for (size_t i = 0; i < first; ++i) hostRead(op, i, Cause::For);
    if (!loopRound(op, first, lead) && !placeCarried(op, lead)) break;
  }
}

void Inference::eachMade(const Value& v, const std::function<void(const Value&)>& made) {
  for (const Value::Use& use : v.uses) {
    const Op* user = use.user;
    if (user->has(Trait::Placing)) continue;
    const Value* taken = user->results.empty() ? nullptr : user->result();
    if (user->kind == OpKind::Yield) {
      const Op* around = user->parent->parentOp;
      taken = around != nullptr && use.operand < around->results.size() ? around->result(use.operand) : nullptr;
    } else if (ir::isLoop(*user)) {
      const size_t first = ir::firstCarriedOperand(*user);
      if (use.operand < first) continue;
      taken = user->regions.back()->args[ir::firstCarriedArg(*user) + use.operand - first].get();
    }
    if (taken == nullptr || isPoison(taken->type.place)) continue;
    if (!mixes(taken->type) || !taken->type.shape.empty()) made(*taken);
  }
}

std::set<std::string> Inference::placesOfUsers(const Value& v) {
  std::set<std::string> places;
  std::unordered_set<const Value*> seen = {&v};
  std::vector<const Value*> open = {&v};
  while (!open.empty()) {
    const Value* at = open.back();
    open.pop_back();
    eachMade(*at, [&](const Value& made) {
      if (!mixes(made.type))
        places.insert(placeOf(&made));
      else if (seen.insert(&made).second)
        open.push_back(&made);
    });
  }
  return places;
}

std::string Inference::placeOfUsers(const Value& v) {
  const std::set<std::string> found = placesOfUsers(v);
  return found.size() == 1 ? *found.begin() : ambient();
}

bool Inference::placeCarried(Op& op, size_t lead) {
  bool placed = false;
  for (size_t k = 0; k < op.results.size(); ++k) {
    ir::Type& t = op.regions.back()->args[lead + k]->type;
    if (t.shape.empty() || !t.place.isFree()) continue;
    const Value* const arg = op.regions.back()->args[lead + k].get();
    if (const auto known = merged_.find(op.result(k)); known != merged_.end()) {
      t.place.device = known->second;
    } else if (placesOfUsers(*arg).empty()) {
      unmerged_.push_back(op.result(k));  // what a derivative keeps is used behind this, by its backward half
      open_.insert(op.result(k));
      continue;
    } else {
      t.place.device = placeOfUsers(*arg);
    }
    placed = true;
  }
  return placed;
}

bool Inference::loopRound(Op& op, size_t first, size_t lead) {
  std::vector<Carried> carried;
  std::vector<std::string> places;
  Region& bodyRegion = *op.regions.back();
  for (size_t i = 0; i < lead; ++i)
    for (auto& r : op.regions) set(r->args[i].get(), "", Why::Free);
  for (size_t k = 0; k < op.results.size(); ++k) {
    const Value* init = op.operand(first + k);
    Value* arg = bodyRegion.args[lead + k].get();
    bool outer = info(init).scope != on_;  // a `var` bound in here starts with an `enter`
    std::string start = outer ? placeOf(init) : use(op, first + k);
    std::string settled = start;
    if (mixes(init->type) && !isPoison(init->type.place) && !mixes(arg->type) && !isPoison(arg->type.place)) {
      settled = placeOf(arg);  // what an earlier round found
      need(op, first + k, settled, Cause::Literal);
    }
    carried.push_back({outer, outer ? info(init).scope : on_});
    places.push_back(settled);
    for (auto& r : op.regions) {
      ValueInfo& i = set(r->args[lead + k].get(), settled, Why::Variable, init, &op);
      i.scope = carried[k].scope;
      if (settled.empty() && !arg->type.shape.empty()) open_.insert(r->args[lead + k].get());
    }
  }
  for (auto& r : op.regions) region(*r);

  bool again = false;
  const Op* yield = bodyRegion.terminator();
  for (size_t k = 0; k < op.results.size(); ++k) {
    const Value* y = yield->operand(k);
    if (k == 0) {
      in_.needs.erase(yield);
      in_.errors.erase(yield);
    }
    Value* arg = bodyRegion.args[lead + k].get();
    std::string end = carried[k].outerVar || info(y).assignsOuter() ? placeOf(y) : use(*yield, k);
    if (end == kPoison || places[k] == kPoison) {
      places[k] = kPoison;
    } else if (mixes(arg->type) && !mixes(y->type)) {
      arg->type.place.device = places[k] = end;
      again = true;
    } else if (!mixes(arg->type) && mixes(y->type)) {
      need(*yield, k, places[k], Cause::Literal);
    } else if (!mixes(arg->type) && end != places[k]) {
      fail(*yield, report_.assignment(*yield, y, end, arg, places[k], k));
      places[k] = kPoison;
    } else if (places[k].empty()) {
      places[k] = end;
    }
    ValueInfo& i = set(op.result(k), places[k], Why::Variable, y, &op);
    i.scope = carried[k].scope;
  }
  return again;
}

void Inference::branch(Op& op) {
  std::optional<bool> known = info(op.operand(0)).constant;
  in_.taken.erase(&op);
  if (known && followsFromDevices(op.operand(0))) return takenBranch(op, *known);
  hostRead(op, 0, Cause::If);
  for (auto& r : op.regions) region(*r);
  const Op* yields[2] = {op.regions[0]->terminator(), op.regions[1]->terminator()};
  for (const Op* y : yields) {
    in_.needs.erase(y);
    in_.errors.erase(y);
  }
  for (size_t k = 0; k < op.results.size(); ++k) {
    const Value* v[2] = {yields[0]->operand(k), yields[1]->operand(k)};
    const Value* assigned = info(v[0]).assignsOuter() ? v[0] : info(v[1]).assignsOuter() ? v[1] : nullptr;
    std::string at[2];
    for (int b : {0, 1}) at[b] = assigned ? placeOf(v[b]) : use(*yields[b], k);
    Op* scope = assigned ? info(assigned).scope : on_;
    Value* result = op.result(k);
    set(result, branchPlace(op, yields, k, at), Why::Operand, mixes(v[0]->type) ? v[1] : v[0], on_).scope = scope;
    if (result->type.place.isFree() && !result->type.shape.empty()) open_.insert(result);
  }
}

std::string Inference::branchPlace(Op& op, const Op* const (&yields)[2], size_t k, const std::string (&at)[2]) {
  const Value* v[2] = {yields[0]->operand(k), yields[1]->operand(k)};
  if (at[0] == kPoison || at[1] == kPoison) return std::string(kPoison);
  bool free[2] = {mixes(v[0]->type), mixes(v[1]->type)};
  if (free[0] && free[1] && v[0]->type.shape.empty()) return at[0].empty() ? at[1] : at[0];
  if (free[0] && free[1]) {
    // Tensors of numbers alone go where what is made of them is, which is known behind this.
    const auto known = merged_.find(op.result(k));
    if (known == merged_.end()) return unmerged_.push_back(op.result(k)), std::string();
    for (const Op* y : yields) need(*y, k, known->second, Cause::Literal);
    return known->second;
  }
  for (int b : {0, 1}) {
    if (!free[b]) continue;
    need(*yields[b], k, at[1 - b], Cause::Literal);
    return at[1 - b];
  }
  if (at[0] == at[1]) return at[0];
  const char* what = report_.returns(op) ? "the function returns values on different devices"
                                         : "the branches of `if` give values on different devices";
  fail(op, report_.apart(op, what, {{v[0], at[0], 2 * k}, {v[1], at[1], 2 * k + 1}}));
  return std::string(kPoison);
}

void Inference::takenBranch(Op& op, bool condition) {
  in_.taken[&op] = condition;
  Region& r = *op.regions[condition ? 0 : 1];
  region(r);
  const Op* yield = r.terminator();
  in_.needs.erase(yield);
  for (size_t k = 0; k < op.results.size(); ++k) {
    const Value* y = yield->operand(k);
    bool assigned = info(y).assignsOuter();
    std::string place = assigned ? placeOf(y) : use(*yield, k);
    ValueInfo& i = set(op.result(k), place, Why::Operand, y, on_);
    if (assigned) i.scope = info(y).scope;
    i.constant = info(y).constant;
  }
}

}  // namespace tenc::passes::placing
