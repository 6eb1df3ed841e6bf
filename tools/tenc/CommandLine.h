// The command line: one table of options; everything else that begins with `--` is a parameter of the script.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tenc/Session.h"

namespace tenc::tool {

enum class Command : uint8_t { Run, Repl, Check, Test, Bench, Profile, Explain, Devices, Transfers, Fmt };

struct CommandLine {
  Command command = Command::Run;
  SessionOptions session;
  std::string input;                  ///< a path, "-" for standard input; explain: the code
  std::optional<std::string> code;    ///< -e 'code'
  std::string emit;                   ///< --emit=
  std::string output;                 ///< -o: the file of --emit=program
  std::optional<std::string> passes;  ///< --passes=a,b: print the module after them
  bool runAfterPasses = false;        ///< --run
  bool help = false, version = false, time = false, json = false, jsonDiagnostics = false;
  bool progress = true;                   ///< show how far a long run has come, where that is a terminal
  std::string colour = "auto";            ///< auto, always, never
  std::string trace;                      ///< --trace: where a Chrome trace goes
  std::string filter;                     ///< test, bench: titles that contain this
  bool fix = false;                       ///< check: make the edits that errors propose
  bool checkLayout = false;               ///< fmt: say whether the layout would change, and write nothing
  bool memoryReport = false;              ///< check: list what is alive at the peak of each device
  std::string html;                       ///< profile: where the page goes
  std::string diff;                       ///< transfers: a list to compare with
  std::string crashReport;                ///< --crash-report STAGE=WHAT, given by the handler of a crash
  std::vector<std::string> behindScript;  ///< names of options that stand behind the script
  std::vector<std::string> words;         ///< as given, for reproducers
  std::vector<std::string> ofProgram;     ///< those that the program follows from (Option::ofProgram)
};

/// Parses the words after the program's name. `error` gets a sentence when they are not well-formed.
std::optional<CommandLine> parseCommandLine(const std::vector<std::string>& words, std::string& error);

/// Whether `--name` is an option of the tool where it runs a script: a parameter of that name is given behind `--`.
bool isOption(std::string_view name);
/// The option beside which alone `--name` is one; empty for others.
std::string companionOf(std::string_view name);
/// The commands that alone have the option `--name`: "test, bench"; empty where there are none.
std::string commandsWith(std::string_view name);
/// The option that was meant by `--name`, which is none; empty where none is near.
std::string nearestOption(std::string_view name);

/// A word as a shell wants it to be typed, quoted where it must be.
std::string shellWord(std::string_view word);

std::string usage();
/// How one command is used, with the options that it alone takes.
std::string usage(Command command);

}  // namespace tenc::tool
