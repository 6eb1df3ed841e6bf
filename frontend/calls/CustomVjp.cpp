// A function with a gradient of its own: three functions of IR, and a call of the first that names the others. Who
// differentiates the call calls those instead (transforms/Functions.h).
#include "frontend/calls/CustomVjp.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/calls/Arguments.h"
#include "frontend/calls/Calls.h"
#include "frontend/calls/GradientCall.h"
#include "frontend/calls/MarkedCall.h"
#include "frontend/calls/Parameters.h"
#include "frontend/calls/Tracer.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "transforms/Functions.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;
using Values = MarkedCall::Values;

/// The differentiable leaves of `v` in order.
Values floatsOf(const Val& v) {
  Values all;
  mapLeaves(v, [&](const Val& leaf, const std::string&, bool state) {
    if (isDifferentiable(leaf, state)) all.push_back(leaf.tensor);
    return leaf;
  });
  return all;
}

class Custom final : public MarkedCall {
 public:
  Custom(const TransformTools& tools, const FnValue& f, const CallArgs& args)
      : MarkedCall(tools), f_(f), span_(args.span), list_(tools.parameters.of(f.inner[0], args)) {}

  std::optional<ir::Type> parameter(size_t, const ir::Value& leaf, bool state) const override {
    if (!isDifferentiable(leaf.type, state)) return std::nullopt;
    return transforms::withoutPlace(leaf.type);
  }

  StateIn state() const override { return StateIn::Refused; }

  std::unique_ptr<ir::Func> apply(Traced& traced) override {
    std::optional<Traced> forward = traceForward(traced.result);
    if (!forward) return nullptr;
    Values gradients;
    std::optional<Traced> backward = traceBackward(traced.result, forward->result.elems[1], gradients);
    if (!backward) return nullptr;

    // What any of them captures all of them take.
    Values captures;
    for (const Traced* t : {&traced, &*forward, &*backward}) {
      for (size_t i = t->arguments; i < t->operands.size(); ++i) {
        if (std::find(captures.begin(), captures.end(), t->operands[i]) == captures.end())
          captures.push_back(t->operands[i]);
      }
    }
    const bool makes = makesTensors(*traced.func) || makesTensors(*forward->func) || makesTensors(*backward->func);
    if (makes) captures.push_back(here(tools_.context.b()));
    const std::string name = "custom" + std::to_string(tools_.context.freshId());
    const size_t own = traced.arguments;
    const ir::Func& primal = install(traced, captures, name, makes);
    const ir::Func& first = install(*forward, captures, name + ".forward", makes);
    transforms::setResults(*backward->func, gradients);
    ir::Func& second = install(*backward, captures, name + ".backward", makes);
    CallArgs none;
    none.span = span_;
    second.span = tools_.parameters.of(f_.inner[2], none).span;
    return function(name, traced.operands, [&](ir::Builder& at, const Values& given) {
      Values operands(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(own));
      operands.insert(operands.end(), captures.begin(), captures.end());
      ir::Op* ruled = call(at, primal, operands);
      ruled->set(transforms::kRuleForward, first.name);
      ruled->set(transforms::kRuleBackward, second.name);
      ruled->set(transforms::kRuleArguments, static_cast<int64_t>(own));
      Values results;
      for (const auto& v : ruled->results) results.push_back(v.get());
      return results;
    });
  }

 private:
  std::nullopt_t unfit(const std::string& message, const std::string& note = {}) {
    auto d = tools_.context.error(Code::E0405, span_, message);
    if (list_.span.valid()) d.label(list_.span, "the function that it is of");
    if (!note.empty()) d.note(note);
    return std::nullopt;
  }

  /// Whether a function, if it is one that says what it takes, takes that many arguments. Those with a default may be
  /// left out.
  bool takes(const Val& callable, std::string_view name, size_t count, const std::string& note) {
    CallArgs none;
    none.span = span_;
    const Parameters::List list = tools_.parameters.of(callable, none);
    size_t most = list.names.size(), least = most;
    if (list.fn != nullptr) {
      const auto& parameters = list.fn->stmt->params;
      least = static_cast<size_t>(
          std::count_if(parameters.begin(), parameters.end(), [](const ast::FnParam& p) { return !p.otherwise; }));
    }
    if (!list.span.valid() || (count >= least && count <= most)) return true;
    unfit("`" + std::string(name) + "` of a `custom_vjp` takes " + std::to_string(count) +
              (count == 1 ? " argument" : " arguments") + ", and this one takes " + std::to_string(most),
          note);
    return false;
  }

  std::optional<Traced> traceForward(const Val& result) {
    if (!takes(f_.inner[1], "forward", arguments.size(), "those of the function")) return std::nullopt;
    const auto f = [&](std::vector<Val> values) {
      Val v = callWith(tools_, f_.inner[1], *this, std::move(values), span_);
      return v.is(Kind::Unit) ? v : tools_.tensors.materialise(v);
    };
    const auto type = [&](size_t i, const ir::Value& leaf, bool state) { return parameter(i, leaf, state); };
    std::optional<Traced> traced = tools_.tracer.trace(f, arguments, type, span_, state());
    if (!traced) return std::nullopt;
    const Val& v = traced->result;
    if (!v.is(Kind::Tuple) || v.elems.size() != 2)
      return unfit("`forward` of a `custom_vjp` gives a pair `(result, saved)`, not " + describeResult(v));
    if (!sameTypes(v.elems[0], result)) {
      return unfit("the first value that `forward` gives must be the result of the function, " +
                   describeResult(result) + ", not " + describeResult(v.elems[0]));
    }
    return traced;
  }

  /// `gradients`: of the differentiable leaves of the arguments, among what the traced function returns.
  std::optional<Traced> traceBackward(const Val& result, const Val& saved, Values& gradients) {
    if (!takes(f_.inner[2], "backward", 2, "what `forward` saved, and the gradient of the result")) return std::nullopt;
    const auto f = [&](std::vector<Val> values) {
      Val v = tools_.calls.callValue(f_.inner[2], std::move(values), span_);
      return v.is(Kind::Unit) ? v : tools_.tensors.materialise(v);
    };
    const auto type = [](size_t, const ir::Value& leaf, bool) {
      return std::optional<ir::Type>(transforms::withoutPlace(leaf.type));
    };
    std::optional<Traced> traced = tools_.tracer.trace(f, {saved, result}, type, span_, state());
    if (!traced) return std::nullopt;
    std::vector<const Val*> wanted;
    for (const Val& v : arguments) {
      if (!floatsOf(v).empty()) wanted.push_back(&v);
    }
    const Val& given = traced->result;
    const bool tuple = given.is(Kind::Tuple) && given.elems.size() == wanted.size();
    if (wanted.size() != 1 && !tuple) {
      return unfit("`backward` of a `custom_vjp` gives a tuple of " + std::to_string(wanted.size()) +
                       " gradients, not " + describeResult(given),
                   "one for each argument that holds floats");
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Val& one = wanted.size() == 1 && !(tuple && !wanted[0]->isTree()) ? given : given.elems[i];
      if (!fits(*wanted[i], one))
        return unfit("`backward` gives " + describeResult(one) + " as the gradient of an argument that is " +
                     describeResult(*wanted[i]));
      const Values leaves = floatsOf(one);
      gradients.insert(gradients.end(), leaves.begin(), leaves.end());
    }
    return traced;
  }

  static bool fits(const Val& argument, const Val& gradient) {
    const Values a = floatsOf(argument), g = floatsOf(gradient);
    return sameStructure(argument, gradient) && a.size() == g.size() &&
           std::equal(a.begin(), a.end(), g.begin(),
                      [](const ir::Value* x, const ir::Value* y) { return x->type.sameTensor(y->type); });
  }

  /// The traced function in the module, with all captures for its last parameters; `home`: the last of them is on the
  /// function's own device.
  static ir::Func& install(Traced& traced, const Values& captures, const std::string& name, bool home) {
    std::vector<size_t> order;
    for (size_t i = 0; i < traced.arguments; ++i) order.push_back(i);
    std::vector<ir::Value*>& args = traced.operands;
    ir::Region& body = *traced.func->body;
    for (ir::Value* v : captures) {
      const auto known = std::find(args.begin() + static_cast<std::ptrdiff_t>(traced.arguments), args.end(), v);
      if (known == args.end()) {
        order.push_back(body.args.size());
        body.addArg(transforms::withoutPlace(v->type), v->name);
      } else {
        order.push_back(static_cast<size_t>(known - args.begin()));
      }
    }
    ir::Func& made = transforms::addToModule(std::move(traced.func), name, order);
    made.source.clear();  // no name of the program's
    if (home) made.paramPlaces.back().clear();
    return made;
  }

  const FnValue& f_;
  const Span span_;
  const Parameters::List list_;
};

}  // namespace

std::unique_ptr<Application> prepareCustomVjp(const TransformTools& tools, const FnValue& f, const CallArgs& args) {
  tools.context.at(args.span);
  auto made = std::make_unique<Custom>(tools, f, args);
  const Parameters::List list = tools.parameters.of(f.inner[0], args);
  const auto asParameter = [&](const Val& given, size_t position) {
    return mapLeaves(settledFor(tools, list, position, given), [&](const Val& leaf, const std::string&, bool) {
      if (!leaf.is(Kind::Float)) return leaf;
      ir::Value* t = tools.tensors.tensorOf(leaf, tools.parameters.dtypeOf(list, position));
      return t != nullptr ? Val::ofTensor(t, leaf.span) : Val(tools.context.lost());
    });
  };
  if (!made->take(args, asParameter)) return nullptr;
  return made;
}

}  // namespace tenc::frontend
