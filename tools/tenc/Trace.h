// `--trace out.json`: what happened when, for chrome://tracing and Perfetto.
#pragma once
#include <string>

#include "tools/tenc/Session.h"

namespace tenc::tool {

/// Writes the stages of the compiler and the steps of the run as a Chrome trace; false when the file cannot be
/// written, and `error` says why.
bool writeTrace(const std::string& path, const Timings& timings, const rt::CallTrace& run, std::string& error);

}  // namespace tenc::tool
