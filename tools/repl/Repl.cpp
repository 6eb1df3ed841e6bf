#include "tools/repl/Repl.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "ir/Ir.h"
#include "tools/repl/KeptState.h"
#include "tools/repl/LineEditor.h"
#include "tools/repl/Names.h"
#include "tools/repl/Transcript.h"
#include "tools/repl/Why.h"
#include "tools/tenc/Commands.h"
#include "tools/tenc/Crash.h"
#include "tools/tenc/Memory.h"
#include "tools/tenc/Progress.h"
#include "tools/tenc/TransferList.h"

namespace tenc::tool {

namespace {

using repl::KeptState;
using repl::KeptTensor;
using repl::LineEditor;

constexpr std::string_view kKeywords[] = {
    "let",      "var",    "const", "fn",    "struct", "type",     "for",   "in",     "by",     "while",
    "if",       "else",   "and",   "or",    "not",    "true",     "false", "import", "return", "break",
    "continue", "assert", "print", "param", "device", "autocast", "new",   "static", "state",  "cpu",
    "f16",      "bf16",   "f32",   "f64",   "i8",     "i16",      "i32",   "i64",    "u8",     "u16",
    "u32",      "u64",    "bool",  "nan",   "inf",    "pi"};

enum class Mode : uint8_t { Run, Type, Ir, Transfers, Memory, Why, Time };

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

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == '\n')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\n' || s.back() == '\r'))
    s.remove_suffix(1);
  return s;
}

bool onlyComments(std::string_view text) {
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    if (text.front() != '#') return false;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return true;
}

class Repl {
 public:
  Repl(Session& session, const CommandLine& line)
      : session_(session),
        line_(line),
        editor_(isatty(STDIN_FILENO) ? repl::defaultHistoryFile() : "",
                [this](std::string_view typed) { return complete(typed); }) {
    session_.options().session = true;
  }

  int run();

 private:
  /// A word that begins with a colon.
  struct Command {
    std::string_view name, argument, doc;
    bool takesEntry;  ///< which may have several lines
    void (*run)(Repl& repl, const std::string& argument);
    std::string_view shortName{};
  };
  static const Command kCommands[];
  static const Command* commandNamed(std::string_view name);

  bool readEntry(std::string& entry);
  void command(std::string_view text);
  void help() const;
  void load(const std::string& path);
  /// Runs an entry in that mode; without one prints `last`, what the mode gave for the last that ran.
  void inspect(Mode mode, const std::string& entry, const std::string& last);
  /// Whether there is an entry behind the command; says so if not.
  bool needsEntry(std::string_view command, const std::string& entry);
  void execute(std::optional<uint32_t> source, Mode mode);
  Outcome compileAndRun(ast::File& entry, Mode mode);
  Outcome runModule(std::unique_ptr<ir::Module> m, ast::File& entry, const std::vector<frontend::Lowered::Kept>& kept);
  void save(const std::string& path);
  void printType(const ir::Module& m, const std::vector<frontend::Lowered::Kept>& kept);
  std::vector<std::string> complete(std::string_view typed);
  void document(const std::string& name);
  std::optional<uint32_t> addEntry(std::string text) {
    return session_.addText("<entry " + std::to_string(++entries_) + ">", std::move(text));
  }

  Session& session_;
  CommandLine line_;
  LineEditor editor_;
  KeptState state_;
  repl::Names names_{state_, session_.sources()};
  void why(const std::string& name);
  void printWhy(const std::string& what, const std::string& places, const repl::PlaceReasons& reasons);
  void explain(const ir::Module& m, const std::vector<frontend::Lowered::Kept>& kept);

  std::string lastTransfers_, lastMemory_;
  std::map<std::string, repl::PlaceReasons> why_, newWhy_;  // of each kept value, and of the entry that is compiled
  std::map<std::string, std::string> places_, newPlaces_;   // "gpu, which is cuda:0"
  std::string whyOf_;                                       ///< the entry behind `:why`
  int entries_ = 0;
  repl::Transcript ran_;  ///< entries without an error, for :save
  bool failed_ = false;
  bool lastOk_ = false;  ///< whether the last entry ran to its end
  bool quit_ = false;
};

int Repl::run() {
  std::optional<InterruptGuard> guard;
  if (editor_.interactive()) {
    guard.emplace();
    std::printf("TL %s. :help lists commands, Ctrl-D ends.\n", TENC_VERSION);
  }
  std::string entry;
  while (!quit_ && readEntry(entry)) {
    const std::string_view text = trimmed(entry);
    if (onlyComments(text)) continue;
    editor_.remember(entry);
    if (text.front() == ':')
      command(text);
    else
      execute(addEntry(entry), Mode::Run);
    std::fflush(stdout);
  }
  return failed_ && !editor_.interactive() ? static_cast<int>(Outcome::CompileError) : 0;
}

/// Lines up to a complete entry; false at the end of the input.
bool Repl::readEntry(std::string& entry) {
  entry.clear();
  std::string line;
  while (true) {
    switch (editor_.read(entry.empty() ? "tenc> " : "  ... ", line)) {
      case LineEditor::Got::Interrupt: entry.clear(); continue;
      case LineEditor::Got::End: return !entry.empty();  // what is incomplete is reported as such
      case LineEditor::Got::Line: break;
    }
    entry += entry.empty() ? line : "\n" + line;
    if (trimmed(entry).starts_with(":")) return true;
    if (syntax::isComplete(entry)) return true;
  }
}

const Repl::Command Repl::kCommands[] = {
    {":help", "", "this list", false, [](Repl& r, const std::string&) { r.help(); }, ":h"},
    {":type", "ENTRY", "the type and place of a value, without running", true,
     [](Repl& r, const std::string& e) {
       if (r.needsEntry(":type", e)) r.execute(r.addEntry(e), Mode::Type);
     }},
    {":ir", "ENTRY", "the placed IR", true,
     [](Repl& r, const std::string& e) {
       if (r.needsEntry(":ir", e)) r.execute(r.addEntry(e), Mode::Ir);
     }},
    {":transfers", "[ENTRY]", "the moves between devices, of this entry or of the last one that ran", true,
     [](Repl& r, const std::string& e) { r.inspect(Mode::Transfers, e, r.lastTransfers_); }},
    {":memory", "[ENTRY]", "what is alive at the peak of each device, in this entry or in the last one that ran", true,
     [](Repl& r, const std::string& e) { r.inspect(Mode::Memory, e, r.lastMemory_); }},
    {":why", "ENTRY", "where a value lives, and which lines made it so, without running", true,
     [](Repl& r, const std::string& e) { r.why(e); }},
    {":time", "ENTRY", "runs, and says where the time went", true,
     [](Repl& r, const std::string& e) {
       if (r.needsEntry(":time", e)) r.execute(r.addEntry(e), Mode::Time);
     }},
    {":devices", "", "the devices of this machine", false,
     [](Repl& r, const std::string&) { devicesCommand(r.session_); }},
    {":doc", "NAME", "what an operation, or a function such as nn.linear, does and how it is called", false,
     [](Repl& r, const std::string& name) { r.document(name); }},
    {":save", "FILE", "writes the entries that ran without an error, as a script", false,
     [](Repl& r, const std::string& path) { r.save(path); }},
    {":load", "FILE", "runs a file as one entry", false, [](Repl& r, const std::string& path) { r.load(path); }},
    {":quit", "", "ends the session, as Ctrl-D does", false, [](Repl& r, const std::string&) { r.quit_ = true; }, ":q"},
};

const Repl::Command* Repl::commandNamed(std::string_view name) {
  const auto* found = std::ranges::find_if(
      kCommands, [&](const Command& c) { return c.name == name || (!c.shortName.empty() && c.shortName == name); });
  return found == std::end(kCommands) ? nullptr : found;
}

void Repl::command(std::string_view text) {
  const size_t blank = std::min(text.find_first_of(" \t\n"), text.size());
  const std::string_view name = text.substr(0, blank);
  std::string rest(trimmed(text.substr(blank)));
  const Command* command = commandNamed(name);
  if (!command) {
    std::fprintf(stderr, "%s is not a command; :help lists them\n", std::string(name).c_str());
    failed_ = true;
    return;
  }
  std::string more;
  while (command->takesEntry && !rest.empty() && !syntax::isComplete(rest)) {
    if (editor_.read("  ... ", more) != LineEditor::Got::Line) break;
    rest += "\n" + more;
  }
  command->run(*this, rest);
}

void Repl::help() const {
  for (const Command& c : kCommands) {
    std::printf("%-20s %s\n", (std::string(c.name) + " " + std::string(c.argument)).c_str(),
                std::string(c.doc).c_str());
  }
  std::puts("Anything else is TL: its names are kept, and the value of a last expression is printed.");
}

void Repl::load(const std::string& path) {
  if (!path.empty()) return execute(session_.addFile(path), Mode::Run);
  std::fputs(":load needs a file\n", stderr);
  failed_ = true;
}

void Repl::inspect(Mode mode, const std::string& entry, const std::string& last) {
  if (!entry.empty()) return execute(addEntry(entry), mode);
  std::fputs(last.empty() ? "no entry has run yet\n" : last.c_str(), stdout);
}

bool Repl::needsEntry(std::string_view command, const std::string& entry) {
  if (!entry.empty()) return true;
  const std::string name(command);
  std::fprintf(stderr, "%s needs an entry: %s x + 1\n", name.c_str(), name.c_str());
  failed_ = true;
  return false;
}

void Repl::document(const std::string& name) {
  // A name of the session stands before an operation of that name, as in entries.
  if (const std::string text = names_.documentation(name); !text.empty()) {
    std::fputs(text.c_str(), stdout);
    return;
  }
  if (const std::string type = state_.typeOf(name); !type.empty()) {
    std::printf("%s: %s\n", name.c_str(), type.c_str());
    return;
  }
  if (!name.empty() && printOperation(name)) return;
  if (name.empty())
    std::fputs(":doc needs a name: :doc softmax\n", stderr);
  else
    std::fprintf(stderr, "there is no operation `%s`\n", name.c_str());
  failed_ = true;
}

void Repl::save(const std::string& path) {
  std::FILE* f = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
  if (!f) {
    std::fprintf(stderr, path.empty() ? ":save needs a file\n" : "`%s` cannot be written\n", path.c_str());
    failed_ = true;
    return;
  }
  const bool ok = std::fputs(ran_.script().c_str(), f) >= 0;
  if (std::fclose(f) != 0 || !ok) {
    std::fprintf(stderr, "`%s` could not be written whole\n", path.c_str());
    failed_ = true;
  }
}

void Repl::execute(std::optional<uint32_t> source, Mode mode) {
  session_.timings().clear();
  Outcome outcome = Outcome::CompileError;
  if (source) {
    auto entry = session_.parse(*source);
    if (entry && session_.diags().ok()) outcome = compileAndRun(*entry, mode);
  }
  if (outcome == Outcome::Interrupted) {
    if (editor_.interactive()) eraseLine();
    std::fputs("interrupted\n", stderr);
  }
  lastOk_ = outcome == Outcome::Ok;
  failed_ |= !lastOk_;
  std::fflush(stdout);
  flushDiagnostics(session_, line_);
  if (const auto& error = session_.internalError()) {
    std::fputs(internalErrorText(*error, writeReproducer(session_, line_.words, *error)).c_str(), stderr);
    session_.clearInternalError();
  }
  if (mode == Mode::Time) {
    for (const Timings::Entry& e : session_.timings().entries()) std::printf("%-14s %8.3f ms\n", e.stage.c_str(), e.ms);
  }
}

Outcome Repl::compileAndRun(ast::File& entry, Mode mode) {
  std::vector<std::string> dropped;
  frontend::Lowered lowered;
  while (true) {
    session_.options().values = state_.values();
    lowered = session_.lower(KeptState::Script(state_, entry).file());
    if (lowered.unfit.empty()) break;
    // A value whose struct was declared anew may not fit any more: then it goes, and the entry is compiled again.
    state_.drop(lowered.unfit);
    session_.diags().clear();
    dropped.insert(dropped.end(), lowered.unfit.begin(), lowered.unfit.end());
  }
  for (const std::string& name : dropped) {
    std::fprintf(stderr, "`%s` does not fit its type any more and was dropped\n", name.c_str());
  }
  if (!lowered.module || !session_.diags().ok()) return Outcome::CompileError;
  if (!session_.place(*lowered.module)) return Outcome::CompileError;
  switch (mode) {
    case Mode::Type: printType(*lowered.module, lowered.kept); return Outcome::Ok;
    case Mode::Ir: std::fputs(ir::print(*lowered.module).c_str(), stdout); return Outcome::Ok;
    case Mode::Why:
      explain(*lowered.module, lowered.kept);
      if (newWhy_.count("") == 0) {
        std::fputs("no value\n", stderr);
        return Outcome::CompileError;
      }
      printWhy(whyOf_, newPlaces_[""], newWhy_[""]);
      return Outcome::Ok;
    case Mode::Transfers:
      if (!session_.settleMoves(*lowered.module)) return Outcome::CompileError;
      std::fputs(printTransfers(listTransfers(*lowered.module), session_.sources()).c_str(), stdout);
      return Outcome::Ok;
    case Mode::Memory: {
      if (!session_.settleMoves(*lowered.module) || !session_.optimise(*lowered.module)) return Outcome::CompileError;
      const auto compiled = session_.compile(*lowered.module, /*codeToo=*/false);
      if (!compiled) return Outcome::CompileError;
      std::fputs(memoryReport(*lowered.module, compiled->memory, session_).c_str(), stdout);
      return Outcome::Ok;
    }
    case Mode::Run:
    case Mode::Time: break;
  }
  explain(*lowered.module, lowered.kept);
  return runModule(std::move(lowered.module), entry, lowered.kept);
}

Outcome Repl::runModule(std::unique_ptr<ir::Module> m, ast::File& entry,
                        const std::vector<frontend::Lowered::Kept>& kept) {
  // The passes may replace values, so types and places of the results are read before them.
  std::vector<KeptTensor> results;
  const ir::Op* end = m->main()->body->ops.back().get();
  for (size_t i = 0; i < end->operandCount(); ++i) {
    const ir::Type& t = end->operand(i)->type;
    results.push_back({{t.dtype, t.shape, t.place.device.empty() ? "cpu" : t.place.device}, {}});
  }
  if (!session_.settleMoves(*m)) return Outcome::CompileError;
  const std::string transfers = printTransfers(listTransfers(*m), session_.sources());
  if (!session_.optimise(*m)) return Outcome::CompileError;
  std::optional<codegen::Compiled> compiled = session_.compile(*m);
  if (!compiled) return Outcome::CompileError;
  const std::string memory = memoryReport(*m, compiled->memory, session_);
  flushDiagnostics(session_, line_);  // warnings come before what the program prints

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
  const Executable program{std::move(m), std::move(*compiled)};
  const Outcome outcome = [&] {
    const ProgressLine progress(line_.progress, options);
    return session_.run(program, options);
  }();
  running = nullptr;
  if (outcome != Outcome::Ok) return outcome;
  lastTransfers_ = transfers;
  lastMemory_ = memory;
  for (auto& [name, reasons] : newWhy_)
    if (!name.empty()) why_[name] = std::move(reasons);
  for (auto& [name, text] : newPlaces_) places_[name] = std::move(text);
  for (const auto& k : kept) {
    if (!k.value) why_.erase(k.name);  // a function or a type
    if (k.name.empty() && !k.value && !k.type.empty()) std::printf("%s\n", k.type.c_str());
  }
  auto last = repl::Transcript::Last::Statement;
  for (const auto& k : kept) {
    if (k.name.empty()) last = repl::Transcript::Last::Shown;
    if (k.name.empty() && !k.value && !k.type.empty()) last = repl::Transcript::Last::Described;
  }
  ran_.add(session_.sources(), entry, last);
  state_.commit(std::move(entry), kept, results);
  return Outcome::Ok;
}

/// Why the values of the entry live where they do, while its placed module is there.
void Repl::explain(const ir::Module& m, const std::vector<frontend::Lowered::Kept>& kept) {
  newWhy_.clear();
  newPlaces_.clear();
  const ir::Op* end = m.main()->body->ops.back().get();
  for (const auto& k : kept) {
    if (!k.value) continue;
    // One leaf for each place: those of a struct mostly share one.
    repl::PlaceReasons& reasons = newWhy_[k.name];
    std::string& places = newPlaces_[k.name];
    for (const size_t leaf : k.value->tensors()) {
      const ir::Value& v = *end->operand(leaf);
      const std::string place = v.type.place.isFree() ? "" : v.type.place.device;
      if (reasons.count(place) != 0) continue;
      const std::string_view actual = m.actual(place);
      places += places.empty() ? "" : "; ";
      places += place.empty() ? "a number" : place + (actual == place ? "" : ", which is " + std::string(actual));
      reasons[place] = repl::whyPlaced(m, v, session_.sources(), why_);
    }
    if (places.empty()) places = "known at compile time: on no device";
  }
}

void Repl::printWhy(const std::string& what, const std::string& places, const repl::PlaceReasons& reasons) {
  std::printf("%s: %s\n", what.c_str(), places.c_str());
  for (const auto& [place, lines] : reasons) std::fputs(lines.c_str(), stdout);
}

void Repl::why(const std::string& name) {
  if (const auto known = why_.find(name); known != why_.end()) return printWhy(name, places_[name], known->second);
  const bool isName = std::all_of(name.begin(), name.end(), [](char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (!isName) {
    whyOf_ = name;
    return execute(addEntry(name), Mode::Why);
  }
  if (name.empty())
    std::fputs(":why needs a value: :why x\n", stderr);
  else
    std::fprintf(stderr, "there is no value `%s`\n", name.c_str());
  failed_ = true;
}

void Repl::printType(const ir::Module& m, const std::vector<frontend::Lowered::Kept>& kept) {
  const auto value = std::find_if(kept.begin(), kept.end(), [](const auto& k) { return k.name.empty(); });
  if (value == kept.end()) {
    std::puts("no value");
    return;
  }
  // The leaves are in one place, or the type says none.
  std::string place;
  const ir::Op* end = m.main()->body->ops.back().get();
  const std::vector<size_t> leaves = value->value ? value->value->tensors() : std::vector<size_t>();
  for (const size_t leaf : leaves) {
    const std::string& at = end->operand(leaf)->type.place.device;
    if (!place.empty() && at != place) {
      place.clear();
      break;
    }
    place = at;
  }
  std::printf("%s%s%s\n", value->type.c_str(), place.empty() ? "" : " @", place.c_str());
}

/// Files whose path begins with `typed`; folders end in a slash.
std::vector<std::string> filesLike(std::string_view typed) {
  const size_t slash = typed.rfind('/');
  const std::string folder(slash == std::string_view::npos ? "" : typed.substr(0, slash + 1));
  std::vector<std::string> found;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(folder.empty() ? "." : folder, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    std::error_code unknown;
    const std::string path = folder + it->path().filename().string() + (it->is_directory(unknown) ? "/" : "");
    if (path.starts_with(typed)) found.push_back(path);
  }
  return found;
}

std::vector<std::string> Repl::complete(std::string_view typed) {
  const std::string_view word = repl::lastWord(typed);
  std::vector<std::string> found;
  auto add = [&](std::string_view candidate) {
    if (candidate.starts_with(word)) found.emplace_back(candidate);
  };
  const size_t dot = word.rfind('.');
  if (typed.starts_with(":load ") || typed.starts_with(":save ")) {
    found = filesLike(word);
  } else if (word.starts_with(":")) {
    for (const Command& c : kCommands) add(c.name);
  } else if (dot != std::string_view::npos) {
    const std::string base(word.substr(0, dot + 1));
    for (const std::string& m : names_.members(base.substr(0, dot))) add(base + m);
    // Operations as methods, when the first letters say which: `x.soft`.
    if (!state_.typeOf(base.substr(0, base.find('.'))).empty() && dot + 1 < word.size())
      for (const frontend::OpDoc& op : frontend::operations()) add(base + std::string(op.name));
  } else if (!word.empty()) {
    for (const std::string_view k : kKeywords) add(k);
    for (const std::string& n : state_.names()) add(n);
    for (const frontend::OpDoc& op : frontend::operations()) add(op.name);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

int repl(Session& session, const CommandLine& line) { return Repl(session, line).run(); }

}  // namespace tenc::tool
