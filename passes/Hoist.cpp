// Loop-invariant code motion for what is worth it: reductions, products and library routines whose operands a loop does
// not change are computed once, in front of it. Elementwise and structural ops that lead to them come along as copies;
// those stay in the loop too while something else there uses them, where they fuse. What may fault stays, as the loop
// may never get to it, and so does what would keep much memory in use during the loop.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/Loops.h"
#include "passes/Passes.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

constexpr int64_t kSmall = 1 << 20;   // bytes that a result may have in any case
constexpr int64_t kShrinks = 8;       // a larger one is at most this part of what it is computed from

class Hoister {
 public:
  void region(Region& r) {
    for (const auto& op : r.ops) {
      if (op->kind == OpKind::Fused) continue;
      for (const auto& inner : op->regions) region(*inner);
      if (!isLoop(*op)) continue;
      for (const auto& inner : op->regions) hoist(*inner, *op);
    }
  }

 private:
  void hoist(Region& body, Op& loop) {
    ValueMap copies;
    Builder before(&loop);
    std::unordered_set<const Value*> varying;
    for (const auto& a : body.args) varying.insert(a.get());
    for (const auto& op : body.ops) {
      if (mayMove(*op) && std::none_of(op->operands().begin(), op->operands().end(),
                                       [&](const Value* v) { return varying.count(v) != 0; })) {
        if (isWorthIt(*op)) copy(*op, body, before, copies);
        continue;
      }
      for (const auto& result : op->results) varying.insert(result.get());
    }
  }

  static bool mayMove(const Op& op) {
    return op.regions.empty() && !op.results.empty() && op.kind != OpKind::Call && !op.has(Trait::HasSideEffect) &&
           !op.has(Trait::HostEffect) && !op.has(Trait::Control) && !op.has(Trait::Terminator) &&
           !op.has(Trait::CanFault) && !op.has(Trait::Placing);
  }

  static bool isWorthIt(const Op& op) {
    if (!op.has(Trait::Reduction) && !op.has(Trait::Product) && !op.has(Trait::Library)) return false;
    int64_t in = 0, out = 0;
    for (const Value* v : op.operands()) in += v->type.bytes();
    for (const auto& r : op.results) out += r->type.bytes();
    return out <= std::max(kSmall, in / kShrinks);
  }

  /// Copies `op`, and before it what it needs of the loop's body, in front of the loop. The copy takes its place.
  static void copy(Op& op, const Region& body, Builder& before, ValueMap& copies) {
    if (copies.count(op.result()) != 0) return;
    std::vector<Op*> needed = {&op};
    std::unordered_set<const Op*> seen = {&op};
    for (size_t i = 0; i < needed.size(); ++i) {
      for (const Value* v : needed[i]->operands()) {
        if (v->op && v->op->parent == &body && copies.count(v) == 0 && seen.insert(v->op).second)
          needed.push_back(v->op);
      }
    }
    // An op stands behind its operands.
    std::vector<const Op*> order;
    for (const auto& o : body.ops) {
      if (seen.count(o.get()) != 0) order.push_back(o.get());
      if (o.get() == &op) break;
    }
    for (const Op* o : order) clone(*o, before, copies);
    for (const auto& r : op.results) r->replaceAllUsesWith(copies.at(r.get()));
  }
};

}  // namespace

bool hoist(Module& m, Context&) {
  for (const auto& f : m.funcs) Hoister().region(*f->body);
  return true;
}

}  // namespace tenc::passes
