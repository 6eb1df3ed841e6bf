// What `checkpoint` and `custom_vjp` have in common: a function of IR of its own, called with an attribute that says
// how the call is differentiated (ir/CallAttributes.h).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontend/calls/Transforms.h"

namespace tenc::frontend {

class MarkedCall : public Application {
 public:
  using Values = std::vector<ir::Value*>;

  /// Takes the arguments of a call, each as `asParameter` makes it for the parameter at that position. False after an
  /// error.
  bool take(const CallArgs& args, const std::function<Val(const Val& given, size_t position)>& asParameter);
  Val finish(const Val& like, Values results) override;

 protected:
  explicit MarkedCall(const TransformTools& tools) : tools_(tools) {}

  /// A function in no module with parameters like `like`. `body` gets those, makes its ops and gives its results.
  std::unique_ptr<ir::Func> function(const std::string& name, const Values& like,
                                     const std::function<Values(ir::Builder& at, const Values& own)>& body) const;
  static ir::Op* call(ir::Builder& at, const ir::Func& callee, const Values& operands);

  /// Whether the function makes tensors from nothing, which live on its own device.
  static bool makesTensors(const ir::Func& f);
  /// A tensor without elements on the device of the code around. A parameter for it that is on the function's own
  /// device (`ir::Func::paramPlaces`) has the function run there, wherever its other arguments are.
  static ir::Value* here(ir::Builder& at);

  const TransformTools& tools_;
};

}  // namespace tenc::frontend
