// `grad(f)`, `value_and_grad(f)`, `vjp(f)`, `jvp(f)`.
#pragma once
#include <memory>

#include "frontend/calls/Transforms.h"

namespace tenc::frontend {

// Of a call: E0404 where `wrt` names nothing that is differentiable, E0204 where the direction is missing.
std::unique_ptr<Application> prepareGrad(const TransformTools& tools, const FnValue& f, const CallArgs& args);
std::unique_ptr<Application> prepareValueAndGrad(const TransformTools& tools, const FnValue& f, const CallArgs& args);
std::unique_ptr<Application> prepareVjp(const TransformTools& tools, const FnValue& f, const CallArgs& args);
std::unique_ptr<Application> prepareJvp(const TransformTools& tools, const FnValue& f, const CallArgs& args);

}  // namespace tenc::frontend
