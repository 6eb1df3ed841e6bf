// Of a variable whose values are made elsewhere, as the state of an optimiser often is: that it could start where they
// are. Its first value moves once then, or is made there, while a move in the loop repeats.
#include <algorithm>
#include <unordered_set>

#include "ir/Loops.h"
#include "passes/place/Place.h"
#include "support/Text.h"

namespace tenc::passes::placing {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// The assignment to the variable that `v` is a value of, also in a loop that carries it on; null when there is none.
const Op* assignmentTo(const Value* v) {
  for (const Value::Use& use : v->uses) {
    if (use.user->kind == OpKind::SamePlace && use.operand == 1) return use.user;
    if (!ir::isLoop(*use.user)) continue;
    const size_t first = ir::firstCarriedOperand(*use.user);
    if (use.operand < first) continue;
    const size_t arg = ir::firstCarriedArg(*use.user) + use.operand - first;
    if (const Op* found = assignmentTo(use.user->regions.back()->args[arg].get())) return found;
  }
  return nullptr;
}

}  // namespace

const Value* firstValue(const Value* v) {
  while (true) {
    const Op* loop = v->op ? nullptr : v->region->parentOp;
    if (loop && ir::isLoop(*loop) && v->index >= ir::firstCarriedArg(*loop)) {
      v = loop->operand(ir::firstCarriedOperand(*loop) + v->index - ir::firstCarriedArg(*loop));
    } else if (v->op && v->op->kind == OpKind::SamePlace) {
      v = v->op->operand(1);
    } else {
      return v;
    }
  }
}

bool Reporter::isMadeIn(const Value* v, Span text) const {
  if (!v->op || !covers(text, spanOf(*v->op)) || v->op->has(ir::Trait::Placing) || !v->op->regions.empty())
    return false;
  return std::all_of(v->op->operands().begin(), v->op->operands().end(), [&](const Value* o) {
    return mixes(o->type) ? !o->op || o->op->kind != OpKind::To : isMadeIn(o, text);
  });
}

const ir::Value* Reporter::variableOf(const Value* v) const {
  constexpr int kMostSteps = 64;
  for (int step = 0; v && step < kMostSteps; ++step) {
    if (assignmentTo(v) && !v->op) return v;
    const auto known = instance_.info.find(v);
    if (known == instance_.info.end()) return nullptr;
    const ValueInfo& info = known->second;
    const bool computed = info.why == Why::Operand || info.why == Why::Variable || info.why == Why::CallResult;
    if (!computed || info.from == v) return nullptr;
    v = info.from;
  }
  return nullptr;
}

void Reporter::startHelp(Diagnostic& d, const Op& at, const Value* variable, const std::string& device,
                         const std::vector<Move>& instead, bool itself) const {
  const Op* assigned = at.kind == OpKind::SamePlace ? &at : variable ? assignmentTo(variable) : nullptr;
  if (!assigned) return;
  const std::vector<ir::OperandText>& written = shared_.module.loc(assigned->loc).operands;
  if (written.size() < 2 || !written[1].span.valid()) return;
  const std::string name = calledVariable(*assigned, assigned->operand(1)).text();
  const Span start = written[1].span;
  Move move{nullptr, useAt(start, ""), {0, 1}, 0};
  bool made = true;
  for (const auto& op : assigned->parent->ops) {  // the leaves of a tree
    if (op->kind != OpKind::SamePlace || op->loc.index != assigned->loc.index) continue;
    const Value* first = firstValue(op->operand(1));
    if (mixes(first->type)) continue;
    const Cost cost = costOf(first);
    move.cost = {move.cost.bytes + cost.bytes, cost.trips};
    made = made && isMadeIn(first, start);
  }
  const ir::SourceText* text = textAt(start);
  const Span statement = text ? text->variable : Span{};
  made = made && statement.valid();
  const std::optional<int64_t> once = made ? 0 : total({move}), other = total(instead);
  const bool cheaper = once && (!other || *once < *other);
  if (!cheaper && !itself && !isRepeated(at)) return;
  Help help{itself    ? "let " + name + " start on " + device
            : cheaper ? "cheaper: let " + name + " start on " + device
                      : "if it is to change in the loop on " + device + ", start " + name + " there",
            {}};
  help.cheaper = cheaper;
  if (made) {
    help.edits.push_back({{start.file, statement.begin, statement.begin}, "@" + spelled(device) + " "});
    if (!itself) help.text += ", so that nothing has to be copied";
  } else {
    Use& use = move.use;
    if (use.move.valid()) {  // it is moved already, elsewhere
      help.edits.push_back({use.move, ""});
      use.postfix = true;
    }
    if (!use.postfix) help.edits.push_back({{use.span.file, use.span.begin, use.span.begin}, "("});
    help.edits.push_back(
        {{use.span.file, use.span.end, use.span.end}, (use.postfix ? "" : ")") + (".to(" + spelled(device) + ")")});
    help.text += ": " + formatBytes(static_cast<uint64_t>(move.cost.bytes));
    if (move.cost.trips && *move.cost.trips == 1) help.text += ", once";
  }
  help.mustRemove = true;
  d.helps.push_back(std::move(help));
}

}  // namespace tenc::passes::placing
