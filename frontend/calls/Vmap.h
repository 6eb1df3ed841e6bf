// `vmap(f)`.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "frontend/calls/Transforms.h"

namespace tenc::frontend {

/// Of a call of `vmap(f)`.
std::unique_ptr<Application> prepareVmap(const TransformTools& tools, const FnValue& f, const CallArgs& args);

/// Over `n` instances, one for each place along the leading dim of the tensors in those `args` that are `mapped`.
std::unique_ptr<Application> overInstances(const TransformTools& tools, int64_t n, std::vector<Val> args,
                                           std::vector<bool> mapped, Span span);

}  // namespace tenc::frontend
