// What integers of a stage are at most, from the extents of its loops and its constants.
#pragma once
#include <cstdint>
#include <optional>

#include "codegen/Kernel.h"

namespace tenc::codegen::cuda {

/// The greatest value of an i64 expression that is never negative and below 2^31; nullopt where that is not known.
std::optional<int64_t> mostOf(const Kernel& kernel, const Stage& stage, ExprId id);

}  // namespace tenc::codegen::cuda
