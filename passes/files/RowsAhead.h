// Rows of mapped files that the next trip of a loop reads. Part of the pass read-ahead.
#pragma once
#include "ir/Ir.h"
#include "passes/Passes.h"

namespace tenc::passes {

/// Where the body of a loop reads rows of a mapped file whose numbers can be computed a trip before, a `bring_in` at
/// its beginning has the next trip's read from the disk meanwhile.
void bringRowsIn(ir::Region& r, const Context& c);

}  // namespace tenc::passes
