// What happens when the compiler itself is wrong: a report that says so, and a folder that reproduces it.
#pragma once
#include <string>
#include <vector>

#include "tools/tenc/Session.h"

namespace tenc::tool {

/// Writes source, flags, failing stage and the last good module into a new folder under the temporary directory.
/// Gives its path, or "" when it cannot be written.
std::string writeReproducer(Session& session, const std::vector<std::string>& words, const InternalError& error);

/// The text that asks for a report.
std::string internalErrorText(const InternalError& error, const std::string& folder);

/// A handler for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT that says which command line crashed, has a fresh process
/// write what reproduces it (`--crash-report`), as this one can be trusted with nothing, and ends the process.
/// `words` must outlive the process.
void installCrashHandler(const std::vector<std::string>& words);

/// From now on a crash is reported with the stage that runs by this clock; null: with none. `timings` must outlive
/// that.
void watchStages(const Timings* timings);

/// From now on a fault in memory of this machine's devices is reported in words; null: no more.
void watchMachine(const rt::Machine* machine);

}  // namespace tenc::tool
