// Parts of the pass `decompose`. Internal to passes/.
#pragma once
#include "ir/Module.h"
#include "ir/TargetTraits.h"

namespace tenc::passes {

/// The value that replaces the result of a `conv`, or null when it stays. A dtype that the target has no kernels for is
/// computed in its accumulator's; one channel in for each out is a sum of shifted inputs; weights are turned when
/// output channels are to be the columns.
ir::Value* decomposeConv(ir::Op& conv, const ir::TargetTraits& traits);

/// Whether the target computes an `attention` as one kernel.
bool isWhole(const ir::Op& attention, const ir::TargetTraits& traits);
/// The value that replaces the result of such an `attention`, or null when it stays.
ir::Value* wholeAttention(ir::Op& attention);

/// The value that replaces the result of an `attention`, or null when it stays. Otherwise never more than the target's
/// tile of scores exists at a time.
ir::Value* decomposeAttention(ir::Op& attention, const ir::TargetTraits& traits);

}  // namespace tenc::passes
