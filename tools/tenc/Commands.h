// The subcommands, one file each. Each returns the exit status.
#pragma once
#include <memory>
#include <string>

#include "tools/tenc/CommandLine.h"
#include "tools/tenc/Session.h"

namespace tenc::tool {

int runCommand(Session& session, const CommandLine& line);
int checkCommand(Session& session, const CommandLine& line);
int testCommand(Session& session, const CommandLine& line);
int benchCommand(Session& session, const CommandLine& line);
/// Lays a script out anew, in place; `-` and `-e` to standard output.
int fmtCommand(Session& session, const CommandLine& line);
int transfersCommand(Session& session, const CommandLine& line);
/// The signature and documentation of a built-in operation, of all for "ops"; false when there is none of that name.
bool printOperation(std::string_view name);
/// What a word of the grammar is for; false when it is none.
bool printKeyword(std::string_view word);
/// What TL has in place of a name of NumPy, PyTorch, JAX or Python; false for one that nobody knows.
bool printForeign(const std::string& name);
/// The page of docs/errors of a code.
bool printErrorPage(std::string_view code);
int explainCommand(Session& session, const CommandLine& line);
int devicesCommand(Session& session);
int profileCommand(Session& session, const CommandLine& line);

// ---- what they share

/// The script's source; reports and returns nothing when it cannot be had.
std::optional<uint32_t> addInput(Session& session, const CommandLine& line);
/// Text to a lowered script, with the checks that concern the command line.
frontend::Lowered lowerInput(Session& session, const CommandLine& line, uint32_t file);
/// Writes the diagnostics (and an internal error with its reproducer) to standard error and the timings when asked;
/// gives the exit status.
int finish(Session& session, const CommandLine& line, Outcome outcome = Outcome::Ok);
/// Says that there is no block of this kind, or --filter leaves none; gives the exit status.
int noBlock(const char* kind, const CommandLine& line);
/// Of the interpreter: an interrupt ends it as it ends compiled code.
interp::Options interpreterOptions(Session& session);
/// `--crash-report STAGE=WHAT`: tells of a crash that another process has had with the same command line.
int reportCrash(Session& session, const CommandLine& line);
/// Writes the diagnostics collected so far and forgets them.
void flushDiagnostics(Session& session, const CommandLine& line);

}  // namespace tenc::tool
