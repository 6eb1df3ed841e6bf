// Copies in front of loops, such as those of weights that `hoist` took there, go back to where the loop reads them: one
// of them is in memory at a time then. Part of the order only where a program does not fit otherwise.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "ir/Loops.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Region;

/// A kernel that computes nothing.
bool isCopy(const Op& op) {
  return op.kind == OpKind::Fused && op.results.size() == 1 &&
         std::ranges::all_of(op.regions[0]->ops, [](const auto& inner) {
           return inner->has(ir::Trait::Structural) || inner->has(ir::Trait::Terminator);
         });
}

/// The loop behind a copy that alone reads it; null where there is none.
Op* readingLoop(const Op& copy) {
  Op* loop = nullptr;
  for (const ir::Value::Use& use : copy.result()->uses) {
    Op* at = fusion::within(use.user, *copy.parent);
    if (at == nullptr || at == use.user || !ir::isLoop(*at) || (loop != nullptr && loop != at)) return nullptr;
    loop = at;
  }
  return loop;
}

/// The first op of the one region of the loop that reads the copy; null if several do.
Op* firstReader(const Op& copy, const Op& loop) {
  for (const auto& r : loop.regions) {
    std::unordered_set<const Op*> readers;
    for (const ir::Value::Use& use : copy.result()->uses) readers.insert(fusion::within(use.user, *r));
    if (readers.contains(nullptr)) continue;
    return std::ranges::find_if(r->ops, [&](const auto& op) { return readers.contains(op.get()); })->get();
  }
  return nullptr;
}

void sink(Region& region) {
  std::vector<Op*> copies;
  for (const auto& op : region.ops)
    if (isCopy(*op)) copies.push_back(op.get());
  for (Op* copy : copies) {
    Op* loop = readingLoop(*copy);
    if (Op* reader = loop != nullptr ? firstReader(*copy, *loop) : nullptr) copy->moveBefore(reader);
  }
  for (const auto& op : region.ops) {
    if (op->kind == OpKind::Fused) continue;
    for (const auto& inner : op->regions) sink(*inner);
  }
}

}  // namespace

bool copiesAhead(const Region& region) {
  return std::ranges::any_of(region.ops, [](const auto& op) {
    if (op->kind == OpKind::Fused) return isCopy(*op) && readingLoop(*op) != nullptr;
    return std::ranges::any_of(op->regions, [](const auto& inner) { return copiesAhead(*inner); });
  });
}

bool copyInTime(ir::Module& m, Context&) {
  for (const auto& f : m.funcs) sink(*f->body);
  return true;
}

}  // namespace tenc::passes
