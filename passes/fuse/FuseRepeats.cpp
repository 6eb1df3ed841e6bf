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

int64_t bytesOf(const Value& v) { return v.type.size() * static_cast<int64_t>(ir::byteSize(v.type.dtype)); }

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

}  // namespace

bool isLarge(const Value& v) { return v.type.size() >= kLarge; }

EvaluationPlaces placesOfOperands(const Op& op, const EvaluationPlaces& places) {
  if (op.has(ir::Trait::Elementwise)) return places;
  EvaluationPlaces result;
  for (size_t i = 0; i < places.size(); ++i) {
    if (!isMove(op)) {
      result.push_back({&op, i, {}});
      continue;
    }
    const auto& starts = op.intsAttr("starts");
    EvaluationPlace place = places[i];
    place.moved.resize(starts.size());
    for (size_t d = 0; d < starts.size(); ++d) place.moved[d] += starts[d];
    result.push_back(std::move(place));
  }
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
  const int most = places.size() == 1 ? kMostWork : kMostWork / (static_cast<int>(places.size()) - 1);
  struct Evaluation {
    const Op* op;
    EvaluationPlaces place;  // one
    bool operator==(const Evaluation&) const = default;
  };
  std::vector<Evaluation> seen{{&op, {{&op, 0, {}}}}};
  std::unordered_set<const Value*> inMemory;
  int work = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const Op& next = *seen[i].op;
    if (next.has(ir::Trait::Elementwise)) work += divides(next) ? kDivision : 1;
    const EvaluationPlaces inner = placesOfOperands(next, seen[i].place);
    for (const Value* v : next.operands()) {
      if (isCheap(*v)) {
        if (Evaluation e{v->op, inner}; !contains(seen, e)) seen.push_back(std::move(e));
      } else if (v->type.size() >= kLarge / 8 && inMemory.insert(v).second) {
        bytes += bytesOf(*v);
      }
    }
    if (work > most || bytes > kMostReadAgain * bytesOf(result) || seen.size() > 4 * kMostWork) return std::nullopt;
  }
  std::vector<const Op*> tree;
  for (const Evaluation& e : seen)
    if (!contains(tree, e.op)) tree.push_back(e.op);
  const std::vector<const Op*> all = tree;
  std::erase_if(tree, [&](const Op* o) {
    return o == &op || !std::all_of(o->result()->uses.begin(), o->result()->uses.end(), [&](const Value::Use& use) {
             return contains(all, const_cast<const Op*>(use.user));
           });
  });
  return tree;
}

}  // namespace tenc::passes::fusion
