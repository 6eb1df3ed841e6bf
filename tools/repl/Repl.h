// The REPL: `tenc` alone.
#pragma once
#include "tools/tenc/CommandLine.h"
#include "tools/tenc/Session.h"

namespace tenc::tool {

/// Reads entries until the end of input or `:quit`. From a pipe there are no prompts, and the status is 1 when an entry
/// had an error.
int repl(Session& session, const CommandLine& line);

}  // namespace tenc::tool
