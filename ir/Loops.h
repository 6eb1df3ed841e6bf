// What loops say about themselves: `for` (lo, hi, step, carried...) with a region (i, carried...), and `while`
// (carried...) with two regions (carried...). A loop has a result for each value that it carries.
#pragma once
#include <optional>

#include "ir/Module.h"

namespace tenc::ir {

inline bool isLoop(const Op& op) { return op.kind == OpKind::For || op.kind == OpKind::While; }
/// How many operands of a loop stand before the first carried value.
inline size_t firstCarriedOperand(const Op& loop) { return loop.kind == OpKind::For ? 3 : 0; }
/// How many arguments of a loop's regions stand before the first carried value.
inline size_t firstCarriedArg(const Op& loop) { return loop.kind == OpKind::For ? 1 : 0; }

/// The value of an i64 constant, also behind structural ops.
std::optional<int64_t> constantInt(const Value* v);
/// The innermost loop that an op stands in; null where there is none.
const Op* loopAround(const Op& op);
/// How often the body of a `for` runs, when that is known at compile time; nothing for other ops.
std::optional<int64_t> tripCount(const Op& loop);

}  // namespace tenc::ir
