// Replaces every call by the callee's body, callees first. Locations keep the chain of calls; functions that were
// called are dropped afterwards, so that entry points remain.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/CallAttributes.h"
#include "passes/Passes.h"
#include "passes/decompose/Decompose.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

void collectCalls(const Region& region, std::vector<Op*>& calls) {
  for (const auto& op : region.ops) {
    if (op->kind == OpKind::Call) calls.push_back(op.get());
    for (const auto& inner : op->regions) collectCalls(*inner, calls);
  }
}

constexpr size_t kMostOps = 200'000;

size_t countOps(const Region& region) {
  size_t n = region.ops.size();
  for (const auto& op : region.ops) {
    for (const auto& inner : op->regions) n += countOps(*inner);
  }
  return n;
}

class Inliner {
 public:
  Inliner(Module& m, const Context& c) : module_(m), context_(c), diags_(c.diags) {
    for (const auto& f : m.funcs) functions_.emplace(f->name, f.get());
  }

  bool run() {
    for (const auto& f : module_.funcs) expandedSize(f.get());
    if (tooMany_ != nullptr) return tooMany(*tooMany_);
    for (size_t i = 0; i < module_.funcs.size(); ++i) visit(module_.funcs[i].get());
    std::erase_if(module_.funcs, [&](const auto& f) { return called_.contains(f.get()); });
    for (const auto& f : module_.funcs) wholeGradients(*f);
    return true;
  }

 private:
  /// Ops of `f` with those of all that it calls. A function as long as it is written is never too much, only calls are.
  size_t expandedSize(const Func* f) {
    if (auto it = size_.find(f); it != size_.end()) return it->second;
    size_t expansion = 0;
    std::vector<Op*> calls;
    collectCalls(*f->body, calls);
    for (const Op* call : calls) {
      auto it = functions_.find(call->stringAttr("callee"));
      if (it == functions_.end()) continue;
      expansion = std::min(expansion + expandedSize(it->second), kMostOps + 1);
      if (expansion > kMostOps && tooMany_ == nullptr) tooMany_ = call;
    }
    return size_[f] = countOps(*f->body) + expansion;
  }

  /// Inlines all calls in `f`; calls form no cycle (the verifier checks).
  void visit(Func* f) {
    if (!visited_.insert(f).second) return;
    std::vector<Op*> calls;
    collectCalls(*f->body, calls);
    for (Op* call : calls) {
      auto it = functions_.find(call->stringAttr("callee"));
      if (it == functions_.end()) continue;
      visit(it->second);
      called_.insert(it->second);
      if (!isWholeGradient(*call, context_.traitsOf(*call))) inlineCall(call, *it->second);
    }
  }

  std::string sourceName(const Op& call) const {
    const Func* callee = module_.find(call.stringAttr("callee"));
    return callee ? callee->source : call.stringAttr("callee");
  }

  bool tooMany(const Op& call) {
    if (diags_ == nullptr) return false;
    const LocData& at = module_.loc(call.loc);
    diags_->report(Code::E0105, at.span, "the calls of this program expand to more than 200,000 operations")
        .label("with the body of `" + sourceName(call) + "`");
    return false;
  }

  void inlineCall(Op* call, const Func& callee) {
    ValueMap map;
    for (size_t i = 0; i < call->operandCount(); ++i) map[callee.body->args[i].get()] = call->operand(i);
    std::unordered_map<uint32_t, uint32_t> chained;  // indices of locations
    Builder at(call);
    // What stands for an op is where that is.
    if (call->hasAttr(kGradientOf)) chained.emplace(callee.body->terminator()->loc.index, call->loc.index);
    for (const auto& op : callee.body->ops) {
      if (op->kind == OpKind::Return) break;
      relocate(*clone(*op, at, map), call->loc, callee, chained);
    }
    const Op* end = callee.body->terminator();
    for (size_t i = 0; i < call->results.size(); ++i) {
      auto it = map.find(end->operand(i));
      Value* value = it == map.end() ? end->operand(i) : it->second;
      if (value->name.empty()) value->name = call->result(i)->name;
      call->result(i)->replaceAllUsesWith(value);
    }
    call->erase();
  }

  void relocate(Op& op, Loc caller, const Func& callee, std::unordered_map<uint32_t, uint32_t>& chained) {
    op.loc = chain(op.loc, caller, callee, chained);
    for (const auto& region : op.regions) {
      for (const auto& inner : region->ops) relocate(*inner, caller, callee, chained);
    }
  }

  /// `loc` of the callee as seen from the caller: the end of its chain of calls goes on at `caller`. What a half of a
  /// gradient calls is a part of it.
  Loc chain(Loc loc, Loc caller, const Func& callee, std::unordered_map<uint32_t, uint32_t>& chained) {
    const Half half = caller.half == Half::None ? loc.half : caller.half;
    if (auto it = chained.find(loc.index); it != chained.end()) return {it->second, half};
    LocData data = module_.loc(loc);
    if (data.caller.index != 0) {
      data.caller = chain(data.caller, caller, callee, chained);
    } else {
      data.caller = caller;
      data.callee = callee.signature.empty() ? callee.source : callee.signature;
    }
    const uint32_t index = module_.addLoc(std::move(data)).index;
    chained[loc.index] = index;
    return {index, half};
  }

  Module& module_;
  const Context& context_;
  Diagnostics* diags_;
  std::unordered_map<const Func*, size_t> size_;
  const Op* tooMany_ = nullptr;  ///< the first call that brings too many ops
  std::unordered_map<std::string_view, Func*> functions_;
  std::unordered_set<const Func*> visited_, called_;
};

}  // namespace

bool inlineCalls(Module& m, Context& c) { return Inliner(m, c).run(); }

}  // namespace tenc::passes
