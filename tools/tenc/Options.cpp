// The options of the tool, the help, and what was meant by a word that is none of them.
#include "tools/tenc/Options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "codegen/cpu/CpuTarget.h"
#include "support/Text.h"

namespace tenc::tool {
namespace {

constexpr CommandRow kCommands[] = {
    {"run", Command::Run, "s.tl", "compile and run, as `tenc s.tl` does"},
    {"check", Command::Check, "s.tl", "report all errors without running, also in functions that are never called"},
    {"test", Command::Test, "s.tl", "run its `test` blocks"},
    {"bench", Command::Bench, "s.tl", "time its `bench` blocks"},
    {"profile", Command::Profile, "s.tl", "run it, and say what each line took"},
    {"transfers", Command::Transfers, "s.tl", "list every move between devices"},
    {"fmt", Command::Fmt, "s.tl", "format it in place"},
    {"devices", Command::Devices, "", "list the devices of this machine"},
    {"explain", Command::Explain, "WORD",
     "explain a diagnostic (E0301), an operation (softmax), a module (nn), a function of one (nn.linear) or a keyword "
     "(let); "
     "`ops` lists all operations"},
    {"repl", Command::Repl, "", "read, run and print interactively, as `tenc` alone does"},
};

/// The set of these commands.
template <class... Commands>
constexpr uint32_t only(Commands... commands) {
  return (... | (1u << static_cast<unsigned>(commands)));
}

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

/// "512MiB", "1.5GiB", "500MB" (of 10^6 bytes), "1024" (bytes).
bool parseSize(std::string_view text, uint64_t& bytes) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                                                            {"TiB", 0x1p40}, {"KB", 1e3},     {"MB", 1e6},
                                                            {"GB", 1e9},     {"TB", 1e12}};
  const auto unit =
      std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& u) { return text.ends_with(u.first); });
  if (unit == std::end(kUnits)) return parseInt(text, bytes) && bytes > 0;
  text.remove_suffix(unit->first.size());
  double count = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), count, std::chars_format::fixed);
  const double all = count * unit->second;
  if (status != std::errc() || end != text.data() + text.size() || !(all >= 1) || all >= 0x1p63) return false;
  bytes = static_cast<uint64_t>(all);
  return true;
}

/// The text before the next `:`, which is taken off.
std::string_view nextPart(std::string_view& text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view part = text.substr(0, colon);
  text.remove_prefix(std::min(colon + 1, text.size()));
  return part;
}

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
       c.session.virtualOrder = "async";
       while (!rest.empty()) {
         const std::string_view part = nextPart(rest);
         if (part == "async" || part == "sync" || part == "lazy")
           c.session.virtualOrder = part;
         else if (!parseSize(part, c.session.virtualBytes))
           return false;
       }
       int devices = 0;
       if (!parseInt(count, devices) || devices < 0 || devices > kMostVirtual) return false;
       return c.session.virtualCuda = devices, true;
     }},
    {"memory", "d=SIZE", "reject programs that need more than SIZE (8GiB, 500MB) on device d",
     [](CommandLine& c, std::string_view v) {
       if (v.empty()) return c.memoryReport = true;
       std::string_view device, size;
       return split(v, device, size) && parseSize(size, c.session.memory[std::string(device)]);
     },
     only(Command::Check), "list what each device needs"},
    {"max-memory", "SIZE|N%", "the same for every device that --memory does not name (80%)",
     [](CommandLine& c, std::string_view v) {
       if (!v.ends_with('%')) return parseSize(v, c.session.maxMemory);
       return parseInt(v.substr(0, v.size() - 1), c.session.maxMemoryPercent) && c.session.maxMemoryPercent >= 1 &&
              c.session.maxMemoryPercent <= 100;
     }},
    {"transfers", "allow|warn|deny", "what to do about moves without a `.to` (warn)",
     [](CommandLine& c, std::string_view v) { return c.session.transfers = v, true; }},
    {"threads", "N", "number of CPU threads (all that the process may use)",
     [](CommandLine& c, std::string_view v) {
       constexpr int kMostThreads = 1024;
       return parseInt(v, c.session.threads) && c.session.threads >= 1 && c.session.threads <= kMostThreads;
     }},
    {"fp", "strict|contract|fast", "floating-point rules (strict)",
     [](CommandLine& c, std::string_view v) { return c.session.fp = v, true; }},
    {"target-cpu", "NAME",
     "generate code for NAME, whose features this machine must have: x86-64-v3, haswell, ... (native)",
     [](CommandLine& c, std::string_view v) { return c.session.targetCpu = v, !v.empty(); }},
    {"target", "cuda:ARCH", "with --emit: code for GPUs of this architecture, such as cuda:sm_90; none need be here",
     [](CommandLine& c, std::string_view v) {
       const size_t colon = v.find(':');
       if (colon == std::string_view::npos || v.substr(0, colon) != "cuda") return false;
       return c.session.cudaArchitecture = v.substr(colon + 1), true;
     }},
    {"sandbox-dir", "folder", "restrict load and save to this folder, symbolic links included",
     [](CommandLine& c, std::string_view v) {
       const auto access = rt::FileAccess::within(std::string(v));
       if (access) c.session.fileRoot = access->root;
       return access.has_value();
     }},
    {"engine", "compiled|interp|oracle",
     "run compiled code, or the reference interpreter; `oracle` differentiates by itself and skips all passes",
     [](CommandLine& c, std::string_view v) {
       c.session.oracle = v == "oracle";
       return c.session.interpret = v != "compiled", true;
     }},
    {"emit", "ast|ir|placed|fused|dot|kernels|llvm|asm|cuda|ptx|program",
     "print what this stage makes, and stop; `program` is written to -o FILE",
     [](CommandLine& c, std::string_view v) { return c.emit = v, true; }},
    {"passes", "a,b", "run these passes and print the module (with --run: run it)",
     [](CommandLine& c, std::string_view v) { return c.passes = v, true; }},
    {"run",
     "",
     "run what --passes leaves",
     [](CommandLine& c, std::string_view) { return c.runAfterPasses = true; },
     0,
     {},
     true,
     "passes"},
    {"debug", "pass", "say why the pass declines rewrites",
     [](CommandLine& c, std::string_view v) { return c.session.debugPass = v, !v.empty(); }},
    {"trap", "nan", "stop at the operation that first makes a NaN or an infinity",
     [](CommandLine& c, std::string_view v) { return c.session.trapNan = true, v == "nan"; }},
    {"no-fuse", "", "one kernel for each operation",
     [](CommandLine& c, std::string_view) { return c.session.fuse = false, true; }},
    {"no-read-ahead", "", "read files when they are loaded, and not while the loop's trip before runs",
     [](CommandLine& c, std::string_view) { return c.session.readAhead = false, true; }},
    {"cache-dir", "folder", "where compiled code is kept (TENC_CACHE_DIR, else the user's cache folder)",
     [](CommandLine& c, std::string_view v) { return c.session.cacheDir = v, !v.empty(); }},
    {"no-cache", "", "do not use the cache of compiled code",
     [](CommandLine& c, std::string_view) { return c.session.cache = false, true; }},
    {"time", "", "show where compile time and run time went",
     [](CommandLine& c, std::string_view) { return c.time = c.session.timeLines = true; }},
    {"filter", "text", "only blocks whose title contains text",
     [](CommandLine& c, std::string_view v) { return c.filter = v, true; }, only(Command::Test, Command::Bench)},
    {"seconds", "S", "about how long each block runs (1)",
     [](CommandLine& c, std::string_view v) {
       const auto [end, status] = std::from_chars(v.data(), v.data() + v.size(), c.session.benchSeconds);
       return status == std::errc() && end == v.data() + v.size() && c.session.benchSeconds > 0 &&
              std::isfinite(c.session.benchSeconds);
     },
     only(Command::Bench)},
    {"fix", "", "make the edits that errors propose, and check what comes of it",
     [](CommandLine& c, std::string_view) { return c.fix = true; }, only(Command::Check)},
    {"dry-run", "", "exit status 1 when the layout would change; nothing is written",
     [](CommandLine& c, std::string_view) { return c.checkLayout = true; }, only(Command::Fmt)},
    {"diff", "old.json", "exit status 1 when there are more than in a list that --json wrote",
     [](CommandLine& c, std::string_view v) { return c.diff = v, !v.empty(); }, only(Command::Transfers)},
    {"json", "", "JSON in place of a table", [](CommandLine& c, std::string_view) { return c.json = true; },
     only(Command::Bench, Command::Transfers, Command::Profile)},
    {"html", "out.html", "write a page with the source beside the figures",
     [](CommandLine& c, std::string_view v) { return c.html = v, !v.empty(); }, only(Command::Profile)},
    {"diagnostics", "text|json", "format of diagnostics (text)",
     [](CommandLine& c, std::string_view v) { return c.jsonDiagnostics = v == "json", true; }},
    {"colour", "auto|always|never", "colours in diagnostics (auto)",
     [](CommandLine& c, std::string_view v) { return c.colour = v, true; }},
    {"trace", "out.json", "write a timeline for chrome://tracing and Perfetto",
     [](CommandLine& c, std::string_view v) { return c.trace = v, !v.empty(); }},
    {"no-progress", "", "do not show the progress of long loops",
     [](CommandLine& c, std::string_view) { return c.progress = false, true; }},
    {"import-path", "folder", "look for imported modules there too",
     [](CommandLine& c, std::string_view v) { return c.session.importPaths.emplace_back(v), !v.empty(); }},
    {"help", "", "show this help; after a command, its own; after a script, its parameters",
     [](CommandLine& c, std::string_view) { return c.help = true; }},
    // Without a text here an option is not listed; docs/diagnostics.md has these.
    {"provoke",
     "error|signal=STAGE",
     "",
     [](CommandLine& c, std::string_view v) {
       std::string_view how, stage;
       if (!split(v, how, stage) || (how != "error" && how != "signal")) return false;
       (how == "error" ? c.session.provokeError : c.session.provokeSignal) = stage;
       return true;
     },
     0,
     {},
     false},
    {"code", "quick|full|auto", "",
     [](CommandLine& c, std::string_view v) {
       using codegen::cpu::Level;
       c.session.codeLevel = v == "auto" ? std::nullopt : std::optional(v == "quick" ? Level::Quick : Level::Full);
       return true;
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
std::string row(const Option& o, std::string_view doc) {
  return row("--" + std::string(o.name) + (o.value.empty() ? "" : " " + std::string(o.value)), doc);
}
std::string call(const CommandRow& c) {
  return "tenc " + std::string(c.name) + (c.argument.empty() ? "" : " " + std::string(c.argument));
}

}  // namespace

std::span<const CommandRow> commands() { return kCommands; }
std::span<const Option> options() { return kOptions; }

const Option* optionNamed(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kOptions), std::end(kOptions), [&](const Option& o) { return o.name == name; });
  return found == std::end(kOptions) ? nullptr : found;
}

const CommandRow* commandNamed(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kCommands), std::end(kCommands), [&](const CommandRow& c) { return c.name == name; });
  return found == std::end(kCommands) ? nullptr : found;
}

std::string commandsOf(const Option& o) {
  std::string names;
  for (const CommandRow& c : kCommands) {
    if (o.of(c.command)) names += (names.empty() ? "" : ", ") + std::string(c.name);
  }
  return names;
}

std::string nearestOption(std::string_view name) {
  NearestName nearest(name);
  for (const Option& o : kOptions) {
    if (!o.doc.empty()) nearest.consider(o.name);
  }
  return nearest.best();
}

bool isOption(std::string_view name) {
  const Option* option = optionNamed(name);
  return option && option->fits(Command::Run) && option->with.empty();
}

std::string companionOf(std::string_view name) {
  const Option* option = optionNamed(name);
  return option ? std::string(option->with) : "";
}

std::string commandsWith(std::string_view name) {
  const Option* option = optionNamed(name);
  return option ? commandsOf(*option) : "";
}

std::vector<std::string_view> choicesOf(const Option& o) {
  std::vector<std::string_view> choices;
  const auto isWord = [](char c) { return (c >= 'a' && c <= 'z') || c == '|'; };
  if (o.value.find('|') == std::string_view::npos || !std::all_of(o.value.begin(), o.value.end(), isWord)) return {};
  for (std::string_view rest = o.value; !rest.empty();) {
    const size_t bar = std::min(rest.find('|'), rest.size());
    choices.push_back(rest.substr(0, bar));
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return choices;
}

std::string usage(Command command) {
  const auto known = std::find_if(std::begin(kCommands), std::end(kCommands),
                                  [&](const CommandRow& c) { return c.command == command; });
  if (known == std::end(kCommands) || command == Command::Run) return usage();
  std::string text = "usage: " + call(*known) + " [options]\n\n  " + std::string(known->doc) + "\n";
  std::string own;
  for (const Option& o : kOptions) {
    if (!o.of(command)) continue;
    own += o.alone.empty() ? row(o, o.doc) : row("--" + std::string(o.name), o.alone);
  }
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
  for (const CommandRow& c : kCommands) text += row(call(c), c.doc);
  text += row("tenc help COMMAND", "how a command is used, with its own options");
  text += row("tenc version", "print the version, as --version does");
  text += "\noptions:\n";
  for (const Option& o : kOptions) {
    if (!o.doc.empty() && (o.commands == 0 || !o.alone.empty())) text += row(o, o.doc);
  }
  text += "\noptions of some commands:\n";
  for (const Option& o : kOptions) {
    if (o.commands == 0) continue;
    const std::string of = commandsOf(o) + ": ";
    text +=
        o.alone.empty() ? row(o, of + std::string(o.doc)) : row("--" + std::string(o.name), of + std::string(o.alone));
  }
  text +=
      "\nexit status: 1 after a compile error, 2 for a wrong command line, 3 when the program stops at run time,\n"
      "130 after an interrupt\n";
  return text;
}

}  // namespace tenc::tool
