// Parts of the pass `decompose`. Internal to passes/.
#pragma once
#include <optional>

#include "ir/Module.h"
#include "ir/TargetTraits.h"
#include "passes/Passes.h"

namespace tenc::passes {

/// The value that replaces the result of a `conv`, or null when it stays. A dtype that the target has no kernels for is
/// computed in its accumulator's; one channel in for each out is a sum of shifted inputs; weights are turned when
/// output channels are to be the columns.
ir::Value* decomposeConv(ir::Op& conv, const ir::TargetTraits& traits);

/// Whether the target computes an `attention` as one kernel.
bool isWhole(const ir::Op& attention, const ir::TargetTraits& traits);
/// The value that replaces the result of such an `attention`, or null when it stays.
ir::Value* wholeAttention(ir::Op& attention);

/// Whether the target computes what a call stands for, the part of a gradient that belongs to an `attention`, as one
/// kernel.
bool isWholeGradient(const ir::Op& call, const ir::TargetTraits& traits);
/// Makes kernels of such calls. Those of the function that are left are for targets that have them.
void wholeGradients(ir::Func& f);

/// The order that a use of the value brings its dims into, rows staying rows; empty where there is none.
ir::Dims permWanted(const ir::Value& result);
ir::Dims inverseOf(const ir::Dims& perm);
/// `v` in another dtype, cast before it is moved about: by the kernel that makes it.
ir::Value* castAtSource(ir::Builder& b, ir::Value* v, ir::DType t);

/// Heads of attention that share keys and values, and get a dim of their own, along which these repeat.
struct SharedHeads {
  ir::Value *k, *v;  ///< [..., heads, times, rows, columns]
  size_t heads;      ///< the dim that becomes these two
  static std::optional<SharedHeads> of(const ir::Value* k, const ir::Value* v);
  ir::Value* split(ir::Builder& b, ir::Value* x) const;
  /// A permutation when dim `heads` has become two.
  ir::Dims perm(const ir::Dims& whole) const;
};

/// The value that replaces the result of an `attention`, or null when it stays. Otherwise never more than the target's
/// tile of scores exists at a time.
ir::Value* decomposeAttention(ir::Op& attention, const ir::TargetTraits& traits);

}  // namespace tenc::passes
