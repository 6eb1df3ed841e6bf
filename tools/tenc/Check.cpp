// `tenc check s.tl`: every diagnostic, nothing run.
#include <cstdio>

#include "ir/CallGraph.h"
#include "ir/Ir.h"
#include "tools/tenc/Behind.h"
#include "tools/tenc/Commands.h"
#include "tools/tenc/Memory.h"
#include "tools/tenc/WholeFile.h"

namespace tenc::tool {

namespace {

/// Devices, moves and memory. The memory plan needs the optimised module; no code is made for it.
void checkProgram(Session& session, ir::Module& m, bool report) {
  const size_t before = session.diags().errors();
  const auto good = [&] { return session.diags().errors() == before && !session.internalError(); };
  // An error that another module has had too is reported once: the number of errors does not tell.
  if (!session.place(m) || !good()) return;
  session.settleMoves(m);
  if (!good()) return;
  session.optimise(m);
  if (!good() || !session.diags().ok()) return;
  const auto compiled = session.compile(m, /*codeToo=*/false);
  if (!report || !compiled) return;
  const std::string text = memoryReport(m, compiled->memory, session);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

/// Writes the script with the edits that its errors propose, and checks that.
int fixed(Session& session, const CommandLine& line) {
  const std::optional<uint32_t> file = addInput(session, line);
  if (!file) return finish(session, line);
  lowerInput(session, line, *file);
  if (session.internalError()) return finish(session, line);
  auto [text, why] = mendedScript(session, *file);
  const bool changes = text != session.sources().file(*file).text();
  CommandLine rest = line;
  rest.fix = false;
  if (line.input == "-" || line.code) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    rest.code = text;
  } else if (changes) {
    std::string error;
    if (!writeWhole(line.input, text, error)) {
      session.diags().report(Code::E0503, {}, "cannot write " + line.input + ": " + error);
      return finish(session, line);
    }
    std::printf("%s was changed\n", line.input.c_str());
  }
  Session again(session.options());
  const int status = checkCommand(again, rest);
  if (!changes && why.empty() && status == static_cast<int>(Outcome::CompileError))
    why = "where values live is left to you";
  if (!why.empty() && !line.jsonDiagnostics)
    std::fprintf(stderr, "\n%s is not changed: %s\n", line.code ? "the text" : line.input.c_str(), why.c_str());
  return status;
}

}  // namespace

int checkCommand(Session& session, const CommandLine& line) {
  session.options().checkUncalled = true;
  session.options().tests = session.options().benches = true;
  if (line.fix) return fixed(session, line);
  const std::optional<uint32_t> file = addInput(session, line);
  if (!file) return finish(session, line);
  frontend::Lowered lowered = lowerInput(session, line, *file);
  if (!lowered.module || !lowered.module->main()) return finish(session, line);
  const std::unique_ptr<ir::Module> whole = ir::clone(*lowered.module);
  checkProgram(session, *lowered.module, line.memoryReport);
  const ir::CallGraph calls(*whole);
  for (const auto* cases : {&lowered.tests, &lowered.benches}) {
    for (const frontend::Lowered::Case& c : *cases) {
      if (session.internalError()) break;
      checkProgram(session, *calls.alone(c.func), false);
    }
  }
  return finish(session, line);
}

}  // namespace tenc::tool
