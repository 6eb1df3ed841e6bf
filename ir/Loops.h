// What loops say about themselves.
#pragma once
#include <optional>

#include "ir/Module.h"

namespace tenc::ir {

/// The value of an i64 constant, also behind structural ops.
std::optional<int64_t> constantInt(const Value* v);
/// How often the body of a `for` runs, when that is known while compiling; nothing for other ops.
std::optional<int64_t> tripCount(const Op& loop);

}  // namespace tenc::ir
