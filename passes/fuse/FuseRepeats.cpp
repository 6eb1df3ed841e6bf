#include "passes/fuse/FuseRepeats.h"

#include <algorithm>
#include <unordered_set>

namespace tenc::passes::fusion {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr size_t kMostPlaces = 16;
constexpr int64_t kLarge = int64_t{1} << 21;  // elements
constexpr int kMostWork = 24;                 // more takes longer than a store and a load of vectors
constexpr int kDivision = 6;                  // where an addition is 1
constexpr int64_t kMostReadAgain = 2;         // bytes of tensors in memory for a byte that is not stored

bool divides(const Op& op) { return op.kind == OpKind::Div || op.kind == OpKind::FloorDiv || op.kind == OpKind::Mod; }

bool isMove(const Op& op) {
  if (op.kind != OpKind::Slice) return false;
  const auto& steps = op.intsAttr("steps");
  return std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; });
}

template <class T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// Where the operands of `op` are evaluated when it is evaluated at `place`, its place of that number.
EvaluationPlace placeOfOperands(const Op& op, EvaluationPlace place, size_t number) {
  if (op.has(ir::Trait::Elementwise)) return place;
  if (!isMove(op)) return {&op, number, {}};
  const auto& starts = op.intsAttr("starts");
  place.moved.resize(starts.size());
  for (size_t d = 0; d < starts.size(); ++d) place.moved[d] += starts[d];
  return place;
}

}  // namespace

bool isLarge(const Value& v) { return v.type.size() >= kLarge; }

EvaluationPlaces placesOfOperands(const Op& op, const EvaluationPlaces& places) {
  EvaluationPlaces result;
  for (size_t i = 0; i < places.size(); ++i) result.push_back(placeOfOperands(op, places[i], i));
  return result;
}

void addPlaces(EvaluationPlaces& to, const EvaluationPlaces& more) {
  for (const EvaluationPlace& place : more)
    if (to.size() <= kMostPlaces && !contains(to, place)) to.push_back(place);
}

std::optional<std::vector<const Op*>> betterRepeated(const Op& op, const EvaluationPlaces& places,
                                                     const std::function<bool(const Value&)>& isCheap) {
  const Value& result = *op.result();
  if (!isLarge(result) || !isCheap(result) || places.empty() || places.size() > kMostPlaces) return std::nullopt;
  const int most = kMostWork / std::max(1, static_cast<int>(places.size()) - 1);
  struct Evaluation {
    const Op* op;
    EvaluationPlace place;
    bool operator==(const Evaluation&) const = default;
  };
  std::vector<Evaluation> seen{{&op, {&op, 0, {}}}};
  std::unordered_set<const Op*> tree;
  std::unordered_set<const Value*> inMemory;
  int work = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const Op& next = *seen[i].op;
    tree.insert(&next);
    if (next.has(ir::Trait::Elementwise)) work += divides(next) ? kDivision : 1;
    const EvaluationPlace inner = placeOfOperands(next, seen[i].place, i);
    for (const Value* v : next.operands()) {
      if (isCheap(*v)) {
        if (Evaluation e{v->op, inner}; !contains(seen, e)) seen.push_back(std::move(e));
      } else if (v->type.size() >= kLarge / 8 && inMemory.insert(v).second) {
        bytes += v->type.bytes();
      }
    }
    if (work > most || bytes > kMostReadAgain * result.type.bytes() || seen.size() > 4 * kMostWork) return std::nullopt;
  }
  std::vector<const Op*> followers;
  for (const Evaluation& e : seen) {
    const auto& uses = e.op->result()->uses;
    const auto isWithin = [&](const Value::Use& use) { return tree.contains(use.user); };
    if (e.op != &op && std::all_of(uses.begin(), uses.end(), isWithin)) followers.push_back(e.op);
  }
  return followers;
}

}  // namespace tenc::passes::fusion
