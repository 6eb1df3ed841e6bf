// What a program needs of each device: the table of `tenc check --memory`, and which values would make it fit.
#pragma once
#include <string>
#include <vector>

#include "codegen/Codegen.h"
#include "tools/tenc/Session.h"

namespace tenc::tool {

/// The peak of each device, and what is alive then, the largest first, with its place in the source.
std::string memoryReport(const ir::Module& m, const codegen::MemoryPlan& plan, Session& session);

/// A constant or parameter of a script, and the largest smaller value at which the program fits.
struct FittingValue {
  std::string name;
  bool isParam = false;
  int64_t now = 0, fits = 0;
};
/// Found by compiling the script with other values, as far as the plan. Each is verified; a script whose peak does not
/// depend on the value, or that fits with none, has no row. `options` are those of the run.
std::vector<FittingValue> fittingValues(const SessionOptions& options, const SourceFile& script,
                                        const std::string& device, uint64_t limit);

}  // namespace tenc::tool
