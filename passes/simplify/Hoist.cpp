// Loop-invariant code motion for what is worth it: reductions, products and library routines whose operands a loop does
// not change are computed once, in front of it. Elementwise and structural ops that lead to them come along as copies;
// those stay in the loop too while something else there uses them, where they fuse (so nothing may merge equal ops
// afterwards). What stays: what may fault, as the loop may never get to it; products and routines of a loop that may
// have no trip; large results, which would be in memory during all of the loop; moves between devices, which are
// settled; everything in loops that ask for the time. Before moves are settled the same is done for what leads to them.
// Copies that lay out the weights of convolutions leave loops as well, up to a part of the device's memory (and go back
// where they do not fit: CopyInTime.cpp), and a `bench`: it measures what a loop around it would take.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "ir/Loops.h"
#include "passes/Passes.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

constexpr int64_t kMostKept = 1 << 20;   // bytes of results in front of one loop
constexpr uint64_t kPartForWeights = 8;  // of a device's memory, one in so many bytes

class Hoister {
 public:
  /// `moves`: what leads to a move between devices is worth it, and nothing else.
  Hoister(bool moves, const Context& context) : moves_(moves), context_(context) {}

  void region(Region& r) {
    for (const auto& op : r.ops) {
      if (op->kind == OpKind::Fused) continue;
      for (const auto& inner : op->regions) region(*inner);
      if (!(isLoop(*op) || op->kind == OpKind::Bench) || asksForTime(*op)) continue;
      Kept kept;
      for (const auto& inner : op->regions) hoist(*inner, *op, kept);
    }
  }

 private:
  /// Bytes of results in front of one loop.
  struct Kept {
    int64_t results = 0;
    uint64_t weights = 0;
  };

  static bool asksForTime(const Op& op) {
    return op.kind == OpKind::Time || std::any_of(op.regions.begin(), op.regions.end(), [](const auto& r) {
             return std::any_of(r->ops.begin(), r->ops.end(), [](const auto& inner) { return asksForTime(*inner); });
           });
  }

  /// A `for` of known length, or the condition of a `while`.
  static bool surelyRuns(const Region& body, const Op& loop) {
    return loop.kind == OpKind::While ? &body == loop.regions.front().get() : tripCount(loop).value_or(0) > 0;
  }

  void hoist(Region& body, Op& loop, Kept& kept) {
    ValueMap copies;
    Builder before(&loop);
    const bool bench = loop.kind == OpKind::Bench, runs = !bench && surelyRuns(body, loop);
    std::unordered_set<const Value*> varying;
    for (const auto& a : body.args) varying.insert(a.get());
    for (const auto& op : body.ops) {
      if (mayMove(*op) && (runs || !isHeavy(*op)) &&
          std::none_of(op->operands().begin(), op->operands().end(),
                       [&](const Value* v) { return varying.count(v) != 0; })) {
        const bool takes = laysOutWeights(*op) ? (!bench || onlyMoves(*op, body)) && takeWeights(*op, kept)
                                               : !bench && isWorthIt(*op) && takeResults(*op, kept);
        if (takes) copy(*op, body, before, copies);
        continue;
      }
      for (const auto& result : op->results) varying.insert(result.get());
    }
  }

  bool mayMove(const Op& op) const {
    if (op.kind == OpKind::Transfer) return moves_;
    return op.regions.empty() && !op.results.empty() && op.kind != OpKind::Call && !op.has(Trait::HasSideEffect) &&
           !op.has(Trait::HostEffect) && !op.has(Trait::CanFault) && !op.has(Trait::Placing);
  }

  static bool isHeavy(const Op& op) { return op.has(Trait::Product) || op.has(Trait::Library); }

  /// A move of what stands outside of the loop is taken out of it by the pass `moves`.
  bool isWorthIt(const Op& op) const {
    if (moves_) return op.kind == OpKind::Transfer && op.operand(0)->op && op.operand(0)->op->parent == op.parent;
    return op.has(Trait::Reduction) || isHeavy(op);
  }

  /// Whether the op makes weights as convolutions read them.
  bool laysOutWeights(const Op& op) const {
    if (moves_ || op.results.size() != 1) return false;
    const auto& uses = op.result()->uses;
    return !uses.empty() && std::ranges::all_of(uses, [](const Value::Use& use) {
      return use.user->has(Trait::LoadsColumns) && use.user->boolAttr("out_last") && use.operand == 1;
    });
  }

  /// Whether what leads to the op in the body computes nothing.
  static bool onlyMoves(const Op& op, const Region& body) {
    return op.has(Trait::Structural) && std::ranges::all_of(op.operands(), [&](const Value* v) {
             return v->op == nullptr || v->op->parent != &body || onlyMoves(*v->op, body);
           });
  }

  bool takeWeights(const Op& op, Kept& kept) const {
    const auto bytes = static_cast<uint64_t>(op.result()->type.bytes());
    const Placement& place = op.result()->type.place;
    const std::string device = place.isFree() ? std::string(DeviceTable::kHost) : place.device;
    if (context_.capacity && context_.capacity(device) / kPartForWeights < kept.weights + bytes) return false;
    kept.weights += bytes;
    return true;
  }
  static bool takeResults(const Op& op, Kept& kept) {
    const int64_t bytes = bytesOf(op);
    if (bytes > kMostKept - kept.results) return false;
    kept.results += bytes;
    return true;
  }

  /// Of its results; of too many no more than that.
  static int64_t bytesOf(const Op& op) {
    int64_t bytes = 0;
    for (const auto& r : op.results) bytes += std::min(r->type.bytes(), kMostKept + 1);
    return bytes;
  }

  /// Copies `op`, and before it what it needs of the loop's body, in front of the loop. The copy takes its place.
  static void copy(Op& op, const Region& body, Builder& before, ValueMap& copies) {
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

  const bool moves_;
  const Context& context_;
};

}  // namespace

bool hoist(Module& m, Context& c) {
  for (const auto& f : m.funcs) Hoister(/*moves=*/false, c).region(*f->body);
  return true;
}

bool hoistMoved(Module& m, Context& c) {
  for (const auto& f : m.funcs) Hoister(/*moves=*/true, c).region(*f->body);
  return true;
}

}  // namespace tenc::passes
