// `custom_vjp(f, forward, backward)`.
#pragma once
#include <memory>

#include "frontend/calls/Transforms.h"

namespace tenc::frontend {

/// Of a call: f, which gradients replace by `forward` and `backward`. E0405 where these do not fit.
std::unique_ptr<Application> prepareCustomVjp(const TransformTools& tools, const FnValue& f, const CallArgs& args);

}  // namespace tenc::frontend
