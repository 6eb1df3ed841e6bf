#include "codegen/Overwrites.h"

#include <algorithm>
#include <vector>

#include "ir/Loops.h"
#include "ir/Scalar.h"

namespace tenc::codegen {
using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

/// The variable of a loop that counts from 0 by 1, and its end.
struct Counter {
  const Value* variable;
  int64_t end;
};

bool isNumber(const Value* v, int64_t n) {
  const auto c = ir::constantScalar(v);
  return c && c->i == n;
}

/// Whether the places of all its updates, one in each trip of the loops around it, make up a tensor.
bool coversAll(const Op& scatter, const std::vector<Counter>& loops) {
  if (scatter.kind != OpKind::Scatter || scatter.stringAttr("mode") != "set") return false;
  const ir::Type& t = scatter.operand(0)->type;
  const auto& axes = scatter.intsAttr("axes");
  if (static_cast<int64_t>(axes.size()) != t.rank() || scatter.operand(1)->type.rank() != 0) return false;
  std::vector<const Value*> used;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Value* at = scatter.operand(2 + i);
    const auto loop = std::find_if(loops.begin(), loops.end(), [&](const Counter& c) { return c.variable == at; });
    if (loop == loops.end() || loop->end != t.shape[static_cast<size_t>(axes[i])]) return false;
    if (std::find(used.begin(), used.end(), at) != used.end()) return false;
    used.push_back(at);
  }
  return true;
}

/// Whether a loop, whenever it runs, overwrites what it carries as number `i`.
bool loopOverwrites(const Op& loop, size_t i, std::vector<Counter> loops) {
  if (loop.kind != OpKind::For || !isNumber(loop.operand(0), 0) || !isNumber(loop.operand(2), 1)) return false;
  const auto end = ir::constantScalar(loop.operand(1));
  if (!end || end->i < 1) return false;
  const ir::Region& region = *loop.regions[0];
  loops.push_back({region.args[0].get(), end->i});
  const Value* before = region.args[ir::firstCarriedArg(loop) + i].get();
  if (before->uses.size() != 1) return false;
  const Op& user = *before->uses[0].user;
  if (user.parent != &region) return false;
  size_t result = 0;
  if (user.kind == OpKind::Scatter) {
    if (before->uses[0].operand != 0 || !coversAll(user, loops)) return false;
  } else {
    if (user.kind != OpKind::For || before->uses[0].operand < ir::firstCarriedOperand(user)) return false;
    result = before->uses[0].operand - ir::firstCarriedOperand(user);
    if (!loopOverwrites(user, result, loops)) return false;
  }
  const Value* after = user.result(result);
  return after->uses.size() == 1 && region.terminator()->operand(i) == after;
}

}  // namespace

bool overwritesAll(const Op& fused, size_t operand) {
  if (fused.kind != OpKind::Fused || fused.stringAttr("kind") != "native") return false;
  const Value* arg = fused.regions[0]->args[operand].get();
  if (arg->uses.size() != 1) return false;
  const Value::Use& use = arg->uses[0];
  if (use.user->kind != OpKind::For || use.operand < ir::firstCarriedOperand(*use.user)) return false;
  return loopOverwrites(*use.user, use.operand - ir::firstCarriedOperand(*use.user), {});
}

bool isOverwritten(const Op& fused) {
  if (fused.kind != OpKind::Fused || fused.results.size() != 1 || fused.result()->uses.size() != 1) return false;
  const auto& ops = fused.regions[0]->ops;
  if (std::any_of(ops.begin(), ops.end(), [](const auto& op) { return op->has(ir::Trait::CanFault); })) return false;
  const Value::Use& use = fused.result()->uses[0];
  return overwritesAll(*use.user, use.operand);
}

}  // namespace tenc::codegen
