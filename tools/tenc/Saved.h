// Compiled programs in files.
#pragma once
#include "tools/tenc/Commands.h"

namespace tenc::tool {

/// Whether the file of that name holds a compiled program and not a script.
bool isSavedProgram(const std::string& path);
/// `--emit=program`: writes to `line.output`. Gives the exit status.
int saveProgram(Session& session, const CommandLine& line, const abi::Program& program);
/// `tenc FILE.tlp`: reads the program, refuses one that does not fit this machine, and runs it.
int runSavedProgram(Session& session, const CommandLine& line);

}  // namespace tenc::tool
