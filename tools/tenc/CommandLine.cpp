#include "tools/tenc/CommandLine.h"

#include <algorithm>
#include <charconv>

#include "codegen/cpu/CpuTarget.h"
#include "support/Text.h"

namespace tenc::tool {
namespace {

struct CommandName {
  std::string_view name;
  Command command;
  std::string_view doc;
};
constexpr CommandName kCommands[] = {
    {"check", Command::Check, "s.tl: report all errors without running, also in functions that are never called"},
    {"test", Command::Test, "s.tl: run its `test` blocks"},
    {"bench", Command::Bench, "s.tl: time its `bench` blocks"},
    {"transfers", Command::Transfers, "s.tl: list every move between devices"},
    {"fmt", Command::Fmt, "s.tl: format it in place"},
    {"devices", Command::Devices, "list the devices of this machine"},
    {"explain", Command::Explain, "E0301 or softmax: explain a diagnostic or an operation; ops: list all operations"},
    {"repl", Command::Repl, "read, run and print interactively, as `tenc` alone does"},
};

constexpr std::string_view kEmits[] = {"ast", "ir", "placed", "fused", "dot", "kernels", "llvm", "asm", "program"};

/// Splits "name=value" at the first `=`.
bool split(std::string_view text, std::string_view& name, std::string_view& value) {
  const size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0) return false;
  name = text.substr(0, at);
  value = text.substr(at + 1);
  return !value.empty();
}

template <typename Int>
bool parseInt(std::string_view text, Int& out) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), out);
  return status == std::errc() && end == text.data() + text.size();
}

/// "512MiB", "8GiB", "1024" (bytes).
bool parseSize(std::string_view text, uint64_t& bytes) {
  int shift = 0;
  constexpr std::pair<std::string_view, int> kUnits[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  for (const auto& [unit, bits] : kUnits) {
    if (!text.ends_with(unit)) continue;
    shift = bits;
    text.remove_suffix(unit.size());
    break;
  }
  uint64_t count = 0;
  if (!parseInt(text, count) || count == 0 || count > (~uint64_t{0} >> shift)) return false;
  bytes = count << shift;
  return true;
}

/// The text before the next `:`, which is taken off.
std::string_view nextPart(std::string_view& text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view part = text.substr(0, colon);
  text.remove_prefix(std::min(colon + 1, text.size()));
  return part;
}

template <size_t N>
bool oneOf(std::string_view value, const std::string_view (&choices)[N]) {
  return std::find(std::begin(choices), std::end(choices), value) != std::end(choices);
}

using Setter = bool (*)(CommandLine&, std::string_view);
struct Option {
  std::string_view name;
  std::string_view value;  ///< what stands for the value in the help; empty for a flag
  std::string_view doc;
  Setter set;                  ///< false: the value is not well-formed
  bool mayStandAlone = false;  ///< it has a value only if the next word is `name=value`
};

constexpr Option kOptions[] = {
    {"device", "n=d", "bind the script's device n to d",
     [](CommandLine& c, std::string_view v) {
       std::string_view name, device;
       if (!split(v, name, device)) return false;
       c.session.devices[std::string(name)] = device;
       return true;
     }},
    {"default-device", "d", "the device of tensors created without an annotation (cpu)",
     [](CommandLine& c, std::string_view v) { return c.session.defaultDevice = v, !v.empty(); }},
    {"virtual", "cuda=N[:SIZE][:async|sync|lazy]", "N virtual devices cuda:0.. on this machine, each with SIZE memory",
     [](CommandLine& c, std::string_view v) {
       constexpr int kMostVirtual = 16;
       std::string_view kind, count;
       if (!split(v, kind, count) || kind != "cuda") return false;
       std::string_view rest = count;
       count = nextPart(rest);
       c.session.virtualBytes = 0;
       constexpr std::string_view kOrders[] = {"async", "sync", "lazy"};
       c.session.virtualOrder = "async";
       while (!rest.empty()) {
         const std::string_view part = nextPart(rest);
         if (oneOf(part, kOrders))
           c.session.virtualOrder = part;
         else if (!parseSize(part, c.session.virtualBytes))
           return false;
       }
       return parseInt(count, c.session.virtualCuda) && c.session.virtualCuda >= 0 &&
              c.session.virtualCuda <= kMostVirtual;
     }},
    {"memory", "d=SIZE", "reject programs that need more than SIZE on device d; check: alone, list what is needed",
     [](CommandLine& c, std::string_view v) {
       if (v.empty()) return c.memoryReport = true;
       std::string_view device, size;
       return split(v, device, size) && parseSize(size, c.session.memory[std::string(device)]);
     },
     /*mayStandAlone=*/true},
    {"max-memory", "SIZE|N%", "the same for every device that --memory does not name (80%)",
     [](CommandLine& c, std::string_view v) {
       if (!v.ends_with('%')) return parseSize(v, c.session.maxMemory);
       return parseInt(v.substr(0, v.size() - 1), c.session.maxMemoryPercent) && c.session.maxMemoryPercent >= 1 &&
              c.session.maxMemoryPercent <= 100;
     }},
    {"transfers", "allow|warn|deny", "what to do about moves without a `.to` (warn)",
     [](CommandLine& c, std::string_view v) {
       constexpr std::string_view kPolicies[] = {"allow", "warn", "deny"};
       return c.session.transfers = v, oneOf(v, kPolicies);
     }},
    {"threads", "N", "number of CPU threads (all that the process may use)",
     [](CommandLine& c, std::string_view v) {
       constexpr int kMostThreads = 1024;
       return parseInt(v, c.session.threads) && c.session.threads >= 1 && c.session.threads <= kMostThreads;
     }},
    {"fp", "strict|contract|fast", "floating-point rules (strict)",
     [](CommandLine& c, std::string_view v) {
       constexpr std::string_view kRules[] = {"strict", "contract", "fast"};
       return c.session.fp = v, oneOf(v, kRules);
     }},
    {"target-cpu", "NAME",
     "generate code for NAME, whose features this machine must have: x86-64-v3, haswell, ... (native)",
     [](CommandLine& c, std::string_view v) { return c.session.targetCpu = v, !v.empty(); }},
    {"sandbox-dir", "folder", "restrict load and save to this folder, symbolic links included",
     [](CommandLine& c, std::string_view v) {
       const auto access = rt::FileAccess::within(std::string(v));
       if (access) c.session.fileRoot = access->root;
       return access.has_value();
     }},
    {"engine", "compiled|interp", "run compiled code, or the reference interpreter",
     [](CommandLine& c, std::string_view v) {
       c.session.interpret = v == "interp";
       return v == "interp" || v == "compiled";
     }},
    {"emit", "ast|ir|placed|fused|dot|kernels|llvm|asm", "print what this stage makes, and stop",
     [](CommandLine& c, std::string_view v) { return c.emit = v, oneOf(v, kEmits); }},
    {"passes", "a,b", "run these passes and print the module (with --run: run it)",
     [](CommandLine& c, std::string_view v) { return c.passes = v, true; }},
    {"run", "", "run what --passes leaves", [](CommandLine& c, std::string_view) { return c.runAfterPasses = true; }},
    {"debug", "pass", "say why the pass declines rewrites",
     [](CommandLine& c, std::string_view v) { return c.session.debugPass = v, !v.empty(); }},
    {"no-fuse", "", "one kernel for each operation",
     [](CommandLine& c, std::string_view) { return c.session.fuse = false, true; }},
    {"cache-dir", "folder", "where compiled code is kept (TENC_CACHE_DIR, else the user's cache folder)",
     [](CommandLine& c, std::string_view v) { return c.session.cacheDir = v, !v.empty(); }},
    {"no-cache", "", "do not use the cache of compiled code",
     [](CommandLine& c, std::string_view) { return c.session.cache = false, true; }},
    {"time", "", "show where compile time and run time went",
     [](CommandLine& c, std::string_view) { return c.time = true; }},
    {"filter", "text", "test, bench: only blocks whose title contains text",
     [](CommandLine& c, std::string_view v) { return c.filter = v, true; }},
    {"seconds", "S", "bench: about how long each block runs (1)",
     [](CommandLine& c, std::string_view v) {
       const auto [end, status] = std::from_chars(v.data(), v.data() + v.size(), c.session.benchSeconds);
       return status == std::errc() && end == v.data() + v.size() && c.session.benchSeconds > 0;
     }},
    {"dry-run", "", "fmt: exit status 1 when the layout would change; nothing is written",
     [](CommandLine& c, std::string_view) { return c.checkLayout = true; }},
    {"diff", "old.json", "transfers: exit status 1 when there are more than in a list that --json wrote",
     [](CommandLine& c, std::string_view v) { return c.diff = v, !v.empty(); }},
    {"json", "", "bench, transfers: one JSON object a line",
     [](CommandLine& c, std::string_view) { return c.json = true; }},
    {"diagnostics", "text|json", "format of diagnostics (text)",
     [](CommandLine& c, std::string_view v) {
       c.jsonDiagnostics = v == "json";
       return v == "json" || v == "text";
     }},
    {"colour", "auto|always|never", "colours in diagnostics (auto)",
     [](CommandLine& c, std::string_view v) {
       constexpr std::string_view kChoices[] = {"auto", "always", "never"};
       return c.colour = v, oneOf(v, kChoices);
     }},
    {"trace", "out.json", "write a timeline for chrome://tracing and Perfetto",
     [](CommandLine& c, std::string_view v) { return c.trace = v, !v.empty(); }},
    {"no-progress", "", "do not show the progress of long loops",
     [](CommandLine& c, std::string_view) { return c.progress = false, true; }},
    {"import-path", "folder", "look for imported modules there too",
     [](CommandLine& c, std::string_view v) { return c.session.importPaths.emplace_back(v), !v.empty(); }},
    {"help", "", "show this help; after a script, also its parameters",
     [](CommandLine& c, std::string_view) { return c.help = true; }},
    // Without a text here an option is not listed; docs/diagnostics.md has these.
    {"provoke", "error|signal=STAGE", "",
     [](CommandLine& c, std::string_view v) {
       std::string_view how, stage;
       if (!split(v, how, stage) || (how != "error" && how != "signal")) return false;
       (how == "error" ? c.session.provokeError : c.session.provokeSignal) = stage;
       return true;
     }},
    {"code", "quick|full|auto", "",
     [](CommandLine& c, std::string_view v) {
       using codegen::cpu::Level;
       c.session.codeLevel = v == "auto" ? std::nullopt : std::optional(v == "quick" ? Level::Quick : Level::Full);
       return v == "quick" || v == "full" || v == "auto";
     }},
    {"crash-report", "STAGE=WHAT", "",
     [](CommandLine& c, std::string_view v) { return c.crashReport = v, !v.empty(); }},
    {"version", "", "print the version", [](CommandLine& c, std::string_view) { return c.version = true; }},
};

/// A line of the help.
std::string row(std::string left, std::string_view right) {
  constexpr size_t kLeft = 34;
  left = "  " + left;
  left += left.size() < kLeft ? std::string(kLeft - left.size(), ' ') : "\n" + std::string(kLeft, ' ');
  return left + std::string(right) + "\n";
}
std::string row(const Option& o) {
  return row("--" + std::string(o.name) + (o.value.empty() ? "" : " " + std::string(o.value)), o.doc);
}

/// "test, bench: only some" as what stands before and behind the colon; without one all is behind it.
std::pair<std::string_view, std::string_view> halves(std::string_view doc) {
  const size_t colon = doc.find(": ");
  if (colon == std::string_view::npos) return {{}, doc};
  return {doc.substr(0, colon), doc.substr(colon + 2)};
}

/// Whether the text of an option names the command, as in "test, bench: ..." or "...; check: ...".
bool concerns(const Option& o, std::string_view command) {
  for (std::string_view rest = o.doc; !rest.empty();) {
    const size_t end = std::min(rest.find("; "), rest.size());
    std::string_view names = halves(rest.substr(0, end)).first;
    rest.remove_prefix(std::min(end + 2, rest.size()));
    while (!names.empty()) {
      const size_t comma = std::min(names.find(", "), names.size());
      if (names.substr(0, comma) == command) return true;
      names.remove_prefix(std::min(comma + 2, names.size()));
    }
  }
  return false;
}

const Option* optionNamed(std::string_view name) {
  for (const Option& o : kOptions)
    if (o.name == name) return &o;
  return nullptr;
}

const CommandName* commandNamed(std::string_view name) {
  for (const CommandName& c : kCommands)
    if (c.name == name) return &c;
  return nullptr;
}

}  // namespace

bool isOption(std::string_view name) { return optionNamed(name) != nullptr; }

std::string usage(Command command) {
  const auto known = std::find_if(std::begin(kCommands), std::end(kCommands),
                                  [&](const CommandName& c) { return c.command == command; });
  if (known == std::end(kCommands)) return usage();
  const auto [argument, doc] = halves(known->doc);
  std::string text = "usage: tenc " + std::string(known->name) + (argument.empty() ? "" : " " + std::string(argument)) +
                     " [options]\n\n  " + std::string(doc) + "\n";
  std::string own;
  for (const Option& o : kOptions)
    if (concerns(o, known->name)) own += row(o);
  if (!own.empty()) text += "\noptions of its own:\n" + own;
  return text + "\n`tenc --help` lists all options\n";
}

std::string usage() {
  std::string text =
      "usage: tenc [command] [script.tl] [options] [--parameter value ...]\n\n"
      "  tenc s.tl             compile and run\n"
      "  tenc -                the script from standard input\n"
      "  tenc -e 'print(1)'    the script from the command line\n"
      "  tenc                  read, run and print interactively\n";
  text += "\ncommands:\n";
  for (const CommandName& c : kCommands) text += row("tenc " + std::string(c.name), c.doc);
  text += "\noptions:\n";
  for (const Option& o : kOptions)
    if (!o.doc.empty()) text += row(o);
  text +=
      "\nexit status: 1 after a compile error, 2 for a wrong command line, 3 when the program stops at run time,\n"
      "130 after an interrupt\n";
  return text;
}

std::optional<CommandLine> parseCommandLine(const std::vector<std::string>& words, std::string& error) {
  CommandLine c;
  c.words = words;
  c.command = words.empty() ? Command::Repl : Command::Run;
  bool haveCommand = false, haveInput = false;
  const auto fail = [&](std::string why) {
    error = std::move(why);
    return std::nullopt;
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-h") {
      c.help = true;
    } else if (word == "-e") {
      if (++i == words.size()) return fail("-e needs the code");
      if (c.code || haveInput) return fail("there is more than one script: " + words[i]);
      c.code = words[i];
    } else if (word == "-o") {
      if (++i == words.size()) return fail("-o needs a file");
      c.output = words[i];
    } else if (word.starts_with("--") && word.size() > 2) {
      std::string_view name = std::string_view(word).substr(2), value;
      bool bare = false;  // a script's parameter without a value: a bool that is set
      const bool attached = name.find('=', 1) != std::string_view::npos;
      if (attached) split(name, name, value);  // `--name=` gives the empty text
      const Option* option = optionNamed(name);
      if (option && option->value.empty()) {
        if (attached) return fail("--" + std::string(name) + " takes no value");
      } else if (!attached) {
        const bool alone = option && option->mayStandAlone;
        const bool follows = i + 1 < words.size() && !words[i + 1].starts_with("--") &&
                             (!alone || words[i + 1].find('=') != std::string::npos);
        if (alone && !follows)
          value = {};
        else if (follows)
          value = words[++i];
        else if (option)
          return fail("--" + std::string(name) + " needs a value: " + std::string(option->value));
        else
          bare = true;
      }
      if (!option) {
        c.session.params[std::string(name)] = bare ? std::nullopt : std::optional<std::string>(value);
      } else if (!option->set(c, value)) {
        return fail("--" + std::string(name) + " is " + std::string(option->value) + ", not `" + std::string(value) +
                    "`");
      }
    } else if (word.size() > 1 && word[0] == '-') {
      return fail("unknown option " + word);
    } else if (const CommandName* command = commandNamed(word); command && !haveCommand && !haveInput && !c.code) {
      c.command = command->command;
      haveCommand = true;
    } else {
      if (haveInput || c.code) {
        NearestName nearest(c.input);
        for (const CommandName& known : kCommands) nearest.consider(known.name);
        if (!haveCommand && !nearest.best().empty() && c.input.find('.') == std::string::npos)
          return fail("there is no command " + c.input + "; did you mean " + nearest.best() + "?");
        if (!haveCommand && haveInput && c.input.find_first_of("./") == std::string::npos)
          return fail("there is no command " + c.input);
        return fail("there is more than one script: " + word);
      }
      c.input = word;
      haveInput = true;
    }
  }
  if (c.help || c.version) return c;
  if (const std::string why = codegen::cpu::targetProblem(c.session.targetCpu); !why.empty())
    return fail("--target-cpu: " + why);
  const bool needsScript = c.command != Command::Repl && c.command != Command::Devices;
  if (!haveCommand && !haveInput && !c.code)
    c.command = Command::Repl;
  else if (needsScript && !haveInput && !c.code)
    return fail(c.command == Command::Explain ? "explain needs a code or an operation, such as E0301 or softmax"
                                              : "a script is missing");
  if (c.runAfterPasses && !c.passes) return fail("--run goes with --passes");
  if ((c.emit == "program") == c.output.empty()) return fail("--emit=program and -o FILE go together");
  if (c.command == Command::Repl && !c.session.params.empty()) {
    // Nobody declares parameters here: the option is misspelt.
    const std::string& name = c.session.params.begin()->first;
    NearestName nearest(name);
    for (const Option& o : kOptions) nearest.consider(o.name);
    return fail("unknown option --" + name +
                (nearest.best().empty() ? "" : "; did you mean --" + nearest.best() + "?"));
  }
  return c;
}

}  // namespace tenc::tool
