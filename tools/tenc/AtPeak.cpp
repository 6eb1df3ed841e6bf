#include "tools/tenc/AtPeak.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "ir/Loops.h"
#include "support/Quote.h"

namespace tenc::tool {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;

/// The op in a kernel that makes its result; other values' ops as they are. Null for inputs.
const Op* maker(const Value& v) {
  const Op* op = v.op ? v.op : v.region->parentOp;
  if (v.op && op->kind == OpKind::Fused) {
    const Value* inside = op->regions[0]->terminator()->operand(v.index);
    if (inside->op && inside->op->loc.index != 0) return inside->op;
  }
  return op;
}

/// Ops that write a value into a larger one, which is operand 0.
bool isUpdate(const Op& op) {
  return op.kind == OpKind::UpdateSlice || op.kind == OpKind::DynamicUpdate || op.has(Trait::Scatters);
}

/// The loop that makes or carries a value, also one that is a kernel.
const Op* loopOf(const Value& v) {
  const Op* op = v.op ? v.op : v.region->parentOp;
  if (!v.op || op->kind != OpKind::Fused) return op;
  const Op* inside = op->regions[0]->terminator()->operand(v.index)->op;
  return inside && ir::isLoop(*inside) ? inside : op;
}

/// What is written into `v` in every trip of the loop that makes it, and the region in which it is written.
const Value* rowOf(const Value& v) {
  if (v.op && loopOf(v) != v.op) return rowOf(*v.op->regions[0]->terminator()->operand(v.index));
  const Op* loop = loopOf(v);
  if (!loop || loop->kind != OpKind::For) return nullptr;
  const size_t number = v.op ? v.index : v.index - ir::firstCarriedArg(*loop);
  if (!v.op && v.index < ir::firstCarriedArg(*loop)) return nullptr;
  const Value* next = loop->regions[0]->terminator()->operand(number);
  const Op* kernel = next->op;
  if (!kernel) return nullptr;
  if (kernel->kind == OpKind::Fused) next = kernel->regions[0]->terminator()->operand(next->index);
  if (!next->op || !isUpdate(*next->op)) return nullptr;
  const Value* row = next->op->operand(1);
  while (row->op && row->op->kind == OpKind::Reshape) row = row->op->operand(0);
  if (!row->op && row->region->parentOp == kernel) row = kernel->operand(row->index);
  while (row->op && row->op->kind == OpKind::Reshape) row = row->op->operand(0);
  return row;
}

/// Who reads a value after the peak.
class Readers {
 public:
  Readers(const ir::Region& main, const Op* peak) : peak_(peak) { number(main); }

  struct Found {
    bool backward = false, other = false;  ///< in the backward half of a gradient, elsewhere
    const Op* first = nullptr;             ///< the first in a backward half
  };
  Found of(const Value& v) {
    found_ = {};
    seen_.clear();
    if (peak_) follow(v);
    return found_;
  }

 private:
  void number(const ir::Region& r) {
    for (const auto& op : r.ops) {
      order_.emplace(op.get(), order_.size());
      for (const auto& inner : op->regions) number(*inner);
    }
  }

  /// Whether the op runs after the peak: it stands behind it, or both are in a loop that the value outlives.
  bool isLater(const Op& user, const Value& v) const {
    if (order_.at(&user) > order_.at(peak_)) return true;
    for (const Op* outer = user.parent->parentOp; outer; outer = outer->parent->parentOp) {
      if (!ir::isLoop(*outer) || !peak_->parent->isInside(*outer)) continue;
      const ir::Region* home = v.home();
      if (!home->isInside(*outer) || (!v.op && home->parentOp == outer)) return true;
    }
    return false;
  }

  void follow(const Value& v) {
    if (!seen_.insert(&v).second) return;
    for (const Value::Use& use : v.uses) visit(*use.user, use.operand, v);
  }

  /// The arguments and the result of a loop that carry its operand `number`, from 0.
  void carried(const Op& loop, size_t number) {
    for (const auto& r : loop.regions) follow(*r->args[ir::firstCarriedArg(loop) + number]);
    follow(*loop.result(number));
  }

  void visit(const Op& user, uint32_t operand, const Value& v) {
    const Op* outer = user.parent->parentOp;
    switch (user.kind) {
      case OpKind::Reshape:
      case OpKind::Slice: return follow(*user.result());
      case OpKind::Yield:
        if (ir::isLoop(*outer)) return carried(*outer, operand);
        return outer->results.size() > operand ? follow(*outer->result(operand)) : void();
      case OpKind::For:
      case OpKind::While:
        if (operand >= ir::firstCarriedOperand(user)) return carried(user, operand - ir::firstCarriedOperand(user));
        break;
      case OpKind::Return: found_.other = true; return;
      default: break;
    }
    if (user.kind == OpKind::Fused) return kernel(user, operand, v);
    read(user, user, v);
  }

  void kernel(const Op& fused, uint32_t operand, const Value& v) {
    const Value& inside = *fused.regions[0]->args[operand];
    const auto& results = fused.regions[0]->terminator()->operands();
    for (const Value::Use& use : inside.uses) {
      const Op& op = *use.user;
      if (op.has(Trait::Terminator)) {
        follow(*fused.result(use.operand));
        continue;
      }
      const auto made = std::find_if(results.begin(), results.end(), [&](const Value* r) { return r->op == &op; });
      if (use.operand == 0 && isUpdate(op) && made != results.end())
        follow(*fused.result(static_cast<size_t>(made - results.begin())));
      else
        read(op, fused, v);
    }
  }

  /// `op` reads the value, in the kernel `at` if it is in one.
  void read(const Op& op, const Op& at, const Value& v) {
    const Op* back = backward(op, at);
    // The backward pass may read it for the last time at the peak.
    if (&at == peak_ ? !back : !isLater(at, v)) return;
    if (!back) {
      found_.other = true;
      return;
    }
    found_.backward = true;
    if (!found_.first || order_.at(back) < order_.at(found_.first)) found_.first = back;
  }

  /// The op of the backward half for which `op` reads; null for none. What both halves compute may stand in a kernel of
  /// the backward pass as it was written for the forward pass.
  static const Op* backward(const Op& op, const Op& at) {
    if (op.loc.half == ir::Half::Backward) return &op;
    if (at.kind != OpKind::Fused) return nullptr;
    for (const auto& result : op.results) {
      for (const Value::Use& use : result->uses) {
        if (const Op* found = use.user->has(Trait::Terminator) ? nullptr : backward(*use.user, at)) return found;
      }
    }
    return nullptr;
  }

  const Op* peak_;
  std::unordered_map<const Op*, size_t> order_;
  std::unordered_set<const Value*> seen_;
  Found found_;
};

/// Behind ops that only take a part of a value, or move elements.
const Op* computing(const Op* op) {
  while (op->has(Trait::Structural) || op->has(Trait::Gathers) || op->kind == OpKind::DynamicSlice) {
    if (op->results.empty() || op->result()->uses.empty()) return op;
    const Op* next = op->result()->uses[0].user;
    if (next->has(Trait::Terminator) || next->kind == OpKind::Fused) return op;
    op = next;
  }
  return op;
}

}  // namespace

ir::Loc userLoc(const ir::Module& m, ir::Loc at, const SourceManager& sources) {
  ir::Loc place = at;
  while (place.index != 0 && (m.span(place).file >= sources.size() || sources.inLibrary(m.span(place))))
    place = m.loc(place).caller;
  return place.index != 0 ? place : at;
}

Span userPlace(const ir::Module& m, ir::Loc at, const SourceManager& sources) {
  const Span span = m.span(userLoc(m, at, sources));
  return span.file < sources.size() ? span : Span{};
}

std::string quoteExpression(const ir::Module& m, Span span, const SourceManager& sources) {
  if (!span.valid()) return {};
  const ir::SourceText* text = m.texts->find(span);
  if (text && text->whole.valid()) span = text->whole;
  return isQuotable(sources, span) ? quote(sources, span) : std::string();
}

std::string describe(const ir::Module& m, const Held& held, const SourceManager& sources) {
  if (!held.name.empty()) return "`" + held.name + "`";
  const std::string text = quoteExpression(m, held.place, sources);
  if (held.made.half == ir::Half::Backward) return text.empty() ? "the backward pass" : "the backward pass of " + text;
  return text.empty() ? "a value" : text;
}

AtPeak atPeak(const ir::Module& m, const codegen::MemoryPlan::Device& device, const SourceManager& sources) {
  AtPeak result;
  const Op* peak = device.peakOp;
  Readers readers(*m.main()->body, peak);
  if (peak) {
    const Op* inside = peak->kind == OpKind::Fused && !peak->results.empty() ? maker(*peak->result()) : peak;
    result.half = inside->loc.half;
    result.place = userPlace(m, inside->loc, sources);
  }
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, ir::Half, std::string, std::string, bool>, size_t> known;
  for (const codegen::MemoryPlan::Alive& a : device.atPeak) {
    Held one{a.value, a.value->name, {}, {}, 1, a.bytes, a.bytes, 0, false, {}};
    const Op* op = maker(*a.value);
    if (op) one.made = op->loc;
    if (one.made.half == ir::Half::Forward) {
      const Readers::Found found = readers.of(*a.value);
      one.kept = found.backward && !found.other;
      if (one.kept) one.reader = userPlace(m, computing(found.first)->loc, sources);
    }
    const Value* row = one.kept ? rowOf(*a.value) : nullptr;
    if (row) {
      one.trips = ir::tripCount(*loopOf(*a.value)).value_or(0);
      const Op* rowMaker = maker(*row);
      if (rowMaker) one.made = rowMaker->loc;
      if (one.name.empty()) one.name = row->name;
    }
    one.place = userPlace(m, one.made, sources);
    if (one.kept) {
      result.kept += a.bytes;
      result.residuals.emplace_back(one.made, a.bytes);
    }
    ir::Type type = a.value->type;
    type.place = {};
    const Span& place = one.place;
    const auto [at, fresh] = known.try_emplace(
        {place.file, place.begin, place.end, one.made.half, one.name, ir::toString(type), one.kept}, result.all.size());
    if (fresh) {
      result.all.push_back(std::move(one));
      continue;
    }
    Held& like = result.all[at->second];
    ++like.count;
    like.bytes += a.bytes;
  }
  const auto more = [](const Held& a, const Held& b) { return a.bytes > b.bytes; };
  std::stable_sort(result.all.begin(), result.all.end(), more);
  const auto largest = std::max_element(result.all.begin(), result.all.end(),
                                        [](const Held& a, const Held& b) { return a.largest < b.largest; });
  if (largest != result.all.end()) std::rotate(result.all.begin(), largest, largest + 1);
  return result;
}

}  // namespace tenc::tool
