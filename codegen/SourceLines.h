// Which lines of a script are behind code, for text that people read.
#pragma once
#include <span>
#include <string>

#include "ir/Module.h"
#include "support/SourceFile.h"

namespace tenc::codegen {

/// "s.tl:3, 7": the lines that fused ops, or routines, were written in; of the library those of its callers.
std::string sourceLines(const ir::Module& m, const SourceManager& sources, std::span<const ir::Op* const> ops);

}  // namespace tenc::codegen
