// `tenc s.tl`: compile and run, or stop at a stage and print it.
#include <cstdio>

#include "ir/Ir.h"
#include "syntax/Ast.h"
#include "tools/tenc/Commands.h"
#include "tools/tenc/Dot.h"
#include "tools/tenc/Interrupt.h"
#include "tools/tenc/KeptProgram.h"
#include "tools/tenc/Progress.h"
#include "tools/tenc/Saved.h"

namespace tenc::tool {
namespace {

std::vector<std::string_view> splitPasses(std::string_view list) {
  std::vector<std::string_view> names;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) names.push_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

int show(Session& session, const CommandLine& line, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return finish(session, line);
}

/// A program or an Executable.
template <typename Program>
Outcome runCompiled(Session& session, const CommandLine& line, const Program& program,
                    rt::CallResult* result = nullptr) {
  const InterruptScope interrupt(session.control());
  rt::CallOptions options;
  if (!line.trace.empty()) options.trace = &session.trace();
  const ProgressLine progress(line.progress, options);
  return session.run(program, options, result);
}

Outcome interpret(Session& session, const ir::Module& m) {
  const InterruptScope interrupt(session.control());
  return session.interpret(m, interpreterOptions(session));
}

/// --passes=a,b
int runPassesOnly(Session& session, const CommandLine& line, std::unique_ptr<ir::Module> m) {
  const std::vector<std::string_view> names = splitPasses(*line.passes);
  for (const std::string_view name : names) {
    bool known = false;
    for (const passes::PassInfo& p : passes::allPasses()) known |= p.name == name;
    if (known) continue;
    std::fprintf(stderr, "tenc: unknown pass %.*s; there are:\n", static_cast<int>(name.size()), name.data());
    for (const passes::PassInfo& p : passes::allPasses())
      std::fprintf(stderr, "  %-14s %s\n", std::string(p.name).c_str(), std::string(p.doc).c_str());
    return static_cast<int>(Outcome::Usage);
  }
  if (!session.runPasses(*m, names)) return finish(session, line);
  if (!line.runAfterPasses) return show(session, line, ir::print(*m));
  if (session.options().interpret) return finish(session, line, interpret(session, *m));
  if (const std::string without = session.withoutCode(*m); !without.empty()) {
    std::fprintf(stderr, "tenc: %s that were named; `--engine interp` runs every form of IR\n", without.c_str());
    return static_cast<int>(Outcome::Usage);
  }
  std::optional<codegen::Compiled> compiled = session.compile(*m);
  if (!compiled) return finish(session, line);
  return finish(session, line, runCompiled(session, line, Executable{std::move(m), std::move(*compiled)}));
}

}  // namespace

int runCommand(Session& session, const CommandLine& line) {
  if (isSavedProgram(line.input)) return runSavedCommand(session, line);
  const std::optional<uint32_t> file = addInput(session, line);
  if (!file) return finish(session, line);

  KeptProgram kept(session, line, *file);
  rt::CallResult ran;
  if (const auto program = kept.find()) {
    const Outcome outcome = runCompiled(session, line, *program, &ran);
    if (ran.end != rt::CallResult::End::OutOfMemory) return finish(session, line, outcome);
    session.diags().clear();  // what takes the memory is known where the script is compiled
  }

  std::unique_ptr<ir::Module> m;
  frontend::Dependencies read;
  if (line.input.ends_with(".tir")) {
    m = session.parseModule(*file);
  } else {
    if (line.emit == "ast") {
      const auto tree = session.parse(*file);
      return tree && session.diags().ok() ? show(session, line, ast::print(*tree)) : finish(session, line);
    }
    frontend::Lowered lowered = lowerInput(session, line, *file);
    if (lowered.module && !line.emit.empty() && line.emit == "ir" && session.diags().ok() && !line.passes)
      return show(session, line, ir::print(*lowered.module));
    // Placement goes on after errors of the frontend: one run reports them all.
    if (lowered.module && !session.diags().ok()) session.place(*lowered.module);
    m = std::move(lowered.module);
    read = std::move(lowered.read);
  }
  if (!m || !session.diags().ok()) return finish(session, line);
  if (!m->main()) {
    session.diags().report(Code::E0108, {*file, 0, 0}, "the module has no function `main`");
    return finish(session, line);
  }
  const bool runs = line.passes ? line.runAfterPasses : line.emit.empty();
  if (runs && !m->main()->body->args.empty()) {
    session.diags().report(Code::E0108, {*file, 0, 0}, "`main` takes arguments, so it cannot be run");
    return finish(session, line);
  }
  if (line.passes) return runPassesOnly(session, line, std::move(m));
  if (line.emit == "ir") return show(session, line, ir::print(*m));

  if (session.options().oracle) return finish(session, line, interpret(session, *m));
  if (!session.place(*m)) return finish(session, line);
  if (line.emit == "placed") return show(session, line, ir::print(*m));
  if (session.options().interpret) {
    if (!session.checkMoves(*m)) return finish(session, line);
    flushDiagnostics(session, line);
    return finish(session, line, interpret(session, *m));
  }
  if (!session.settleMoves(*m) || !session.optimise(*m)) return finish(session, line);
  if (line.emit == "fused") return show(session, line, ir::print(*m));
  if (line.emit == "dot") return show(session, line, dotGraph(*m));
  if (!line.emit.empty() && line.emit != "program") {
    const std::string text = session.emit(*m, line.emit);
    return session.internalError() ? finish(session, line) : show(session, line, text);
  }
  std::optional<codegen::Compiled> compiled = session.compile(*m);
  if (!compiled) return finish(session, line);
  if (line.emit == "program") return saveProgram(session, line, compiled->program);
  const Executable program{std::move(m), std::move(*compiled)};
  if (ran.end == rt::CallResult::End::OutOfMemory) {
    session.reportShortage(ran, &program);
    return finish(session, line);
  }
  kept.keep(read, program.compiled.program);
  flushDiagnostics(session, line);
  return finish(session, line, runCompiled(session, line, program));
}

}  // namespace tenc::tool
