// Mapped files, and what is read of them row by row.
#pragma once
#include <optional>

#include "ir/Ir.h"

namespace tenc::passes {

/// A mapped file on the host, of which a value is the `count` rows from `first` on, in whatever shape each is.
struct Table {
  ir::Value* file = nullptr;
  int64_t first = 0, count = 0;
};

/// Nothing where the value is none.
std::optional<Table> tableOf(ir::Value* v);

}  // namespace tenc::passes
