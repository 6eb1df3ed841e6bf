#include "tools/tenc/CommandLine.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "codegen/cpu/CpuTarget.h"
#include "codegen/cuda/CudaTarget.h"
#include "ir/DeviceTable.h"
#include "passes/Passes.h"
#include "support/Text.h"
#include "tools/tenc/Options.h"
#include "tools/tenc/Saved.h"

namespace tenc::tool {

std::string shellWord(std::string_view word) {
  const auto isPlain = [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return std::isalnum(u) != 0 || u >= 0x80 || std::string_view("_-./+,:=@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), isPlain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

namespace {

std::string didYouMean(const std::string& word) { return word.empty() ? "" : "; did you mean " + word + "?"; }

/// "--fp takes strict|contract|fast, not `fats`; did you mean fast?"
std::string wrongValue(const Option& o, std::string_view value) {
  NearestName nearest(value);
  for (const std::string_view choice : choicesOf(o)) nearest.consider(choice);
  return "--" + std::string(o.name) + " takes " + std::string(o.value) + ", not `" + std::string(value) + "`" +
         didYouMean(nearest.best());
}

bool fitsChoices(const Option& o, std::string_view value) {
  const auto choices = choicesOf(o);
  return choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end();
}

/// Splits "name=value" at the first `=`; `--name=` gives the empty text.
void splitAttached(std::string_view& name, std::string_view& value) {
  const size_t at = name.find('=', 1);
  value = name.substr(at + 1);
  name = name.substr(0, at);
}

/// Why a word that stands where the command would is none.
std::string noCommand(const std::string& word) {
  NearestName nearest(word);
  for (const CommandRow& known : commands()) nearest.consider(known.name);
  return "there is no command " + word + didYouMean(nearest.best());
}

/// One reading of the words.
class Reader {
 public:
  explicit Reader(const std::vector<std::string>& words) : words_(words) { c_.words = words; }

  /// False after an error.
  bool read() {
    while (next_ < words_.size()) {
      const size_t first = next_;
      ofProgram_ = true;
      if (!word(words_[next_++])) return false;
      for (size_t i = first; ofProgram_ && i < next_; ++i) c_.ofProgram.push_back(words_[i]);
    }
    return complete();
  }
  std::string error;
  CommandLine take() { return std::move(c_); }

 private:
  bool fail(std::string why) {
    error = std::move(why);
    return false;
  }
  bool haveScript() const { return haveInput_ || c_.code; }

  bool word(const std::string& word) {
    if (word == "--") return parametersOnly_ = true;
    if (parametersOnly_ && word.starts_with("--")) return parameter(std::string_view(word).substr(2));
    if (word == "-h") return c_.help = true;
    if (word == "-e") {
      if (next_ == words_.size()) return fail("-e needs the code");
      if (haveScript()) return fail("there is more than one script: " + words_[next_]);
      c_.code = words_[next_++];
      return true;
    }
    if (word == "-o") {
      if (next_ == words_.size()) return fail("-o needs a file");
      c_.output = words_[next_++];
      return true;
    }
    if (word.starts_with("--") && word.size() > 2) return option(std::string_view(word).substr(2));
    if (word.size() > 1 && word[0] == '-') {
      std::string meant = optionBeginning(word.substr(1));
      return fail("unknown option " + word + didYouMean(meant.empty() ? meant : "--" + meant));
    }
    return name(word);
  }

  /// The only listed option that begins so: for `-t` and the like.
  static std::string optionBeginning(std::string_view text) {
    const Option* only = nullptr;
    for (const Option& o : options()) {
      if (o.doc.empty() || !o.name.starts_with(text)) continue;
      if (only) return {};
      only = &o;
    }
    return only ? std::string(only->name) : std::string();
  }

  bool option(std::string_view name) {
    std::string_view value;
    const std::string_view whole = name;
    const bool attached = name.find('=', 1) != std::string_view::npos;
    if (attached) splitAttached(name, value);
    const Option* option = optionNamed(name);
    // Options of other commands are names like any other for the parameters of a script.
    if (!option || (runsScript() && !option->fits(c_.command)) || !hasCompanion(*option)) return parameter(whole);
    if (haveScript() && option->fits(Command::Run)) c_.behindScript.emplace_back(name);
    if (option->value.empty()) {
      if (attached) return fail("--" + std::string(name) + " takes no value");
    } else if (!attached) {
      const bool alone = !option->alone.empty();
      const bool follows = next_ < words_.size() && !words_[next_].starts_with("--") &&
                           (!alone || words_[next_].find('=') != std::string::npos);
      if (follows)
        value = words_[next_++];
      else if (!alone)
        return fail("--" + std::string(name) + " needs a value: " + std::string(option->value));
    }
    given_.push_back(option);
    ofProgram_ = option->ofProgram;
    const bool alone = !attached && value.empty() && !option->alone.empty();
    if (alone) optional_ = option;
    if (!alone && !option->value.empty() && !fitsChoices(*option, value)) return fail(wrongValue(*option, value));
    return option->set(c_, value) || fail(wrongValue(*option, value));
  }

  /// Whether the option stands beside the one that it goes with, if there is such a one.
  bool hasCompanion(const Option& option) const {
    const std::string with = "--" + std::string(option.with);
    return option.with.empty() ||
           std::ranges::any_of(words_, [&](const std::string& w) { return w == with || w.starts_with(with + "="); });
  }

  /// Of the script; one without a value is a bool that is set.
  bool parameter(std::string_view name) {
    const size_t at = std::min(name.find('=', 1), name.size());
    std::optional<std::string>& given = c_.session.params[std::string(name.substr(0, at))];
    if (at < name.size())
      given = name.substr(at + 1);
    else if (next_ < words_.size() && !words_[next_].starts_with("--"))
      given = words_[next_++];
    else
      given.reset();
    return true;
  }

  /// Whether the command, as far as it is known, takes a script's parameters.
  bool runsScript() const {
    return (haveCommand_ || haveScript()) && c_.command != Command::Devices && c_.command != Command::Repl &&
           c_.command != Command::Explain && c_.command != Command::Fmt;
  }

  /// A command, a script, or what `explain` and `help` are asked about.
  bool name(const std::string& word) {
    const CommandRow* command = commandNamed(word);
    if (!haveCommand_ && !haveScript() && word == "version") return c_.version = true;
    if (!haveCommand_ && !haveScript() && (command || word == "help")) {
      haveCommand_ = true;
      if (command)
        c_.command = command->command;
      else
        c_.help = helpCommand_ = true;
      return true;
    }
    if (helpCommand_) {
      if (!command) return fail(noCommand(word));
      c_.command = command->command;
      return true;
    }
    if (haveCommand_ && (c_.command == Command::Devices || c_.command == Command::Repl))
      return fail(commandText() + " takes no script, and there is " + word);
    if (!haveScript()) {
      c_.input = word;
      return haveInput_ = true;
    }
    if (!haveCommand_ && haveInput_ && c_.input.find_first_of("./") == std::string::npos)
      return fail(noCommand(c_.input));
    if (!haveCommand_ && command)
      return fail("the command comes first: `tenc " + word + " " + shellWord(c_.input) + "`");
    if (optional_ != nullptr)
      return fail("`" + word + "` is not a value of --" + std::string(optional_->name) + ", which takes " +
                  std::string(optional_->value) + asParameter(optional_->name, word));
    const bool isFlag = !given_.empty() && given_.back()->value.empty() && next_ > 1 &&
                        words_[next_ - 2] == "--" + std::string(given_.back()->name);
    if (isFlag)
      return fail("--" + std::string(given_.back()->name) + " takes no value, and there is `" + word + "`" +
                  asParameter(given_.back()->name, word));
    return fail("there is more than one script: " + word);
  }

  /// How a parameter of the script is given that has the name of an option.
  static std::string asParameter(std::string_view name, const std::string& value) {
    return "; for a parameter of the script, write `-- --" + std::string(name) + " " + value + "`";
  }

  std::string commandText() const {
    const auto row = std::find_if(commands().begin(), commands().end(),
                                  [&](const CommandRow& r) { return r.command == c_.command; });
    return row == commands().end() ? "tenc" : "tenc " + std::string(row->name);
  }

  bool complete() {
    if (words_.empty() || (!haveCommand_ && !haveScript() && !c_.help)) c_.command = Command::Repl;
    if (c_.help || c_.version) return true;
    for (const Option* o : given_) {
      if (!o->fits(c_.command))
        return fail("--" + std::string(o->name) + " is an option of tenc " + commandsOf(*o) + ", not of `" +
                    commandText() + "`");
    }
    if (const std::string why = codegen::cpu::targetProblem(c_.session.targetCpu); !why.empty())
      return fail("--target-cpu: " + why);
    if (!targetsGpu()) return false;
    const bool needsScript = c_.command != Command::Repl && c_.command != Command::Devices;
    if (needsScript && !haveScript())
      return fail(c_.command == Command::Explain ? "explain needs a code or an operation, such as E0301 or softmax"
                                                 : "a script is missing: `" + commandText() + " s.tl`");
    if (!knownPass(c_.session.debugPass) || !foldersAreThere()) return false;
    const bool uncompiled = c_.emit == "ast" || c_.emit == "ir" || (c_.emit == "placed" && !c_.session.oracle);
    if (c_.session.interpret && !c_.emit.empty() && !uncompiled)
      return fail("--emit " + c_.emit + " shows compiled code, and the interpreter compiles none");
    if (c_.session.trapNan && c_.session.oracle) return fail("--trap nan does not go with --engine oracle");
    if (c_.command != Command::Run && (!c_.emit.empty() || c_.passes))
      return fail(std::string(c_.passes ? "--passes" : "--emit") + " is an option of `tenc s.tl`, not of `" +
                  commandText() + "`");
    if ((c_.emit == "program") == c_.output.empty()) return fail("--emit=program and -o FILE go together");
    if (!scriptStays() || !fitsSavedProgram()) return false;
    if (c_.command == Command::Repl && !c_.session.params.empty()) {
      // Nobody declares parameters here: the option is misspelt.
      const std::string& name = c_.session.params.begin()->first;
      if (const std::string with = companionOf(name); !with.empty()) return fail("--" + name + " goes with --" + with);
      const std::string meant = nearestOption(name);
      return fail("unknown option --" + name + didYouMean(meant.empty() ? meant : "--" + meant));
    }
    return true;
  }

  /// Whether a compiled program, where one is given, has what is asked for.
  bool fitsSavedProgram() {
    if (c_.code || !isSavedProgram(c_.input)) return true;
    if (c_.command != Command::Run)
      return fail(c_.input + " is a compiled program, which `tenc " + shellWord(c_.input) + "` runs; `" +
                  commandText() + "` takes the script");
    constexpr std::string_view kOfCompiling[] = {"emit", "passes",  "engine",    "device", "default-device",
                                                 "fp",   "no-fuse", "transfers", "debug",  "target"};
    for (const Option* o : given_) {
      const bool asCompiled = o->name == "engine" && !c_.session.interpret;
      if (!asCompiled && std::ranges::find(kOfCompiling, o->name) != std::end(kOfCompiling))
        return fail("--" + std::string(o->name) + ": " + c_.input + " is compiled already");
    }
    for (const auto& [device, limit] : c_.session.memory) {
      if (!ir::DeviceTable::couldBe(device))
        return fail("--memory: " + c_.input + " is compiled already and knows devices by names like cuda:0, not `" +
                    device + "`");
    }
    return true;
  }

  /// Whether nothing that is written replaces the script.
  bool scriptStays() {
    for (const auto& [option, path] : {std::pair{"-o", &c_.output}, {"--trace", &c_.trace}, {"--html", &c_.html}}) {
      std::error_code none;
      const bool isScript = !path->empty() && std::filesystem::is_regular_file(c_.input, none) &&
                            std::filesystem::equivalent(*path, c_.input, none);
      if (isScript) return fail(std::string(option) + " " + *path + " is the script itself");
    }
    return true;
  }

  bool knownPass(const std::string& pass) {
    NearestName nearest(pass);
    for (const passes::PassInfo& known : passes::allPasses()) {
      if (pass.empty() || pass == known.name) return true;
      nearest.consider(known.name);
    }
    std::string list;
    for (const passes::PassInfo& known : passes::allPasses())
      list += (list.empty() ? "" : ", ") + std::string(known.name);
    return fail("--debug: there is no pass `" + pass + "`" +
                (nearest.best().empty() ? "; there are " + list : didYouMean(nearest.best())));
  }

  bool foldersAreThere() {
    for (const std::string& folder : c_.session.importPaths) {
      std::error_code none;
      if (!std::filesystem::is_directory(folder, none))
        return fail("--import-path: there is no folder `" + folder + "`");
    }
    return true;
  }

  /// Whether there is code for GPUs where that is asked for.
  bool targetsGpu() {
    SessionOptions& session = c_.session;
    const std::string& gpu = session.cudaArchitecture;
    session.compileOnly = !c_.emit.empty() || c_.command == Command::Check || c_.command == Command::Transfers;
    if (gpu.empty()) {
      const bool prints = c_.emit == "cuda" || c_.emit == "ptx";
      if (prints && (session.virtualCuda || Hardware(session).table().count("cuda") == 0))
        return fail("--emit=" + c_.emit + " goes with --target cuda:sm_90 where there is no GPU");
      return true;
    }
    if (const std::string why = codegen::cuda::architectureProblem(gpu); !why.empty()) return fail("--target: " + why);
    const bool compiles = c_.emit == "ptx" || c_.emit == "program";
    const std::string why = compiles              ? codegen::cuda::compilerProblem(gpu)
                            : session.compileOnly ? ""  // what is printed is made before
                                                  : codegen::cuda::compilerProblem();
    if (!why.empty()) return fail("--target: " + why);
    return true;
  }

  const std::vector<std::string>& words_;
  size_t next_ = 0;
  CommandLine c_;
  bool haveCommand_ = false, haveInput_ = false, helpCommand_ = false;
  bool parametersOnly_ = false;  ///< behind `--`
  bool ofProgram_ = true;        ///< of the option that is read: Option::ofProgram
  std::vector<const Option*> given_;
  const Option* optional_ = nullptr;  ///< the last that was given without the value that it may have
};

}  // namespace

std::optional<CommandLine> parseCommandLine(const std::vector<std::string>& words, std::string& error) {
  Reader reader(words);
  if (reader.read()) return reader.take();
  error = reader.error;
  return std::nullopt;
}

}  // namespace tenc::tool
