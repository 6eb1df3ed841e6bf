// The commands of the REPL, those that begin with a colon.
#include "tools/tenc/Commands.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "frontend/Frontend.h"
#include "frontend/StdModules.h"
#include "ir/Ir.h"
#include "support/Text.h"
#include "syntax/Parse.h"
#include "syntax/Tokens.h"
#include "tools/repl/AskTerminal.h"
#include "tools/repl/Shell.h"
#include "tools/repl/Words.h"
#include "tools/tenc/NearestWord.h"
#include "tools/tenc/WholeFile.h"

namespace tenc::repl {

const Shell::Command Shell::kCommands[] = {
    {":help", "", "this list", false, [](Shell& r, const std::string&) { r.help(); }, ":h"},
    {":type", "ENTRY", "the type and place of a value, without running", true,
     [](Shell& r, const std::string& e) {
       if (r.needsEntry(":type", e)) r.execute(r.addEntry(e), Mode::Type);
     }},
    {":ir", "ENTRY", "the placed IR", true,
     [](Shell& r, const std::string& e) {
       if (r.needsEntry(":ir", e)) r.execute(r.addEntry(e), Mode::Ir);
     }},
    {":transfers", "[ENTRY]", "the moves between devices, of this entry or of the last one that ran", true,
     [](Shell& r, const std::string& e) { r.inspect(Mode::Transfers, e, r.lastTransfers_); }},
    {":memory", "[ENTRY]", "what is alive at the peak of each device, in this entry or in the last one that ran", true,
     [](Shell& r, const std::string& e) { r.inspect(Mode::Memory, e, r.lastMemory_); }},
    {":why", "ENTRY", "where a value lives, and which lines made it so, without running", true,
     [](Shell& r, const std::string& e) { r.why(e); }},
    {":time", "ENTRY", "runs, and says where the time went", true,
     [](Shell& r, const std::string& e) {
       if (r.needsEntry(":time", e)) r.execute(r.addEntry(e), Mode::Time);
     }},
    {":show", "ENTRY", "a tensor as a picture: [H, W], [H, W, 3] or [3, H, W]", true,
     [](Shell& r, const std::string& e) {
       if (r.needsEntry(":show", e)) r.execute(r.addEntry(e), Mode::Show);
     }},
    {":devices", "", "the devices of this machine", false,
     [](Shell& r, const std::string&) { tool::devicesCommand(r.session_); }},
    {":doc", "NAME", "what an operation, a function, a module or a keyword is; also ?NAME", false,
     [](Shell& r, const std::string& name) { r.document(name); }},
    {":edit", "[NAME]", "opens $VISUAL or $EDITOR with the last entry, or a function, and runs what is saved", false,
     [](Shell& r, const std::string& name) { r.edit(name); }},
    {":save", "FILE", "writes the entries that ran without an error, as a script", false,
     [](Shell& r, const std::string& path) { r.save(path); }},
    {":load", "FILE", "runs a file as one entry", false, [](Shell& r, const std::string& path) { r.load(path); }},
    {":quit", "", "ends the session, as Ctrl-D does", false, [](Shell& r, const std::string&) { r.quit_ = true; },
     ":q"},
};

std::vector<std::string_view> Shell::commandNames() {
  std::vector<std::string_view> names;
  for (const Command& c : kCommands) names.push_back(c.name);
  return names;
}

const Shell::Command* Shell::commandNamed(std::string_view name) {
  const auto* found = std::ranges::find_if(
      kCommands, [&](const Command& c) { return c.name == name || (!c.shortName.empty() && c.shortName == name); });
  return found == std::end(kCommands) ? nullptr : found;
}

const Shell::Command* Shell::commandOf(std::string_view line) {
  const std::string_view text = trimmed(line);
  return commandNamed(text.substr(0, text.find_first_of(" \t\n")));
}

void Shell::fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  failed_ = true;
}

void Shell::command(std::string_view text) {
  const size_t blank = std::min(text.find_first_of(" \t\n"), text.size());
  const std::string_view name = text.substr(0, blank);
  std::string rest(trimmed(text.substr(blank)));
  const Command* command = commandNamed(name == ":exit" ? ":quit" : name);
  if (!command) {
    NearestName near(name);
    for (const Command& c : kCommands) near.consider(c.name);
    const std::string meant = near.best().empty() ? "" : "; did you mean " + near.best() + "?";
    return fail(std::string(name) + " is not a command" + (meant.empty() ? "; :help lists them" : meant));
  }
  std::string more;
  while (command->takesEntry && !rest.empty() && !syntax::isComplete(rest)) {
    if (editor_.read("  ... ", more) != LineEditor::Got::Line) break;
    rest += "\n" + more;
  }
  command->run(*this, rest);
}

namespace {

/// Text in a column from `indent` to the edge of the window, broken between words.
std::string wrapped(std::string_view text, size_t indent, size_t width) {
  std::string out;
  size_t column = indent;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const bool first = column == indent;
    if (!first && column + 1 + (end - begin) > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out.append(text.substr(begin, end - begin));
    column += end - begin;
    begin = end + 1;
  }
  return out;
}

}  // namespace

void Shell::help() const {
  constexpr size_t kIndent = 20;
  const size_t width = std::max<size_t>(windowColumns(), 2 * kIndent);
  for (const Command& c : kCommands) {
    std::printf("%-*s%s\n", static_cast<int>(kIndent), (std::string(c.name) + " " + std::string(c.argument)).c_str(),
                wrapped(c.doc, kIndent, width).c_str());
  }
  std::printf("%s\n", wrapped("Anything else is TL: its names are kept, the value of a last expression is printed, and "
                              "`_` stands for it.",
                              0, width)
                          .c_str());
}

void Shell::load(const std::string& path) {
  if (path.empty()) return fail(":load needs a file");
  execute(session_.addFile(path), Mode::Run);
}

/// The last entry, or a declaration, as it is changed by the user's editor.
void Shell::edit(const std::string& name) {
  const std::string before = name.empty() ? lastEntry_ : names_.source(name);
  if (before.empty() && !name.empty()) return fail("the session has no function or type `" + name + "`");
  std::error_code none;
  std::string path = (std::filesystem::temp_directory_path(none) / "tenc-XXXXXX.tl").string();
  const int file = mkstemps(path.data(), 3);
  if (file < 0) return fail("`" + path + "` cannot be written");
  const std::string text = before + "\n";
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  const char* editor = std::getenv("VISUAL");
  if (!editor || !*editor) editor = std::getenv("EDITOR");
  const std::string call = std::string(editor && *editor ? editor : "vi") + " '" + path + "'";
  std::fflush(stdout);
  const int status = written ? std::system(call.c_str()) : -1;  // NOLINT(concurrency-mt-unsafe): nothing else runs
  std::ifstream in(path);
  std::string after(std::istreambuf_iterator<char>(in), {});
  in.close();
  unlink(path.c_str());
  if (status != 0) return fail("the editor `" + call.substr(0, call.rfind(' ')) + "` failed; nothing has run");
  while (!after.empty() && after.back() == '\n') after.pop_back();
  if (trimmed(after).empty()) return;
  std::printf("%s\n", after.c_str());
  editor_.remember(after);
  runEntry(after);
}

void Shell::inspect(Mode mode, const std::string& entry, const std::string& last) {
  if (!entry.empty()) return execute(addEntry(entry), mode);
  std::fputs(last.empty() ? "no entry has run yet\n" : last.c_str(), stdout);
}

bool Shell::needsEntry(std::string_view command, const std::string& entry) {
  if (!entry.empty()) return true;
  const std::string name(command);
  fail(name + " needs an entry: " + name + " x + 1");
  return false;
}

void Shell::document(const std::string& name) {
  if (name.empty()) return fail(":doc needs a name: :doc softmax");
  // A name of the session stands before an operation of that name, as in entries.
  if (const std::string text = names_.documentation(name); !text.empty()) {
    std::fputs(text.c_str(), stdout);
    return;
  }
  if (const std::string type = state_.typeOf(name); !type.empty()) {
    std::printf("%s: %s\n", name.c_str(), type.c_str());
    return;
  }
  if (tool::printOperation(name)) return;
  if (tool::printKeyword(name) || tool::printErrorPage(name)) return;
  if (const std::string list = names_.overview(name); !list.empty()) {
    std::fputs(list.c_str(), stdout);
    return;
  }
  if (!tool::printForeign(name)) suggest(name);
}

/// Says that nothing has that name, and which one is near.
void Shell::suggest(const std::string& name) {
  tool::NearestWord near(name);
  for (const frontend::OpDoc& op : frontend::operations()) near.consider(op.name);
  for (const std::string_view word : syntax::keywords()) near.consider(word);
  for (const std::string_view module : frontend::stdModuleNames()) near.consider(module);
  for (const std::string& n : state_.names()) near.consider(n);
  if (const size_t dot = name.rfind('.'); dot != std::string::npos) {
    const std::string base = name.substr(0, dot);
    for (const std::string& member : names_.moduleNames(base)) near.consider(base + "." + member);
  }
  fail("there is nothing called `" + name + "`" + (near.best().empty() ? "" : "; did you mean `" + near.best() + "`?"));
}

void Shell::save(const std::string& path) {
  if (path.empty()) return fail(":save needs a file");
  std::string error;
  if (!tool::writeWhole(path, ran_.script(), error)) fail("`" + path + "` cannot be written: " + error);
}

/// The stages that took time, each once, and their sum.
void Shell::printTimes() {
  constexpr double kLeast = 0.005;  // ms, which would be printed as 0.00
  std::vector<std::pair<std::string, double>> stages;
  double total = 0;
  for (const tool::Timings::Entry& e : session_.timings().entries()) {
    const auto known = std::ranges::find(stages, e.stage, &std::pair<std::string, double>::first);
    if (known == stages.end())
      stages.emplace_back(e.stage, e.ms);
    else
      known->second += e.ms;
    total += e.ms;
  }
  for (const auto& [stage, ms] : stages)
    if (ms >= kLeast) std::printf("%-14s %8.2f ms\n", stage.c_str(), ms);
  std::printf("%-14s %8.2f ms\n", "total", total);
}

void Shell::printWhy(const std::string& what, const std::string& places, const PlaceReasons& reasons) {
  std::printf("%s: %s\n", what.c_str(), places.c_str());
  for (const auto& [place, lines] : reasons) std::fputs(lines.c_str(), stdout);
}

void Shell::why(const std::string& name) {
  if (const auto known = why_.find(name); known != why_.end()) return printWhy(name, places_[name], known->second);
  const bool isName = std::all_of(name.begin(), name.end(), [](char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (!isName) {
    whyOf_ = name;
    return execute(addEntry(name), Mode::Why);
  }
  fail(name.empty() ? ":why needs a value: :why x" : "there is no value `" + name + "`");
}

void Shell::showPicture(const KeptTensor& t, const std::string& type) {
  std::string error;
  const auto picture = pictureOf(t.type.dtype, t.type.shape, t.data.data(), error);
  if (!picture) return fail("`" + type + "` cannot be shown: " + error);
  if (!graphics_ && editor_.interactive()) {
    std::string typed;
    graphics_ = graphicsOfTerminal(typed);
    editor_.typedBefore(typed);
  }
  if (!graphics_) graphics_ = Graphics::Text;
  std::fputs(encoded(*picture, *graphics_, windowColumns()).c_str(), stdout);
  std::printf("%s, black is %.4g and white %.4g\n", type.c_str(), picture->least, picture->most);
}

void Shell::printType(const ir::Module& m, const std::vector<frontend::Lowered::Kept>& kept) {
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

}  // namespace tenc::repl
