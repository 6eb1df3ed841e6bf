// What --debug=read-ahead says.
#pragma once
#include <string_view>

#include "ir/Ir.h"
#include "passes/Passes.h"

namespace tenc::passes {

/// With --debug=read-ahead says on the standard error why what the op reads is not read ahead, and where it is written.
void declineReadAhead(const Context& c, const ir::Op& op, std::string_view why);

}  // namespace tenc::passes
