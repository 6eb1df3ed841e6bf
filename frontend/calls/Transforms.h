// Functions made of functions: `vmap(f)` and `grad(f)`, called.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/calls/Arguments.h"
#include "frontend/calls/Parameters.h"
#include "frontend/calls/Tracer.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Evaluator;
class Tensors;
class Structs;
class Calls;
class PlacingOps;
class Tracer;

/// What the steps of a transform may use.
struct TransformTools {
  Context& context;
  Evaluator& evaluator;
  Tensors& tensors;
  Structs& structs;
  PlacingOps& placing;
  Parameters& parameters;
  Tracer& tracer;
  Calls& calls;
};

/// One call of what a transform made: its arguments are checked. A function of IR is made into another, so that
/// transforms compose: one in a function that is traced is a part of what the next one gets.
class Application {
 public:
  virtual ~Application() = default;

  /// What the function is traced with, before `parameter` says otherwise.
  std::vector<Val> arguments;
  /// The names of arguments that are given by name, "" of the others; empty where all are positional.
  std::vector<std::string> names;

  /// As `ParameterType`.
  virtual std::optional<ir::Type> parameter(size_t argument, const ir::Value& leaf, bool state) const = 0;
  /// What becomes of layers of a network that is trained which change in the function. Where it is kept, there are
  /// further results of what `apply` takes and gives.
  virtual StateIn state() const { return StateIn::Kept; }
  /// A leaf of such a layer and what became of it, where an argument was made of the leaf for the call.
  virtual std::pair<ir::Value*, ir::Value*> kept(ir::Value* leaf, ir::Value* now) { return {leaf, now}; }
  /// The function that is called instead, with the same operands; null after an error.
  virtual std::unique_ptr<ir::Func> apply(Traced& traced) = 0;
  /// The value of the call. `like`: what the function gives as it was traced; `results`: of what was made of it.
  virtual Val finish(const Val& like, std::vector<ir::Value*> results) = 0;
};

/// A transform, by the name of its built-in.
struct Transform {
  std::string_view name;
  /// Checks the arguments of a call of what `f` is; null after an error.
  std::unique_ptr<Application> (*prepare)(const TransformTools& tools, const FnValue& f, const CallArgs& args);
};

/// The transform of that name; null for none.
const Transform* transformNamed(std::string_view name);

/// Calls what transforms make.
class Transforms {
 public:
  explicit Transforms(const TransformTools& tools) : tools_(tools) {}

  /// `f` is of kind Derived.
  Val call(const FnValue& f, const CallArgs& args);
  /// `f` is of kind ByFirst.
  Val callByFirst(const FnValue& f, const CallArgs& args);
  Val apply(Application& application, const TracedFn& f, Span span);
  const TransformTools& tools() const { return tools_; }

 private:
  const TransformTools tools_;
};

/// An array of literals as what a parameter takes: a tensor of the dtype that is declared for it, as in a plain call.
Val settledFor(const TransformTools& tools, const Parameters::List& f, size_t position, const Val& v);

/// Calls a function with the arguments of an application, those with names by their names.
Val callWith(const TransformTools& tools, const Val& f, const Application& application, std::vector<Val> values,
             Span span);

}  // namespace tenc::frontend
