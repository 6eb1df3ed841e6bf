// `if`: a branch that is known at compile time alone, else both, joined at the boundary when one may leave.
#include "frontend/control/Branches.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/control/Continuations.h"
#include "frontend/control/Flow.h"
#include "frontend/control/Regions.h"
#include "frontend/control/Statements.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/names/UnknownNames.h"
#include "frontend/values/PlacingOps.h"

namespace tenc::frontend {

namespace {
using ir::DType;
using ir::OpKind;

/// Whether a bool follows from comparisons of devices, which placement decides.
bool comparesDevices(const ir::Value* condition) {
  std::vector<const ir::Value*> bools = {condition};
  std::unordered_set<const ir::Value*> seen;  // bools may share what they follow from
  while (!bools.empty()) {
    const ir::Value* v = bools.back();
    bools.pop_back();
    if (!v->op || v->type.dtype != DType::Bool || !v->type.shape.empty() || !seen.insert(v).second) continue;
    if (v->op->kind == OpKind::DeviceEq) return true;
    bools.insert(bools.end(), v->op->operands().begin(), v->op->operands().end());
  }
  return false;
}
}  // namespace

void Branches::compared(Diagnostics::Builder& d, const ast::Expr& number) {
  const bool compound = number.kind == ast::Expr::Kind::Binary || number.kind == ast::Expr::Kind::If;
  const std::string text(context_.sources.text(number.span));
  d.help("compare it", {{number.span, (compound ? "(" + text + ")" : text) + " != 0"}});
}

Val Branches::conditionOf(const ast::Expr& e, std::string_view what) {
  Val c = expressions_.eval(e);
  if (c.poison() || c.is(Val::Kind::Bool)) return c;
  if (c.is(Val::Kind::Tensor)) {
    if (c.tensor->type.dtype == DType::Bool && c.tensor->type.shape.empty()) return c;
    auto d = context_.error(Code::E0203, e.span,
                            "the condition of `" + std::string(what) + "` is one bool, not " + describe(c));
    const bool one = c.tensor->type.size() == 1;
    if (c.tensor->type.dtype == DType::Bool)
      d.help("`any(...)` or `all(...)` makes one of it",
             one ? std::vector<Edit>{{e.span, "all(" + std::string(context_.sources.text(e.span)) + ")"}}
                 : std::vector<Edit>{});
    else if (c.tensor->type.shape.empty())
      compared(d, e);
    else
      d.help("compare it, and say of which elements: `any(x != 0)`, `all(x > 0)`");
    return d;
  }
  auto d = context_.error(Code::E0203, e.span,
                          "the condition of `" + std::string(what) + "` is one bool, not " + describe(c));
  if (c.isNumber()) compared(d, e);
  return d;
}

std::string Branches::decisionKey(Span condition) {
  const std::string key = std::string(context_.sources.file(condition.file).name()) + ":" +
                          std::to_string(condition.begin) + " in " + context_.frame().signature;
  return key + " #" + std::to_string(++decisions_[key]);
}

namespace {

/// Notes the key of an `if` on devices whose branches had errors.
class Undecided {
 public:
  Undecided(const Diagnostics& diags, std::vector<std::string>& keys, std::string key)
      : diags_(diags), keys_(keys), key_(std::move(key)), errors_(diags.errors()) {}
  Undecided(const Undecided&) = delete;
  Undecided& operator=(const Undecided&) = delete;
  ~Undecided() {
    if (!key_.empty() && diags_.errors() > errors_) keys_.push_back(key_);
  }

 private:
  const Diagnostics& diags_;
  std::vector<std::string>& keys_;
  const std::string key_;
  const size_t errors_;
};
}  // namespace

Flow Branches::lowerIf(const ast::Expr& e, size_t which, const Tail& tail, const Ty* expected) {
  if (which >= e.args.size()) {  // the else, or nothing
    if (e.blocks.size() > e.args.size()) return statements_.lowerBlock(e.blocks.back(), &tail, expected);
    Flow f;
    f.value = Val::unit(e.span);
    return f;
  }
  const Val condition = conditionOf(*e.args[which], "if");
  if (condition.is(Val::Kind::Bool)) {
    context_.coverage.decided(e, which, condition.boolean);
    // Names that several branches assign are told of where their types are known.
    Flow taken = condition.boolean ? statements_.lowerBlock(e.blocks[which], &tail, expected)
                                   : lowerIf(e, which + 1, tail, expected);
    for (size_t i = condition.boolean ? which + 1 : which; i < e.blocks.size(); ++i) {
      if (condition.boolean || i == which) unknownNames_.checkNames(e.blocks[i]);
    }
    return taken;
  }
  const bool hasElse = e.blocks.size() > e.args.size();
  std::vector<Span> assigning;
  Exits exits;
  for (size_t i = which; i < e.blocks.size(); ++i) {
    assigning.push_back(e.blocks[i].span);
    // The condition of an `else if` is a part of the branch.
    if (i > which && i < e.args.size()) assigning.push_back(e.args[i]->span);
    const Exits x = exitsOf(e.blocks[i]);
    exits.breaks |= x.breaks;
    exits.continues |= x.continues;
    exits.returns |= x.returns;
  }
  if (condition.poison()) {
    // Both branches are looked at for their own errors; what they assign is not known afterwards.
    Boundary lost;
    scopes_.assignedIn(assigning, lost);
    for (size_t i = which; i < e.blocks.size(); ++i) {
      Boundary inner = *context_.body.boundary;
      const Scoped inside(context_.body.boundary, &inner);
      statements_.lowerBlock(e.blocks[i], nullptr, nullptr);
    }
    for (Binding* v : lost.vars) v->value = context_.lost();
    Flow f;
    f.value = context_.lost();
    return f;
  }
  const bool onDevices = comparesDevices(condition.tensor);
  const std::string key = onDevices ? decisionKey(e.args[which]->span) : "";
  if (const auto decided = context_.options.decisions.find(key);
      onDevices && decided != context_.options.decisions.end()) {
    const bool taken = decided->second;
    context_.coverage.decided(e, which, taken);
    context_.at(e.args[which]->span);
    context_.b().makeTyped(OpKind::DecidedBranch, {condition.tensor}, {}, {{"key", key}, {"taken", taken}});
    for (size_t i = taken ? which + 1 : which; i < e.blocks.size(); ++i) {
      if (taken || i == which) unknownNames_.checkNames(e.blocks[i]);
    }
    if (taken) return statements_.lowerBlock(e.blocks[which], &tail, expected);
    return lowerIf(e, which + 1, tail, expected);
  }
  const Undecided undecided(context_.diags, context_.out.undecided, key);
  const Scoped conditions(context_.deviceConditions, context_.deviceConditions + (onDevices ? 1 : 0));
  if (!exits.any()) {
    Boundary local;
    local.kind = Boundary::Kind::Region;
    local.wantsValue = tail.wanted;
    scopes_.assignedIn(assigning, local);
    const std::vector<Val> before = valuesOf(local.vars);
    std::vector<std::string> labels;
    for (const std::string& n : local.names) labels.push_back("`" + n + "`");
    labels.push_back("the value");
    auto branch = [&](bool taken) {
      setValues(local.vars, before);
      Flow f;
      {
        const Scoped inside(context_.body.boundary, &local);
        f = taken ? statements_.lowerBlock(e.blocks[which], nullptr, expected) : lowerIf(e, which + 1, tail, expected);
      }
      std::vector<Val> values = valuesOf(local.vars);
      values.push_back(hasElse && tail.wanted ? placing_.enterAnnotation(f.value) : Val::unit());
      return values;
    };
    std::vector<Val> merged =
        regions_.emitIf(condition.tensor, e.span, labels, [&] { return branch(true); }, [&] { return branch(false); });
    setValues(local.vars, merged);
    Flow f;
    f.value = merged.back();
    return f;
  }
  if (context_.body.boundary->kind == Boundary::Kind::Expression) return continuations_.leave(Exit::Return, {}, e.span);
  return lowerExitingIf(e, which, condition.tensor, assigning, tail, expected);
}

Flow Branches::lowerExitingIf(const ast::Expr& e, size_t which, ir::Value* condition, std::span<const Span> assigning,
                              const Tail& tail, const Ty* expected) {
  constexpr int kMostCopies = 4;
  // The branches go on with what follows, each with its own names.
  auto merge = [&](const Tail& rest) {
    auto branch = [&](const std::function<Flow()>& f) {
      const BlockScope names(context_.frame());
      return continuations_.atBoundary(f(), rest, expected);
    };
    return continuations_.mergeAtBoundary(
        condition, e.span,
        [&] { return branch([&] { return statements_.lowerBlock(e.blocks[which], &rest, expected); }); },
        [&] { return branch([&] { return lowerIf(e, which + 1, rest, expected); }); });
  };
  const int ways = which == 0 ? std::max(waysOn(e), 1) : 1;  // an `else if` is one of the ways of the whole
  if (context_.body.tailCopies * ways <= kMostCopies) {
    const Scoped copies(context_.body.tailCopies, context_.body.tailCopies * ways);
    return merge(tail);
  }
  Boundary region;
  region.kind = Boundary::Kind::Region;
  region.wantsValue = tail.wanted;
  scopes_.assignedIn(assigning, region);
  const Scoped inside(context_.body.boundary, &region);
  Flow f = merge({{}, nullptr, context_.frame().scopes.size(), tail.wanted});
  f.done = false;
  return f;
}

}  // namespace tenc::frontend
