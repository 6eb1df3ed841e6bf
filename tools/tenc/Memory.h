// What a program needs of each device: the table of `tenc check --memory`, and what would make it fit.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "codegen/Codegen.h"
#include "tools/tenc/AtPeak.h"
#include "tools/tenc/MemoryTrials.h"
#include "tools/tenc/Session.h"

namespace tenc::tool {

/// The peak of each device, and what is alive then, the largest first, with its place in the source; what is kept for
/// a gradient apart.
std::string memoryReport(const ir::Module& m, const codegen::MemoryPlan& plan, Session& session);

/// For each constant, parameter or other size of the script the largest smaller value at which it fits; each is
/// verified, and so is that the next larger one does not. A size from which the peak does not follow, or where none
/// fits, has no help. `peak` is what the script needs now and `limit` what there is.
std::vector<Help> fittingSizes(MemoryTrials& trials, const ir::Module& m, uint32_t script, uint64_t peak,
                               uint64_t limit);

/// The `checkpoint(...)`, or several, with which a training step fits, at the least cost of those that were tried.
/// `peak` is what is alive at the peak of `bytes` of the device.
std::optional<Help> fittingCheckpoint(MemoryTrials& trials, const ir::Module& m, const AtPeak& peak, uint64_t bytes,
                                      const SourceManager& sources, uint32_t script);

}  // namespace tenc::tool
