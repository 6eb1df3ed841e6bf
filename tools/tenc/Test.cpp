// `tenc test s.tl`: every `test` block is a program of its own.
#include <cstdio>

#include "ir/CallGraph.h"
#include "ir/Ir.h"
#include "support/Text.h"
#include "tools/tenc/Commands.h"
#include "tools/tenc/Interrupt.h"
#include "tools/tenc/Progress.h"

namespace tenc::tool {

int testCommand(Session& session, const CommandLine& line) {
  session.options().tests = true;
  session.options().solveMemory = false;  // it would solve for the script, not for a block
  const std::optional<uint32_t> file = addInput(session, line);
  if (!file) return finish(session, line);
  const frontend::Lowered lowered = lowerInput(session, line, *file);
  if (!lowered.module || !session.diags().ok()) return finish(session, line);

  int passed = 0, failed = 0, others = 0;
  Outcome worst = Outcome::Ok;
  const InterruptScope interrupt(session.control());
  const ir::CallGraph calls(*lowered.module);
  for (const frontend::Lowered::Case& test : lowered.tests) {
    if (test.title.find(line.filter) == std::string::npos) {
      ++others;
      continue;
    }
    std::unique_ptr<ir::Module> m = calls.alone(test.func);
    session.random().seed(0);
    Outcome outcome = Outcome::CompileError;
    if (session.options().interpret) {
      // The oracle takes what the frontend makes, as it is.
      if (session.options().oracle || (session.place(*m) && session.checkMoves(*m)))
        outcome = session.interpret(*m, interpreterOptions(session));
    } else if (const std::optional<Executable> program = session.build(std::move(m))) {
      rt::CallOptions options;
      const ProgressLine progress(line.progress, options, "test " + test.title);
      outcome = session.run(*program, options);
    }
    if (session.internalError()) return finish(session, line);
    const bool interrupted = outcome == Outcome::Interrupted;
    if (interrupted) eraseLine();
    passed += outcome == Outcome::Ok;
    failed += outcome != Outcome::Ok && !interrupted;
    std::printf("test %s ... %s\n", forTerminal(test.title).c_str(),
                outcome == Outcome::Ok ? "ok"
                : interrupted          ? "interrupted"
                                       : "FAILED");
    std::fflush(stdout);
    flushDiagnostics(session, line);
    if (outcome != Outcome::Ok && worst != Outcome::CompileError) worst = outcome;
    if (outcome == Outcome::Interrupted) break;
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  if (lowered.tests.empty()) return noBlock("test", line);
  if (others > 0 && static_cast<size_t>(others) == lowered.tests.size()) return noBlock("test", line);
  return finish(session, line, worst);
}

}  // namespace tenc::tool
