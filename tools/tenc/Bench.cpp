// `tenc bench s.tl`: the last expression of every `bench` block is timed.
#include <cstdio>
#include <string_view>

#include "ir/CallGraph.h"
#include "ir/Ir.h"
#include "support/Text.h"
#include "tools/tenc/Commands.h"
#include "tools/tenc/Interrupt.h"
#include "tools/tenc/Profile.h"
#include "tools/tenc/Progress.h"

namespace tenc::tool {

int benchCommand(Session& session, const CommandLine& line) {
  session.options().benches = true;
  session.options().solveMemory = false;  // it would solve for the script, not for a block
  const std::optional<uint32_t> file = addInput(session, line);
  if (!file) return finish(session, line);
  const frontend::Lowered lowered = lowerInput(session, line, *file);
  if (!lowered.module || !session.diags().ok()) return finish(session, line);

  rt::CallOptions options;
  options.benchSeconds = session.options().benchSeconds;
  // What the blocks print is no JSON.
  if (line.json) options.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  const InterruptScope interrupt(session.control());
  size_t others = 0;
  const ir::CallGraph calls(*lowered.module);
  for (const frontend::Lowered::Case& bench : lowered.benches) {
    if (bench.title.find(line.filter) == std::string::npos) {
      ++others;
      continue;
    }
    std::unique_ptr<ir::Module> m = calls.alone(bench.func);
    session.random().seed(0);
    const std::optional<Executable> program = session.build(std::move(m));
    if (!program) return finish(session, line);
    flushDiagnostics(session, line);
    rt::CallResult result;
    const Outcome outcome = [&] {
      rt::CallOptions own = options;
      const ProgressLine progress(line.progress, own, "bench " + bench.title);
      return session.run(*program, own, &result);
    }();
    for (const rt::BenchResult& b : result.benches) {
      if (line.json) {
        std::printf("{\"name\": %s, \"median_ms\": %.6g, \"min_ms\": %.6g, \"rounds\": %d}\n",
                    jsonQuote(bench.title).c_str(), b.medianMs, b.minMs, b.rounds);
      } else {
        std::printf("bench %-32s median %10s   min %10s   %d rounds\n", forTerminal(bench.title).c_str(),
                    formatSeconds(b.medianMs / 1e3).c_str(), formatSeconds(b.minMs / 1e3).c_str(), b.rounds);
      }
    }
    std::fflush(stdout);
    if (outcome != Outcome::Ok) return finish(session, line, outcome);
  }
  if (lowered.benches.empty()) return noBlock("bench", line);
  if (others > 0 && others == lowered.benches.size()) return noBlock("bench", line);
  return finish(session, line);
}

}  // namespace tenc::tool
