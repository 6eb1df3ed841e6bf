// What the subcommands share: the way in and the way out.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "ir/Ir.h"
#include "support/Text.h"
#include "syntax/Ast.h"
#include "tools/tenc/Behind.h"
#include "tools/tenc/Commands.h"
#include "tools/tenc/Crash.h"
#include "tools/tenc/Progress.h"
#include "tools/tenc/Trace.h"
#include "tools/tenc/TryHelps.h"

namespace tenc::tool {
namespace {

/// Options behind the script that parameters of it are called as well: either may be meant.
void checkParamNames(const ast::File& tree, const CommandLine& line, Diagnostics& diags) {
  for (const ast::StmtPtr& s : tree.statements) {
    if (s->kind != ast::Stmt::Kind::Param) continue;
    const std::string& name = s->name.text;
    if (std::find(line.behindScript.begin(), line.behindScript.end(), name) == line.behindScript.end()) continue;
    diags.report(Code::E0504, s->name.span, "`--" + name + "` is an option of tenc, and a param of the script")
        .label("the param")
        .help("give the param after `--`: `-- --" + name + "`; give the option before the script");
  }
}

/// Parameters that the script has not, and that are near to options of the tool.
void checkMisspeltOptions(const ast::File& tree, Session& session) {
  std::erase_if(session.options().params, [&](const auto& given) {
    const std::string& name = given.first;
    if (isOption(name)) return false;  // it stood behind `--`
    const std::string commands = commandsWith(name), with = companionOf(name);
    const auto isParam = [](const ast::StmtPtr& s) { return s && s->kind == ast::Stmt::Kind::Param; };
    NearestName param(name);
    for (const ast::StmtPtr& s : tree.statements) {
      if (isParam(s)) param.consider(s->name.text);
    }
    const std::string option = nearestOption(name);
    if (!param.best().empty() || option.empty()) return false;
    auto d = session.diags().report(Code::E0504, {},
                                    "there is no option `--" + name + "`, and the script has no param of that name");
    if (!with.empty())
      d.help("`--" + name + "` goes with `--" + with + "`");
    else if (commands.empty())
      d.help("did you mean `--" + option + "`?");
    else
      d.help("it is an option of tenc " + commands);
    return true;
  });
}

bool wantsColour(const CommandLine& line) {
  if (line.colour != "auto") return line.colour == "always";
  return isatty(STDERR_FILENO) && !std::getenv("NO_COLOR");
}

/// The module as it was before the stage that failed: the pipeline is deterministic, so it is run again up to there.
std::string moduleBefore(const CommandLine& line, uint32_t file, Session& failed) {
  const InternalError& error = *failed.internalError();
  if (!error.lastGood.empty() || error.stage == "parse" || error.stage == "lower") return error.lastGood;
  SessionOptions options = failed.options();
  options.provokeError.clear();
  options.provokeSignal.clear();
  Session again(std::move(options));
  const auto source =
      again.addText(failed.sources().file(file).name(), std::string(failed.sources().file(file).text()));
  if (!source) return {};
  std::unique_ptr<ir::Module> m;
  if (line.input.ends_with(".tir")) {
    m = again.parseModule(*source);
  } else if (const auto tree = again.parse(*source)) {
    m = again.lower(*tree).module;
  }
  if (!m) return {};
  std::vector<std::string_view> names = passes::placementPipeline();
  for (const auto& more : {passes::movesPipeline(), passes::optimisationPipeline()})
    names.insert(names.end(), more.begin(), more.end());
  for (const std::string_view name : names) {
    if (name == error.stage) break;
    if (!again.runPasses(*m, {name})) break;
  }
  return ir::print(*m);
}

/// The lines that took longest, of what ran.
void printLines(const std::map<std::string, double>& seconds) {
  constexpr size_t kMost = 8;
  std::vector<std::pair<std::string, double>> lines(seconds.begin(), seconds.end());
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (lines.size() > kMost) lines.resize(kMost);
  if (!lines.empty()) std::fputs("lines that ran longest  ms\n", stderr);
  for (const auto& [line, s] : lines) std::fprintf(stderr, "%-14s %8.3f\n", line.c_str(), s * 1e3);
}

void printTimings(Session& session) {
  const Timings& timings = session.timings();
  const Session::Copied& copied = session.copied();
  const codegen::CodeCounts kernels = session.kernelCounts();
  double total = 0;
  std::fputs("stage              ms\n", stderr);
  for (const Timings::Entry& e : timings.entries()) {
    std::fprintf(stderr, "%-14s %8.3f\n", e.stage.c_str(), e.ms);
    total += e.ms;
  }
  std::fprintf(stderr, "%-14s %8.3f\n", "total", total);
  printLines(session.lineSeconds());
  std::fprintf(stderr, "copied between devices: %llu bytes in %llu copies\n",
               static_cast<unsigned long long>(copied.bytes), static_cast<unsigned long long>(copied.copies));
  for (const auto& [device, counts] : session.launches())
    std::fprintf(stderr, "launched on %s: %llu kernels one by one, %llu in %llu graphs\n", device.c_str(),
                 static_cast<unsigned long long>(counts.single), static_cast<unsigned long long>(counts.inGraphs),
                 static_cast<unsigned long long>(counts.graphs));
  std::fprintf(stderr, "kernels: %zu compiled, %zu from the cache\n", kernels.compiled, kernels.kept);
}

}  // namespace

std::optional<uint32_t> addInput(Session& session, const CommandLine& line) {
  return line.code ? session.addText("<command-line>", *line.code) : session.addFile(line.input);
}

frontend::Lowered lowerInput(Session& session, const CommandLine& line, uint32_t file) {
  const std::unique_ptr<ast::File> tree = session.parse(file);
  if (!tree) return {};
  checkParamNames(*tree, line, session.diags());
  checkMisspeltOptions(*tree, session);
  return session.lower(*tree);
}

void flushDiagnostics(Session& session, const CommandLine& line) {
  if (session.diags().all().empty()) return;
  if (!session.diags().ok() && !session.internalError()) {
    tryHelps(session);
    reportBehind(session);
  }
  std::fflush(stdout);
  RenderOptions options;
  options.colour = wantsColour(line);
  const std::string text = line.jsonDiagnostics ? renderJson(session.diags(), session.sources())
                                                : render(session.diags(), session.sources(), options);
  std::fwrite(text.data(), 1, text.size(), stderr);
  constexpr size_t kSeveral = 3;  // which one would not like to type
  if (!line.jsonDiagnostics && !line.code && isatty(STDERR_FILENO) && mendableErrors(session) >= kSeveral)
    std::fprintf(stderr, "\n`tenc check --fix %s` makes these edits\n", shellWord(line.input).c_str());
  session.diags().clear();
}

interp::Options interpreterOptions(Session& session) {
  interp::Options options;
  options.interrupted = &session.control().flag();
  return options;
}

int reportCrash(Session& session, const CommandLine& line) {
  const bool hasScript = line.code || !line.input.empty();
  if (!hasScript || line.command == Command::Explain || !addInput(session, line))
    return static_cast<int>(Outcome::Internal);
  const size_t equals = std::min(line.crashReport.find('='), line.crashReport.size());
  const std::string what = line.crashReport.substr(std::min(equals + 1, line.crashReport.size()));
  session.setInternalError({line.crashReport.substr(0, equals), "the process crashed (" + what + ")", ""});
  return finish(session, line);
}

int noBlock(const char* kind, const CommandLine& line) {
  if (line.filter.empty())
    std::fprintf(stderr, "tenc: the script has no `%s` blocks\n", kind);
  else
    std::fprintf(stderr, "tenc: no `%s` block has `%s` in its title\n", kind, line.filter.c_str());
  return static_cast<int>(Outcome::Usage);
}

int finish(Session& session, const CommandLine& line, Outcome outcome) {
  if (outcome == Outcome::Ok && !session.diags().ok()) outcome = Outcome::CompileError;
  std::fflush(stdout);
  if (outcome == Outcome::Interrupted) eraseLine();
  std::string error;
  if (!line.trace.empty() && !writeTrace(line.trace, session.timings(), session.trace(), error)) {
    session.diags().report(Code::E0503, {}, "cannot write " + line.trace + ": " + error);
    if (outcome == Outcome::Ok) outcome = Outcome::CompileError;
  }
  flushDiagnostics(session, line);
  if (session.internalError()) {
    InternalError internal = *session.internalError();
    if (session.sources().size() > 0) internal.lastGood = moduleBefore(line, 0, session);
    const std::string text = internalErrorText(internal, writeReproducer(session, line.words, internal));
    std::fwrite(text.data(), 1, text.size(), stderr);
    outcome = Outcome::Internal;
  }
  if (line.time && outcome != Outcome::CompileError) printTimings(session);
  return static_cast<int>(outcome);
}

}  // namespace tenc::tool
