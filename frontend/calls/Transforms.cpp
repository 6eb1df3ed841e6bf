#include "frontend/calls/Transforms.h"

#include <algorithm>
#include <utility>

#include "frontend/Context.h"
#include "frontend/calls/Calls.h"
#include "frontend/calls/Checkpoint.h"
#include "frontend/calls/CustomVjp.h"
#include "frontend/calls/Gradients.h"
#include "frontend/calls/Training.h"
#include "frontend/calls/Vmap.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"
#include "transforms/Functions.h"

namespace tenc::frontend {

namespace {
constexpr Transform kTransforms[] = {
    {"vmap", prepareVmap},
    {"grad", prepareGrad},
    {"value_and_grad", prepareValueAndGrad},
    {"vjp", prepareVjp},
    {"jvp", prepareJvp},
    {"checkpoint", prepareCheckpoint},
    {"custom_vjp", prepareCustomVjp},
};
}  // namespace

const Transform* transformNamed(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kTransforms), std::end(kTransforms), [&](const Transform& t) { return t.name == name; });
  return found == std::end(kTransforms) ? nullptr : found;
}

Val Transforms::call(const FnValue& f, const CallArgs& args) {
  const std::unique_ptr<Application> application = f.transform->prepare(tools_, f, args);
  if (!application) return tools_.context.lost();
  const auto inner = [&](std::vector<Val> values) {
    return callWith(tools_, f.inner[0], *application, std::move(values), args.span);
  };
  return apply(*application, inner, args.span);
}

Val settledFor(const TransformTools& tools, const Parameters::List& f, size_t position, const Val& v) {
  if (!v.is(Val::Kind::Array)) return v;
  Ty declared;
  declared.dtype = tools.parameters.dtypeOf(f, position);
  if (declared.dtype) declared.kind = Ty::Kind::Tensor;
  return tools.tensors.settle(v, &declared);
}

Val Transforms::callByFirst(const FnValue& f, const CallArgs& args) {
  for (const CallArg& a : args.args) {
    if (a.value.poison()) return a.value;
  }
  if (args.args.empty()) return tools_.calls.call(f.inner[1], args);  // which says what is missing
  // The first parameter's argument, and what fixes the others.
  const Parameters::List list = tools_.parameters.of(f.inner[1], args);
  const auto named = [&](const CallArg& a) { return !list.names.empty() && a.name == list.names[0]; };
  auto first = std::find_if(args.args.begin(), args.args.end(), named);
  if (first == args.args.end()) first = args.args.begin();
  auto rest = std::make_shared<FnValue>();
  rest->kind = FnValue::Kind::Fixed;
  rest->name = f.name;
  rest->inner = {f.inner[1]};
  for (auto a = args.args.begin(); a != args.args.end(); ++a) {
    if (a != first) rest->options.emplace_back(a->name, a->value);
  }
  Val x = settledFor(tools_, list, 0, first->value);
  if (x.is(Val::Kind::Float)) {
    ir::Value* t = tools_.tensors.tensorOf(x, tools_.parameters.dtypeOf(list, 0));
    x = t != nullptr ? Val::ofTensor(t, x.span) : Val(tools_.context.lost());
  }
  if (x.poison()) return x;
  return tools_.calls.callValue(f.inner[0], {Val::ofFunction(std::move(rest), f.inner[1].span), std::move(x)},
                                args.span);
}

Val callWith(const TransformTools& tools, const Val& f, const Application& application, std::vector<Val> values,
             Span span) {
  CallArgs given;
  given.span = given.callee = span;
  for (size_t i = 0; i < values.size(); ++i) {
    const Span at = values[i].span.valid() ? values[i].span : span;
    given.args.push_back({i < application.names.size() ? application.names[i] : "", std::move(values[i]), at});
  }
  return tools.calls.call(f, std::move(given));
}

Val Transforms::apply(Application& application, const TracedFn& f, Span span) {
  tools_.context.at(span);
  const auto type = [&](size_t i, const ir::Value& leaf, bool state) { return application.parameter(i, leaf, state); };
  const auto tensors = [&](std::vector<Val> values) {
    Val v = f(std::move(values));
    return v.is(Val::Kind::Unit) ? v : tools_.tensors.materialise(v);
  };
  std::optional<Traced> traced = tools_.tracer.trace(tensors, application.arguments, type, span, application.state());
  if (!traced) return tools_.context.lost();
  tools_.context.at(span);
  const std::unique_ptr<ir::Func> made = application.apply(*traced);
  if (!made) return tools_.context.lost();
  // As of any call under an annotation, arguments enter; what the function captures has, where it is used.
  std::vector<ir::Value*> operands = traced->operands;
  for (size_t i = 0; i < traced->arguments; ++i)
    operands[i] = tools_.placing.enterAnnotation(Val::ofTensor(operands[i])).tensor;
  std::vector<ir::Value*> results = transforms::splice(*made, operands, tools_.context.b());
  tools_.context.at(span);
  const size_t own = results.size() - traced->changed.size();
  for (size_t i = 0; i < traced->changed.size(); ++i) {
    const auto [leaf, now] = application.kept(traced->changed[i], results[own + i]);
    tools_.context.body.training->kept.set(leaf, now);
  }
  results.resize(own);
  return application.finish(traced->result, std::move(results));
}

}  // namespace tenc::frontend
