// The table of commands and the table of options; the help is made of them.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tenc/CommandLine.h"

namespace tenc::tool {

struct CommandRow {
  std::string_view name;
  Command command;
  std::string_view argument;  ///< as it stands in the help; empty for a command without one
  std::string_view doc;
};
std::span<const CommandRow> commands();
const CommandRow* commandNamed(std::string_view name);

struct Option {
  std::string_view name;
  std::string_view value;  ///< what stands for the value in the help, "a|b|c" for one of these; empty for a flag
  std::string_view doc;    ///< empty: not listed
  bool (*set)(CommandLine&, std::string_view value);  ///< false: the value is not well-formed
  uint32_t commands = 0;                              ///< that alone take it, a bit each; 0: all
  /// What it means to `commands` without a value; all other commands take it with one.
  std::string_view alone{};
  bool ofProgram = true;    ///< false: it changes no program, only how compiling one fails
  std::string_view with{};  ///< it is an option beside this one alone

  bool of(Command c) const { return (commands >> static_cast<unsigned>(c) & 1u) != 0; }
  /// Whether the command takes it.
  bool fits(Command c) const { return commands == 0 || !alone.empty() || of(c); }
};
std::span<const Option> options();
const Option* optionNamed(std::string_view name);
/// The names of the commands that alone take it: "test, bench".
std::string commandsOf(const Option& o);
/// The words that it takes as its value; none where other values are possible.
std::vector<std::string_view> choicesOf(const Option& o);

}  // namespace tenc::tool
