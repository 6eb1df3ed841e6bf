// What is said of a program that stopped: the code, the words, and the way to the place through the calls around it.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ir/Module.h"
#include "runtime/Call.h"
#include "support/Diagnostics.h"

namespace tenc::tool {

/// Where a program stopped; the calls around it, innermost first, with the signature of what each calls ("" where it
/// has none).
struct StopPlace {
  Span at;
  std::vector<std::pair<Span, std::string>> calls;
};

/// Reports a stop of a compiled program. The excerpts that its site names join `sources`, where those are not the files
/// themselves.
void reportStop(const abi::Program& program, const rt::CallResult& result, SourceManager& sources, Diagnostics& diags);

/// Reports something with the calls around it. What is inside the standard library is shown where the script calls it.
Diagnostics::Builder reportAt(Code code, const std::string& message, StopPlace place, const SourceManager& sources,
                              Diagnostics& diags);

/// Where an op of a module comes from.
StopPlace placeOf(const ir::Module& m, ir::Loc at);

/// Adds a note for each call on the way to `at`, innermost first, with the values of its dim variables.
void noteCallers(Diagnostics::Builder& builder, const ir::Module& m, ir::Loc at);

}  // namespace tenc::tool
