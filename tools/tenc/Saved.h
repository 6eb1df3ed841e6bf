// Compiled programs in files.
#pragma once
#include <memory>
#include <string>

#include "tools/tenc/Commands.h"

namespace tenc::tool {

/// All of a regular file; `error` says why not. Waits for no pipe.
bool readWhole(const std::string& path, std::string& bytes, std::string& error);
/// Whether the file of that name holds a compiled program and not a script.
bool isSavedProgram(const std::string& path);
/// `--emit=program`: writes to `line.output`. Gives the exit status.
int saveProgram(Session& session, const CommandLine& line, const abi::Program& program);
/// `tenc FILE.tlp`. Gives the exit status.
int runSavedCommand(Session& session, const CommandLine& line);

/// The program in a file; null after a diagnostic (E0501).
std::shared_ptr<const abi::Program> readSavedProgram(Session& session, const std::string& path);
/// Why a device has too little memory for it, as a sentence; empty where all have enough, or are not there.
std::string shortageOf(Session& session, const abi::Program& program);
/// Runs it; refuses one that does not fit this machine or is wrong in itself. `path` is for messages.
Outcome runSavedProgram(Session& session, const std::string& path, const abi::Program& program,
                        const rt::CallOptions& options);

}  // namespace tenc::tool
