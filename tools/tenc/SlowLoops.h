// Loops that a device with very many threads runs on few of them.
#pragma once
#include "codegen/KernelSet.h"
#include "ir/Module.h"
#include "support/Diagnostics.h"

namespace tenc::tool {

/// Reports those that take more than a millisecond (W0302).
void warnOfSlowLoops(const ir::Module& m, const codegen::KernelSet& kernels, const SourceManager& sources,
                     Diagnostics& diags);

}  // namespace tenc::tool
