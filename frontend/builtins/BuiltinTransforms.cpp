// What makes functions of functions, and `rev`: rows that stand only where something is called.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/calls/Calls.h"
#include "frontend/calls/Training.h"
#include "frontend/calls/Transforms.h"
#include "frontend/values/Literals.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {

Val rev(BuiltinCall& k) {
  Val r = k["range"];
  if (r.is(Val::Kind::Array)) r = k.tensors.settle(r);
  if (r.is(Val::Kind::Range)) {
    r.boolean = !r.boolean;
  } else if (r.is(Val::Kind::List) || r.is(Val::Kind::Tuple) || r.is(Val::Kind::Sequence) || r.is(Val::Kind::Pack)) {
    std::reverse(r.elems.edit().begin(), r.elems.edit().end());
  } else if (!r.poison()) {
    auto d = k.context.error(Code::E0203, k.span, "`rev` takes a range `a..b` or a list, not " + describe(r));
    if (!r.is(Val::Kind::Tensor) || rankOf(r) == 0) return d;
    std::vector<Edit> edits{{k.callee, "flip"}};
    if (rankOf(r) > 1) edits.push_back({Span{k.span.file, k.span.end - 1, k.span.end - 1}, ", axis: 0"});
    d.help("a tensor is turned by `flip`", std::move(edits));
    return d;
  }
  return r;
}

/// What a transform makes of functions, with the options that are given.
Val derived(BuiltinCall& k) {
  auto made = std::make_shared<FnValue>();
  made->kind = FnValue::Kind::Derived;
  made->name = k.row.name;
  made->transform = transformNamed(k.row.name);
  for (const Parameter& p : k.row.signature.parameters()) {
    if (p.namedOnly) {
      if (k.has(p.name)) made->options.emplace_back(p.name, k[p.name]);
      continue;
    }
    const Val& f = k[p.name];
    if (!f.is(Val::Kind::Function) && !f.is(Val::Kind::Struct) && !f.is(Val::Kind::Tuple) && !f.is(Val::Kind::DType)) {
      const std::string name(k.row.name);
      auto d = k.context.error(Code::E0203, k.span, "`" + name + "` takes a function, not " + describe(f));
      if (!k.row.signature.positional(1))
        d.help("it takes the function itself, and what it gives takes the arguments: `" + name + "(f)(x)`");
      return d;
    }
    made->inner.push_back(f);
  }
  return Val::ofFunction(std::move(made), k.span);
}

/// A function of what `f` takes. `g` gets `f` with all arguments but the first in place, and the first.
Val byFirst(BuiltinCall& k) {
  auto made = std::make_shared<FnValue>();
  made->kind = FnValue::Kind::ByFirst;
  made->name = k.row.name;
  made->inner = {k["g"], k["f"]};
  return Val::ofFunction(std::move(made), k.span);
}

Val stopped(BuiltinCall& k) {
  const Val x = k["x"].is(Val::Kind::Array) ? k.tensors.settle(k["x"]) : k["x"];
  return mapLeaves(x, [&](const Val& leaf, const std::string&, bool) {
    if (!leaf.is(Val::Kind::Tensor)) return leaf;
    return Val::ofTensor(k.c.unary(ir::OpKind::StopGradient, leaf.tensor), k.span);
  });
}

Val withState(BuiltinCall& k) {
  if (!k["method"].is(Val::Kind::String)) return k.fail(Code::E0203, "`method` is the name of a function");
  Training training{k["method"].text};
  Val y;
  {
    const Scoped on(k.context.body.training, &training);
    y = k.tensors.settle(k.calls.callValue(k["f"], {k["x"]}, k.span));
  }
  if (y.poison()) return k.lost();
  return Val::ofTuple({y, training.newest(k["f"])}, k.span);
}

constexpr BuiltinTraits kCalledOnly{.calledOnly = true};
constexpr auto kNoOp = ir::OpKind::Count;

constexpr BuiltinRow kRows[] = {
    {"rev(range)", "A range or a list from its end.", rev, kNoOp, kCalledOnly},
    {"vmap(f; in_axes: ints?, out_axes: ints?)", "f over a dim of its arguments.", derived, kNoOp, kCalledOnly},
    {"checkpoint(f)", "f, whose values are computed again for its gradient.", derived, kNoOp, kCalledOnly},
    {"stop_gradient(x)", "x, which no derivative goes through.", stopped, ir::OpKind::StopGradient, kCalledOnly},
    {"with_state(f, x; method: str)",
     "(f(x), f as it is afterwards): a struct that has a function `method` takes part by that, which gives (result, "
     "struct).",
     withState, kNoOp, kCalledOnly},
    {"by_first(g, f)",
     "|x, ...| g(h, x), where h(x) is f(x, ...): what g makes of f as a function of its first argument.", byFirst,
     kNoOp, kCalledOnly},
    {"grad(f; wrt: any = 0, aux: false)", "The gradient of f.", derived, kNoOp, kCalledOnly},
    {"value_and_grad(f; wrt: any = 0, aux: false)", "The value and the gradient of f.", derived, kNoOp, kCalledOnly},
    {"vjp(f; wrt: any = 0, aux: false)", "f and a product with its Jacobian from the left.", derived, kNoOp,
     kCalledOnly},
    {"jvp(f; wrt: any = 0, aux: false)", "f and a product with its Jacobian.", derived, kNoOp, kCalledOnly},
    {"custom_vjp(f, forward, backward)", "f with a gradient of its own.", derived, kNoOp, kCalledOnly},
};

}  // namespace

std::span<const BuiltinRow> transformBuiltins() { return kRows; }

}  // namespace tenc::frontend
