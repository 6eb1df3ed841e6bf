#include "tools/repl/Repl.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "frontend/names/Resolve.h"
#include "ir/Ir.h"
#include "syntax/Parse.h"
#include "tools/repl/Highlight.h"
#include "tools/repl/Shell.h"
#include "tools/repl/Words.h"
#include "tools/tenc/Commands.h"
#include "tools/tenc/Crash.h"
#include "tools/tenc/Memory.h"
#include "tools/tenc/Progress.h"
#include "tools/tenc/PromptOutput.h"
#include "tools/tenc/TransferList.h"

namespace tenc::repl {

namespace {

// A signal handler has no other way to find the run.
constinit std::atomic<rt::CallControl*> running{nullptr};

void onInterrupt(int) {
  if (rt::CallControl* control = running.load()) control->interrupt();
}

/// While alive, Ctrl-C ends what runs, or the line that is typed, and never the process.
class InterruptGuard {
 public:
  InterruptGuard() {
    struct sigaction action{};
    action.sa_handler = onInterrupt;  // without SA_RESTART: reading a line ends too
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptGuard() {
    running = nullptr;
    sigaction(SIGINT, &before_, nullptr);
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction before_{};
};

bool onlyComments(std::string_view text) {
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    if (text.front() != '#') return false;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return true;
}

/// What stands behind the name of a value for each of its tensors: "fc1.w", "0".
void leafPaths(const frontend::KeptValue& v, const std::string& path, std::vector<std::string>& paths) {
  if (v.kind == frontend::KeptValue::Kind::Tensor) paths.push_back(path);
  for (size_t i = 0; i < v.elems.size(); ++i) {
    const std::string name = i < v.fields.size() ? v.fields[i] : std::to_string(i);
    leafPaths(v.elems[i], path.empty() ? name : path + "." + name, paths);
  }
}

/// Some names, and how many more there are.
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kMost ? text + " and " + std::to_string(names.size() - kMost) + " more" : text;
}

/// Whether the line that is typed has colours.
bool hasColours(const tool::CommandLine& line) {
  const char* terminal = std::getenv("TERM");
  if (line.colour != "auto") return line.colour == "always";
  return terminal && std::string_view(terminal) != "dumb" && !std::getenv("NO_COLOR");
}

}  // namespace

Shell::Shell(tool::Session& session, const tool::CommandLine& line)
    : session_(session),
      line_(line),
      editor_(
          isatty(STDIN_FILENO) ? defaultHistoryFile() : "", [this](std::string_view typed) { return complete(typed); },
          hasColours(line)
              ? [this](std::string_view typed, size_t cursor) { return highlighted(typing_, typed, cursor); }
              : Painter()) {
  session_.options().session = true;
}

int Shell::run() {
  std::optional<InterruptGuard> guard;
  if (editor_.interactive()) {
    guard.emplace();
    std::printf("TL %s. :help lists commands, Ctrl-D ends.\n", TENC_VERSION);
  }
  std::string entry;
  while (!quit_ && readEntry(entry)) {
    if (onlyComments(entry)) continue;
    editor_.remember(entry);
    runEntry(entry);
    std::fflush(stdout);
  }
  return failed_ && !editor_.interactive() ? static_cast<int>(tool::Outcome::CompileError) : 0;
}

/// Lines up to a complete entry; false at the end of the input.
bool Shell::readEntry(std::string& entry) {
  entry.clear();
  std::string line;
  while (!quit_) {
    typing_ = entry;
    switch (editor_.read(entry.empty() ? "tenc> " : "  ... ", line)) {
      case LineEditor::Got::Interrupt: entry.clear(); continue;
      case LineEditor::Got::End: return !entry.empty();  // what is incomplete is reported as such
      case LineEditor::Got::Line: break;
    }
    if (!entry.empty() && commandOf(line)) {
      // In the midst of an entry, which goes on afterwards.
      command(trimmed(line));
      std::fflush(stdout);
      continue;
    }
    entry += entry.empty() ? line : "\n" + line;
    if (trimmed(entry).starts_with(":") || trimmed(entry).starts_with("?") || !wordCommand(trimmed(entry)).empty())
      return true;
    if (syntax::isComplete(entry) && !goesOn(entry)) return true;
  }
  return false;
}

/// Whether the next line is there already, from a paste or a file, and continues what looks complete, or is what doc
/// comments are about. Empty lines and comments are taken along, as a line behind them may continue it.
bool Shell::goesOn(const std::string& entry) {
  const std::optional<std::string> next = editor_.peek();
  if (!next) return false;
  const std::string_view text = trimmed(*next);
  const bool isNothing = text.empty() || (text.starts_with("#") && !text.starts_with("##"));
  return isNothing || continuesLine(*next) || (trimmed(entry).starts_with("##") && onlyComments(entry));
}

bool Shell::isKnown(const std::string& name) const {
  const std::vector<std::string> names = state_.names();
  return std::ranges::find(names, name) != names.end();
}

/// The command that `exit`, `quit()`, `help`, `help(sum)`, `type(x)` and `sum?` mean, as other languages have them;
/// empty for what is none, or where the session has something of that name.
std::string Shell::wordCommand(std::string_view text) const {
  const auto isName = [](std::string_view s) {
    return !s.empty() &&
           std::ranges::all_of(s, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
  };
  if (text.ends_with("?") && isName(text.substr(0, text.size() - 1)))
    return ":doc " + std::string(text.substr(0, text.size() - 1));
  const size_t open = text.find('(');
  const std::string word(text.substr(0, open));
  if (isKnown(word) || (open != text.npos && !text.ends_with(")"))) return "";
  const std::string_view inside = open == text.npos ? "" : text.substr(open + 1, text.size() - open - 2);
  if (!syntax::isComplete(std::string(inside))) return "";
  if ((word == "exit" || word == "quit") && inside.empty()) return ":quit";
  if (word == "help") return inside.empty() ? ":help" : isName(inside) ? ":doc " + std::string(inside) : "";
  return word == "type" && !inside.empty() ? ":type " + std::string(inside) : "";
}

void Shell::runEntry(const std::string& entry) {
  const std::string_view text = trimmed(entry);
  if (text.front() == ':') return command(text);
  if (text.front() == '?') return command(text.size() == 1 ? ":help" : ":doc " + std::string(text.substr(1)));
  if (const std::string word = wordCommand(text); !word.empty()) return command(word);
  if (startsWithWord(text, "else"))
    return fail("the `if` before this line has run already; start with `} else {` on the line of its `}`");
  // What a line that was typed continues has run already: it goes on with its value.
  const bool takesLast = continuesLine(text) && isKnown("_");
  lastEntry_ = takesLast ? "_ " + std::string(text) : entry;
  execute(addEntry(lastEntry_), Mode::Run);
}

void Shell::execute(std::optional<uint32_t> source, Mode mode) {
  session_.timings().clear();
  tool::Outcome outcome = tool::Outcome::CompileError;
  if (source) {
    auto entry = session_.parse(*source);
    if (entry && session_.diags().ok()) outcome = compileAndRun(*entry, mode);
  }
  if (outcome == tool::Outcome::Interrupted) {
    if (editor_.interactive()) tool::eraseLine();
    if (editor_.interactive()) std::clearerr(stdout);  // a write to a stopped terminal is interrupted, too
    std::fputs("interrupted\n", stderr);
  }
  // The next prompt and what is said of the entry begin a line.
  if (std::exchange(isMidLine_, false) && editor_.interactive()) std::fputc('\n', stdout);
  lastOk_ = outcome == tool::Outcome::Ok;
  failed_ |= !lastOk_;
  std::fflush(stdout);
  tool::flushDiagnostics(session_, line_);
  if (const auto& error = session_.internalError()) {
    std::fputs(tool::internalErrorText(*error, tool::writeReproducer(session_, line_.words, *error)).c_str(), stderr);
    session_.clearInternalError();
  }
  if (mode == Mode::Time) printTimes();
}

/// Lowers an entry behind what is kept.
frontend::Lowered Shell::lower(ast::File& entry) {
  std::vector<std::string> dropped;
  frontend::Lowered lowered;
  while (true) {
    const KeptState::Devices replaced = state_.replacedDevices(entry);
    session_.options().values = state_.values(replaced);
    session_.options().kept = state_.statements(replaced);
    lowered = session_.lower(KeptState::Script(state_, entry).file());
    if (lowered.unfit.empty()) break;
    // A value whose struct was declared anew may not fit any more: then it goes, and the entry is compiled again.
    state_.drop(lowered.unfit);
    session_.diags().clear();
    dropped.insert(dropped.end(), lowered.unfit.begin(), lowered.unfit.end());
  }
  for (const std::string& name : dropped) {
    if (name != "_") std::fprintf(stderr, "`%s` does not fit its type any more and was dropped\n", name.c_str());
  }
  return lowered;
}

tool::Outcome Shell::compileAndRun(ast::File& entry, Mode mode) {
  frontend::Lowered lowered = lower(entry);
  if (!lowered.module || !session_.diags().ok()) return tool::Outcome::CompileError;
  if (!session_.place(*lowered.module)) return tool::Outcome::CompileError;
  if (mode != Mode::Run && mode != Mode::Time && mode != Mode::Show) return inspectPlaced(lowered, mode);
  explain(*lowered.module, lowered.kept);
  return runModule(std::move(lowered.module), entry, lowered.kept, mode);
}

/// What `:type`, `:ir` and the like say of an entry that does not run.
tool::Outcome Shell::inspectPlaced(const frontend::Lowered& lowered, Mode mode) {
  ir::Module& m = *lowered.module;
  switch (mode) {
    case Mode::Ir: std::fputs(ir::print(m).c_str(), stdout); break;
    case Mode::Why:
      explain(m, lowered.kept);
      if (newWhy_.count("") == 0) {
        std::fputs("no value\n", stderr);
        return tool::Outcome::CompileError;
      }
      printWhy(whyOf_, newPlaces_[""], newWhy_[""]);
      break;
    case Mode::Transfers:
      if (!session_.settleMoves(m)) return tool::Outcome::CompileError;
      std::fputs(tool::printTransfers(tool::listTransfers(m), session_.sources()).c_str(), stdout);
      break;
    case Mode::Memory: {
      if (!session_.settleMoves(m) || !session_.optimise(m)) return tool::Outcome::CompileError;
      const auto compiled = session_.compile(m, /*codeToo=*/false);
      if (!compiled) return tool::Outcome::CompileError;
      std::fputs(tool::memoryReport(m, compiled->memory, session_).c_str(), stdout);
      break;
    }
    default: printType(m, lowered.kept);
  }
  return tool::Outcome::Ok;
}

tool::Outcome Shell::runModule(std::unique_ptr<ir::Module> m, ast::File& entry,
                               const std::vector<frontend::Lowered::Kept>& kept, Mode mode) {
  // The passes may replace values, so types and places of the results are read before them.
  std::vector<KeptTensor> results;
  const ir::Op* end = m->main()->body->ops.back().get();
  for (size_t i = 0; i < end->operandCount(); ++i) {
    const ir::Type& t = end->operand(i)->type;
    results.push_back({{t.dtype, t.shape, t.place.device.empty() ? "cpu" : t.place.device}, {}});
  }
  KeptState::Devices devices;
  for (const ir::DeviceDecl& d : m->devices) devices[d.name] = d.actual;
  if (!session_.settleMoves(*m)) return tool::Outcome::CompileError;
  const std::string transfers = tool::printTransfers(tool::listTransfers(*m), session_.sources());
  if (!session_.optimise(*m)) return tool::Outcome::CompileError;
  std::optional<codegen::Compiled> compiled = session_.compile(*m);
  if (!compiled) return tool::Outcome::CompileError;
  const std::string memory = tool::memoryReport(*m, compiled->memory, session_);
  tool::flushDiagnostics(session_, line_);  // warnings come before what the program prints

  session_.control().reset();
  running = &session_.control();
  rt::CallOptions options;
  for (const void* data : state_.inputData()) options.inputs.push_back({data});
  options.result = [&](size_t i, const void* data) {
    if (i >= results.size()) return;
    KeptTensor& t = results[i];
    const auto bytes = static_cast<size_t>(ir::elementCount(t.type.shape).value_or(0)) *
                       static_cast<size_t>(ir::byteSize(t.type.dtype));
    t.data.resize(bytes);
    std::memcpy(t.data.data(), data, bytes);
  };
  tool::PromptOutput output;
  options.print = [&](std::string_view text) {
    if (mode == Mode::Show || text.empty()) return;  // a picture in place of numbers
    isMidLine_ = text.back() != '\n';
    output.write(text);
  };
  const auto [seed, draws] = session_.random().next(false);
  const tool::Executable program{std::move(m), std::move(*compiled)};
  const tool::Outcome outcome = [&] {
    const tool::ProgressLine progress(line_.progress, options);
    return session_.run(program, options);
  }();
  running = nullptr;
  // What is not kept has drawn nothing.
  if (outcome != tool::Outcome::Ok || mode == Mode::Show) session_.random().seed(seed, draws);
  if (outcome != tool::Outcome::Ok) return outcome;
  if (mode == Mode::Show) {
    const auto shown = std::ranges::find_if(kept, [](const auto& k) { return k.name.empty(); });
    if (shown == kept.end() || !shown->value || shown->value->kind != frontend::KeptValue::Kind::Tensor) {
      fail("there is no tensor to show: a picture is [H, W], [H, W, 3] or [3, H, W]");
      return tool::Outcome::Usage;
    }
    showPicture(results.at(shown->value->tensor), shown->type);
    return tool::Outcome::Ok;
  }
  lastTransfers_ = transfers;
  lastMemory_ = memory;
  keep(entry, kept, results, std::move(devices));
  return tool::Outcome::Ok;
}

/// Takes over what an entry that ran has declared and computed.
void Shell::keep(ast::File& entry, const std::vector<frontend::Lowered::Kept>& kept,
                 const std::vector<KeptTensor>& results, KeptState::Devices devices) {
  const auto isBlock = [](const auto& s) {
    return s->kind == ast::Stmt::Kind::Test || s->kind == ast::Stmt::Kind::Bench;
  };
  if (std::ranges::any_of(entry.statements, isBlock))
    std::fputs("not run: `:save FILE` writes the session, whose blocks `tenc test FILE` and `tenc bench FILE` run\n",
               stderr);
  for (auto& [name, reasons] : newWhy_)
    if (!name.empty()) why_[name] = std::move(reasons);
  for (auto& [name, text] : newPlaces_) places_[name] = std::move(text);
  for (const auto& k : kept) {
    if (!k.value) why_.erase(k.name);  // a function or a type
    if (k.name.empty() && !k.value && !k.type.empty()) std::printf("%s\n", k.type.c_str());
  }
  auto last = Transcript::Last::Statement;
  for (const auto& k : kept) {
    if (k.name.empty()) last = Transcript::Last::Shown;
    if (k.name.empty() && !k.value && !k.type.empty()) last = Transcript::Last::Described;
  }
  std::set<std::string> functions;
  for (const auto& k : kept)
    if (!k.value && !k.name.empty()) functions.insert(k.name);
  {
    const KeptState::Script script(state_, entry);
    const frontend::Resolution names(script.file(), {}, state_.values(), state_.statements());
    ran_.add(session_.sources(), script.file(), last, names, functions);
  }
  for (const std::string& name : state_.commit(std::move(entry), kept, results, std::move(devices), session_.sources()))
    fail("`" + name +
         "` is not kept: a function, or what holds one, is kept as the statement that gives it its value, `let " +
         name + " = ...` or `" + name +
         " = ...`, and sees what the entry ends with; of several in one pattern the first is");
}

/// Why the values of the entry live where they do, while its placed module is there.
void Shell::explain(const ir::Module& m, const std::vector<frontend::Lowered::Kept>& kept) {
  newWhy_.clear();
  newPlaces_.clear();
  const ir::Op* end = m.main()->body->ops.back().get();
  for (const auto& k : kept) {
    if (!k.value) continue;
    // One leaf for each place: those of a struct mostly share one.
    PlaceReasons& reasons = newWhy_[k.name];
    std::string& places = newPlaces_[k.name];
    std::map<std::string, std::vector<std::string>> names;
    std::vector<std::string> paths;
    leafPaths(*k.value, "", paths);
    const std::vector<size_t> leaves = k.value->tensors();
    std::vector<std::string> order;
    for (size_t i = 0; i < leaves.size(); ++i) {
      const ir::Value& v = *end->operand(leaves[i]);
      const std::string place = v.type.place.isFree() ? "" : v.type.place.device;
      if (names[place].empty()) order.push_back(place);
      names[place].push_back(paths[i]);
      if (reasons.count(place) == 0) reasons[place] = whyPlaced(m, v, session_.sources(), why_);
    }
    for (const std::string& place : order) {
      const std::string_view actual = m.actual(place);
      places += places.empty() ? "" : "; ";
      if (order.size() > 1) places += listed(names[place]) + ": ";
      places += place.empty() ? "a number" : place + (actual == place ? "" : ", which is " + std::string(actual));
    }
    if (places.empty()) places = "known at compile time: on no device";
  }
}

}  // namespace tenc::repl

namespace tenc::tool {

int repl(Session& session, const CommandLine& line) { return tenc::repl::Shell(session, line).run(); }

}  // namespace tenc::tool
