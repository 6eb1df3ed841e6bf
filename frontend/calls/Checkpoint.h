// `checkpoint(f)`.
#pragma once
#include <memory>

#include "frontend/calls/Transforms.h"

namespace tenc::frontend {

/// Of a call: f is a call of its own, which gradients compute again instead of keeping what it computes.
std::unique_ptr<Application> prepareCheckpoint(const TransformTools& tools, const FnValue& f, const CallArgs& args);

}  // namespace tenc::frontend
