// Control flow in structured form. An exit (`return`, `break`, `continue`) under a run-time condition turns the rest of
// the enclosing statements, up to a boundary (function, loop body, placed block), into part of the other branch. Where
// a boundary can be left in several ways, run-time flags say which it was.
#include "frontend/control/Continuations.h"

#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/control/Flow.h"
#include "frontend/control/Regions.h"
#include "frontend/control/Statements.h"
#include "frontend/names/Frame.h"
#include "frontend/values/PlacingOps.h"

namespace tenc::frontend {

Flow Continuations::continueWith(const Tail* tail, Flow flow, const Ty* expected) {
  for (const Tail* t = tail; t; t = t->next) {
    if (t->list.empty() && !t->next && !t->then) break;  // keeps the value
    // The rest sees the scopes of its own block only.
    const HiddenScopes hidden(context_.frame(), t->depth);
    const BlockScope names(context_.frame());
    const ir::RoundingScope rounding(context_.b(), t->rounds);
    if (t->then) {
      // What it binds is seen by all that follows.
      Tail after = *t->next;
      after.depth = context_.frame().scopes.size();
      flow = atBoundary((*t->then)(flow.value, after), after, expected);
    } else if (!t->list.empty()) {
      flow = statements_.lowerFrom(t->list, t->next, t->expected ? t->expected : expected);
    }
    if (t->then || flow.done || flow.exit != Exit::Falls) break;
  }
  flow.done = true;
  return flow;
}

std::vector<Val> Continuations::encode(const Flow& f) {
  if (context_.body.boundary->kind == Boundary::Kind::Function) {
    return {f.exit == Exit::Falls && !context_.body.boundary->wantsValue ? Val::unit()
                                                                         : placing_.enterAnnotation(f.value)};
  }
  std::vector<Val> values = valuesOf(context_.body.boundary->vars);
  const bool wanted = f.mayFall() && context_.body.boundary->wantsValue;
  values.push_back(wanted ? placing_.enterAnnotation(f.value) : Val::unit());
  auto flag = [&](const Val& v, Exit exit) { return f.mixed ? v : Val::ofBool(f.exit == exit); };
  values.push_back(flag(f.broke, Exit::Break));
  values.push_back(flag(f.continued, Exit::Continue));
  values.push_back(flag(f.returned, Exit::Return));
  values.push_back(placing_.enterAnnotation(f.mixed ? f.result : f.exit == Exit::Return ? f.value : Val::unit()));
  return values;
}

Flow Continuations::decode(const std::vector<Val>& values) {
  Flow f;
  f.done = true;
  if (context_.body.boundary->kind == Boundary::Kind::Function) {
    f.exit = Exit::Return;
    f.value = values[0];
    return f;
  }
  const size_t n = context_.body.boundary->vars.size();
  setValues(context_.body.boundary->vars, values);
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

Flow Continuations::mergeAtBoundary(ir::Value* condition, Span span, const FlowFn& yes, const FlowFn& no) {
  // What follows is lowered in both branches and assigns variables of its own, which the boundary does not hand on.
  std::vector<Binding*> vars;
  for (Scope& scope : context_.frame().scopes) {
    for (auto& [name, binding] : scope.names) {
      if (binding.isVar) vars.push_back(&binding);
    }
  }
  const std::vector<Val> before = valuesOf(vars);
  const size_t valueAt = context_.body.boundary->vars.size(), resultAt = valueAt + 4;
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
  if (context_.body.boundary->kind == Boundary::Kind::Function) {
    names = {"the result"};
  } else {
    for (const std::string& n : context_.body.boundary->names) names.push_back("`" + n + "`");
    names.push_back("the value");
  }
  // A branch that does not return hands on zeros for the result, one that leaves for the value: nobody looks at them.
  const bool flags = context_.body.boundary->kind != Boundary::Kind::Function;
  auto fill = [&](Val& nothing, const Val& like, bool needed, bool given) {
    if (flags && !needed && given && !like.is(Val::Kind::Unit)) nothing = regions_.placeholder(like);
  };
  ir::Region* firstRegion = nullptr;
  Val valueOfFirst, resultOfFirst;
  std::vector<Val> merged = regions_.emitIf(
      condition, span, names,
      [&] {
        std::vector<Val> v = run(yes, 0);
        firstRegion = context_.b().region();
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
        context_.inRegion(firstRegion, [&] {
          fill(a[valueAt], c[valueAt], ends[0].falls, ends[1].falls);
          fill(a[resultAt], c[resultAt], ends[0].returns, ends[1].returns);
        });
      });
  if (!flags && (ends[0].returns || ends[1].returns))
    context_.note({span, {}, false, {}}).kind = ir::SourceText::Kind::Return;
  Flow f = decode(merged);
  f.falls = ends[0].falls || ends[1].falls;
  return f;
}

Flow Continuations::resume(const Flow& flow, const Tail& tail, const Ty* expected) {
  return resumeWith(flow, true, [&] {
    Flow f;
    f.value = flow.value;
    return continueWith(&tail, f, expected);
  });
}

Flow Continuations::resumeWith(const Flow& flow, bool takesContinue, const FlowFn& rest) {
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

Flow Continuations::leave(Exit exit, Val value, Span span) {
  Flow f;
  f.exit = exit;
  f.value = std::move(value);
  if (context_.body.boundary->kind == Boundary::Kind::Expression) {
    f.value = context_.error(Code::E0108, span, "an exit inside an expression; make the `if` a statement of its own");
    f.exit = Exit::Falls;
  }
  return f;
}

Flow Continuations::atBoundary(Flow f, const Tail& tail, const Ty* expected) {
  if (f.done) return f;
  if (f.mixed) return resume(f, tail, expected);
  if (f.exit == Exit::Falls) return continueWith(&tail, f, expected);
  f.done = true;
  return f;
}

}  // namespace tenc::frontend
