// Control flow in structured form. An exit (`return`, `break`, `continue`) under a run-time condition turns the rest of
// the enclosing statements, up to a boundary (function, loop body, placed block), into part of the other branch. Where
// a boundary can be left in several ways, run-time flags say which it was.
#include <algorithm>
#include <utility>

#include "frontend/Lowering.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {
using ir::DType;
using ir::OpKind;
}  // namespace

namespace {
/// Whether a bool follows from comparisons of devices, which placement decides.
bool comparesDevices(const ir::Value* v) {
  if (!v->op || v->type.dtype != DType::Bool || !v->type.shape.empty()) return false;
  if (v->op->kind == OpKind::DeviceEq) return true;
  const auto& operands = v->op->operands();
  return std::any_of(operands.begin(), operands.end(), comparesDevices);
}
}  // namespace

Lowering::Flow Lowering::lowerBlock(const ast::Block& block, const Tail* tail, const Ty* expected) {
  push();
  Flow f = lowerFrom(block.statements, 0, tail, expected);
  pop();
  return f;
}

Lowering::Flow Lowering::lowerFrom(const Statements& list, size_t from, const Tail* tail, const Ty* expected) {
  Flow flow;
  flow.value = Val::unit();
  for (size_t i = from; i < list.size(); ++i) {
    if (!list[i]) continue;
    const ast::Stmt& s = *list[i];
    if (tooDeep(s.span)) return flow;
    const bool last = i + 1 == list.size();
    const bool wanted = last && (tail ? tail->wanted : boundary_->wantsValue);
    const Tail here{&list, i + 1, tail, frame().scopes.size(), wanted, nullptr, expected};
    flow = lowerStatement(s, last, here, last ? expected : nullptr);
    if (flow.done || flow.exit != Exit::Falls) return flow;
    if (flow.mixed) return resume(flow, here, expected);
  }
  return flow;
}

Lowering::Flow Lowering::continueWith(const Tail* tail, Flow flow, const Ty* expected) {
  for (const Tail* t = tail; t; t = t->next) {
    if (t->from >= t->list->size() && !t->next && !t->then) break;  // keeps the value
    // The rest sees the scopes of its own block only.
    std::list<Scope> hidden;
    auto first = frame().scopes.begin();
    std::advance(first, static_cast<std::ptrdiff_t>(t->depth));
    hidden.splice(hidden.begin(), frame().scopes, first, frame().scopes.end());
    push();
    if (t->then) {
      // What it binds is seen by all that follows.
      Tail after = *t->next;
      after.depth = frame().scopes.size();
      flow = atBoundary((*t->then)(flow.value, after), after, expected);
    } else if (t->from < t->list->size()) {
      flow = lowerFrom(*t->list, t->from, t->next, t->expected ? t->expected : expected);
    }
    pop();
    frame().scopes.splice(frame().scopes.end(), hidden);
    if (t->then || flow.done || flow.exit != Exit::Falls) break;
  }
  flow.done = true;
  return flow;
}

std::vector<Val> Lowering::valuesOf(const std::vector<Binding*>& vars) {
  std::vector<Val> values;
  for (const Binding* v : vars) values.push_back(v->value);
  return values;
}

void Lowering::setValues(const std::vector<Binding*>& vars, const std::vector<Val>& values, size_t from) {
  for (size_t i = 0; i < vars.size(); ++i) vars[i]->value = values[from + i];
}

std::vector<Val> Lowering::encode(const Flow& f) {
  if (boundary_->kind == Boundary::Kind::Function) {
    return {f.exit == Exit::Falls && !boundary_->wantsValue ? Val::unit() : f.value};
  }
  std::vector<Val> values = valuesOf(boundary_->vars);
  values.push_back(f.mayFall() && boundary_->wantsValue ? f.value : Val::unit());
  auto flag = [&](const Val& v, Exit exit) { return f.mixed ? v : Val::ofBool(f.exit == exit); };
  values.push_back(flag(f.broke, Exit::Break));
  values.push_back(flag(f.continued, Exit::Continue));
  values.push_back(flag(f.returned, Exit::Return));
  values.push_back(f.mixed ? f.result : f.exit == Exit::Return ? f.value : Val::unit());
  return values;
}

Lowering::Flow Lowering::decode(const std::vector<Val>& values) {
  Flow f;
  f.done = true;
  if (boundary_->kind == Boundary::Kind::Function) {
    f.exit = Exit::Return;
    f.value = values[0];
    return f;
  }
  const size_t n = boundary_->vars.size();
  setValues(boundary_->vars, values);
  const Val &broke = values[n + 1], &continued = values[n + 2], &returned = values[n + 3];
  auto known = [](const Val& v) { return v.is(Val::Kind::Bool); };
  if (known(broke) && known(continued) && known(returned)) {
    f.exit = broke.boolean       ? Exit::Break
             : continued.boolean ? Exit::Continue
             : returned.boolean  ? Exit::Return
                                 : Exit::Falls;
    f.value = returned.boolean ? values[n + 4] : values[n];
    return f;
  }
  f.mixed = true;
  f.value = values[n];
  f.broke = broke;
  f.continued = continued;
  f.returned = returned;
  f.result = values[n + 4];
  return f;
}

Lowering::Flow Lowering::mergeAtBoundary(ir::Value* condition, Span span, const FlowFn& yes, const FlowFn& no) {
  // What follows is lowered in both branches and assigns variables of its own, which the boundary does not hand on.
  std::vector<Binding*> vars;
  for (Scope& scope : frame().scopes) {
    for (auto& [name, binding] : scope.names) {
      if (binding.isVar) vars.push_back(&binding);
    }
  }
  const std::vector<Val> before = valuesOf(vars);
  const size_t valueAt = boundary_->vars.size(), resultAt = valueAt + 4;
  struct {
    bool returns, falls;
  } ends[2] = {};
  auto run = [&](const FlowFn& f, int which) {
    setValues(vars, before);
    Flow flow = f();
    ends[which] = {flow.mayReturn(), flow.mayFall()};
    return encode(flow);
  };
  std::vector<std::string> names;
  if (boundary_->kind == Boundary::Kind::Function) {
    names = {"the result"};
  } else {
    for (const std::string& n : boundary_->names) names.push_back("`" + n + "`");
    names.push_back("the value");
  }
  // A branch that does not return hands on zeros for the result, one that leaves for the value: nobody looks at them.
  const bool flags = boundary_->kind != Boundary::Kind::Function;
  auto fill = [&](Val& nothing, const Val& like, bool needed, bool given) {
    if (flags && !needed && given && !like.is(Val::Kind::Unit)) nothing = placeholder(like);
  };
  ir::Region* firstRegion = nullptr;
  Val valueOfFirst, resultOfFirst;
  std::vector<Val> merged = emitIf(
      condition, span, names,
      [&] {
        std::vector<Val> v = run(yes, 0);
        firstRegion = b().region();
        if (flags) valueOfFirst = v[valueAt], resultOfFirst = v[resultAt];
        return v;
      },
      [&] {
        std::vector<Val> v = run(no, 1);
        if (!flags) return v;
        fill(v[valueAt], valueOfFirst, ends[1].falls, ends[0].falls);
        fill(v[resultAt], resultOfFirst, ends[1].returns, ends[0].returns);
        return v;
      },
      [&](std::vector<Val>& a, std::vector<Val>& c) {
        if (!flags) return;
        inRegion(firstRegion, [&] {
          fill(a[valueAt], c[valueAt], ends[0].falls, ends[1].falls);
          fill(a[resultAt], c[resultAt], ends[0].returns, ends[1].returns);
        });
      });
  Flow f = decode(merged);
  f.falls = ends[0].falls || ends[1].falls;
  return f;
}

Lowering::Flow Lowering::resume(const Flow& flow, const Tail& tail, const Ty* expected) {
  return resumeWith(flow, true, [&] {
    Flow f;
    f.value = flow.value;
    return continueWith(&tail, f, expected);
  });
}

Lowering::Flow Lowering::resumeWith(const Flow& flow, bool takesContinue, const FlowFn& rest) {
  auto leaveWith = [&](Exit exit) {
    return [this, exit, &flow] {
      Flow f = leave(exit, exit == Exit::Return ? flow.result : Val::unit(), {});
      f.done = true;
      return f;
    };
  };
  // From the innermost question outwards: returned? broke? continued? else the rest.
  FlowFn next = rest;
  for (auto [flag, exit] : {std::pair{&flow.continued, Exit::Continue}, std::pair{&flow.broke, Exit::Break},
                            std::pair{&flow.returned, Exit::Return}}) {
    if (exit == Exit::Continue && !takesContinue) continue;
    if (flag->is(Val::Kind::Bool)) {
      if (flag->boolean) next = leaveWith(exit);
      continue;
    }
    if (!flag->is(Val::Kind::Tensor)) continue;
    next = [this, condition = flag->tensor, span = flag->span, taken = leaveWith(exit), other = next] {
      return mergeAtBoundary(condition, span, taken, other);
    };
  }
  Flow f = next();
  f.done = true;
  return f;
}

Lowering::Flow Lowering::leave(Exit exit, Val value, Span span) {
  Flow f;
  f.exit = exit;
  f.value = std::move(value);
  if (boundary_->kind == Boundary::Kind::Expression) {
    error(Code::E0108, span, "an exit inside an expression; make the `if` a statement of its own");
    f.exit = Exit::Falls;
    f.value = Val::none();
  }
  return f;
}

Val Lowering::conditionOf(const ast::Expr& e, std::string_view what) {
  Val c = eval(e);
  if (c.poison() || c.is(Val::Kind::Bool)) return c;
  if (c.is(Val::Kind::Tensor)) {
    if (c.tensor->type.dtype == DType::Bool && c.tensor->type.shape.empty()) return c;
    auto d = error(Code::E0203, e.span, "the condition of `" + std::string(what) + "` is one bool, not " + describe(c));
    if (c.tensor->type.dtype == DType::Bool) d.help("`any(...)` or `all(...)` makes one of it");
    return Val::none();
  }
  auto d = error(Code::E0203, e.span, "the condition of `" + std::string(what) + "` is one bool, not " + describe(c));
  if (c.isNumber()) d.help("compare it: `" + std::string(sources.text(e.span)) + " != 0`");
  return Val::none();
}

void Lowering::visibleVars(const std::set<std::string>& names, Boundary& into) {
  for (const std::string& n : names) {
    Binding* binding = findLocal(n);
    if (binding && binding->isVar && !binding->value.poison()) {
      into.vars.push_back(binding);
      into.names.push_back(n);
    }
  }
}

std::string Lowering::decisionKey(Span condition) {
  const std::string key = std::string(sources.file(condition.file).name()) + ":" + std::to_string(condition.begin) +
                          " in " + frame().signature;
  return key + " #" + std::to_string(++decisions_[key]);
}

Lowering::Flow Lowering::lowerIf(const ast::Expr& e, size_t which, const Tail& tail, const Ty* expected) {
  if (which >= e.args.size()) {  // the else, or nothing
    if (e.blocks.size() > e.args.size()) return lowerBlock(e.blocks.back(), &tail, expected);
    Flow f;
    f.value = Val::unit(e.span);
    return f;
  }
  const Val condition = conditionOf(*e.args[which], "if");
  if (condition.is(Val::Kind::Bool)) {
    for (size_t i = condition.boolean ? which + 1 : which; i < e.blocks.size(); ++i) {
      if (condition.boolean || i == which) checkNames(e.blocks[i]);
    }
    if (condition.boolean) return lowerBlock(e.blocks[which], &tail, expected);
    return lowerIf(e, which + 1, tail, expected);
  }
  const bool hasElse = e.blocks.size() > e.args.size();
  std::set<std::string> names;
  Exits exits;
  for (size_t i = which; i < e.blocks.size(); ++i) {
    assignedNames(e.blocks[i], names);
    const Exits x = exitsOf(e.blocks[i]);
    exits.breaks |= x.breaks;
    exits.continues |= x.continues;
    exits.returns |= x.returns;
  }
  if (condition.poison()) {
    // Both branches are looked at for their own errors; what they assign is not known afterwards.
    Boundary lost;
    visibleVars(names, lost);
    for (size_t i = which; i < e.blocks.size(); ++i) {
      Boundary inner = *boundary_;
      Boundary* outer = std::exchange(boundary_, &inner);
      lowerBlock(e.blocks[i], nullptr, nullptr);
      boundary_ = outer;
    }
    for (Binding* v : lost.vars) v->value = Val::none();
    Flow f;
    f.value = Val::none();
    return f;
  }
  const bool onDevices = comparesDevices(condition.tensor);
  const std::string key = onDevices ? decisionKey(e.args[which]->span) : "";
  if (const auto decided = options.decisions.find(key); onDevices && decided != options.decisions.end()) {
    const bool taken = decided->second;
    at(e.args[which]->span);
    b().makeTyped(OpKind::DecidedBranch, {condition.tensor}, {}, {{"key", key}, {"taken", taken}});
    for (size_t i = taken ? which + 1 : which; i < e.blocks.size(); ++i) {
      if (taken || i == which) checkNames(e.blocks[i]);
    }
    if (taken) return lowerBlock(e.blocks[which], &tail, expected);
    return lowerIf(e, which + 1, tail, expected);
  }
  struct Undecided {
    Lowering& l;
    const std::string& key;
    const size_t errors;
    ~Undecided() {
      if (!key.empty() && l.diags.errors() > errors) l.out.undecided.push_back(key);
    }
  } undecided{*this, key, diags.errors()};
  struct Guard {
    int& depth;
    int by;
    ~Guard() { depth -= by; }
  } guard{deviceConditions_, onDevices ? 1 : 0};
  guard.depth += guard.by;
  if (!exits.any()) {
    Boundary local;
    local.kind = Boundary::Kind::Region;
    local.wantsValue = tail.wanted;
    visibleVars(names, local);
    const std::vector<Val> before = valuesOf(local.vars);
    std::vector<std::string> labels;
    for (const std::string& n : local.names) labels.push_back("`" + n + "`");
    labels.push_back("the value");
    auto branch = [&](bool taken) {
      setValues(local.vars, before);
      Boundary* outer = std::exchange(boundary_, &local);
      Flow f;
      if (taken) {
        f = lowerBlock(e.blocks[which], nullptr, expected);
      } else {
        f = lowerIf(e, which + 1, tail, expected);
      }
      boundary_ = outer;
      std::vector<Val> values = valuesOf(local.vars);
      values.push_back(hasElse && tail.wanted ? f.value : Val::unit());
      return values;
    };
    std::vector<Val> merged =
        emitIf(condition.tensor, e.span, labels, [&] { return branch(true); }, [&] { return branch(false); });
    setValues(local.vars, merged);
    Flow f;
    f.value = merged.back();
    return f;
  }
  if (boundary_->kind == Boundary::Kind::Expression) return leave(Exit::Return, Val::none(), e.span);
  return lowerExitingIf(e, which, condition.tensor, names, tail, expected);
}

Lowering::Flow Lowering::lowerExitingIf(const ast::Expr& e, size_t which, ir::Value* condition,
                                        const std::set<std::string>& assigned, const Tail& tail, const Ty* expected) {
  constexpr int kMostCopies = 4;
  // The branches go on with what follows, each with its own names.
  auto merge = [&](const Tail& rest) {
    auto branch = [&](const std::function<Flow()>& f) {
      push();
      Flow flow = atBoundary(f(), rest, expected);
      pop();
      return flow;
    };
    return mergeAtBoundary(
        condition, e.span, [&] { return branch([&] { return lowerBlock(e.blocks[which], &rest, expected); }); },
        [&] { return branch([&] { return lowerIf(e, which + 1, rest, expected); }); });
  };
  const int ways = which == 0 ? std::max(waysOn(e), 1) : 1;  // an `else if` is one of the ways of the whole
  if (tailCopies_ * ways <= kMostCopies) {
    const int outer = std::exchange(tailCopies_, tailCopies_ * ways);
    Flow f = merge(tail);
    tailCopies_ = outer;
    return f;
  }
  static const Statements kNothing;
  Boundary region;
  region.kind = Boundary::Kind::Region;
  region.wantsValue = tail.wanted;
  visibleVars(assigned, region);
  Boundary* outer = std::exchange(boundary_, &region);
  Flow f = merge({&kNothing, 0, nullptr, frame().scopes.size(), tail.wanted});
  boundary_ = outer;
  f.done = false;
  return f;
}

Lowering::Flow Lowering::atBoundary(Flow f, const Tail& tail, const Ty* expected) {
  if (f.done) return f;
  if (f.mixed) return resume(f, tail, expected);
  if (f.exit == Exit::Falls) return continueWith(&tail, f, expected);
  f.done = true;
  return f;
}

Lowering::Flow Lowering::lowerPlaced(const std::vector<ast::Annotation>& annotations, size_t which,
                                     const std::set<std::string>& assigned, const Tail& tail, const PlacedFn& inner) {
  if (which == annotations.size()) return inner(tail);
  const ast::Annotation& a = annotations[which];
  std::optional<DeviceRef> device;
  if (a.kind == ast::Annotation::Kind::Autocast) {
    notYet(a.span, "@autocast");
  } else {
    device = annotationDevice(a);
  }
  if (!device) return lowerPlaced(annotations, which + 1, assigned, tail, inner);
  static const Statements kNothing;
  Boundary region;
  region.kind = Boundary::Kind::Region;
  region.wantsValue = tail.wanted;
  visibleVars(assigned, region);
  const std::vector<Val> before = valuesOf(region.vars);
  auto& declared = frame().scopes.back().names;
  const size_t declaredBefore = declared.size();
  Boundary* outer = std::exchange(boundary_, &region);
  std::vector<Val> values = emitOn(*device, a.span, [&] {
    const Tail none{&kNothing, 0, nullptr, frame().scopes.size(), tail.wanted};
    std::vector<Val> handed = encode(lowerPlaced(annotations, which + 1, assigned, none, inner));
    // A variable that was not assigned after all does not move here.
    for (size_t i = 0; i < region.vars.size(); ++i) {
      if (sameLeaves(before[i], handed[i])) handed[i] = Val::unit();
    }
    for (auto it = std::next(declared.begin(), static_cast<std::ptrdiff_t>(declaredBefore)); it != declared.end();
         ++it) {
      handed.push_back(it->second.value);
    }
    return handed;
  });
  for (size_t i = 0; i < region.vars.size(); ++i) {
    if (values[i].is(Val::Kind::Unit)) values[i] = before[i];
  }
  size_t next = region.vars.size() + 5;
  for (auto it = std::next(declared.begin(), static_cast<std::ptrdiff_t>(declaredBefore)); it != declared.end(); ++it) {
    it->second.value = values[next++];
  }
  Flow f = decode(values);
  boundary_ = outer;
  f.done = false;
  return f;
}

bool Lowering::sameLeaves(const Val& a, const Val& b2) {
  std::vector<ir::Value*> x, y;
  return leavesOf(a, x) && leavesOf(b2, y) && x == y;
}

}  // namespace tenc::frontend
