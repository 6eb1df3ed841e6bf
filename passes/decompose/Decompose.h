// Parts of the pass `decompose`. Internal to passes/.
#pragma once
#include "ir/Module.h"

namespace tenc::passes {

/// The value that replaces the result of a `conv`, or null when it stays. f16 and bf16 are computed in f32; one channel
/// in for each out is a sum of shifted inputs; weights are turned when output channels make the better vectors.
ir::Value* decomposeConv(ir::Op& conv);

/// The value that replaces the result of an `attention`. Never more than a few MiB of scores exist at a time.
ir::Value* decomposeAttention(ir::Op& attention);

}  // namespace tenc::passes
