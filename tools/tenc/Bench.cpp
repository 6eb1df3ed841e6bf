// `tenc bench s.tl`: the last expression of every `bench` block is timed.
#include <algorithm>
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

namespace {
/// What a block prints, which runs thousands of times: its first lines, as far as they are not too long.
class FirstLines {
 public:
  explicit FirstLines(std::FILE* out) : out_(out) {}
  void add(std::string_view text) {
    size_t shown = 0;
    const size_t most = std::min(text.size(), kMostBytes - bytes_);
    while (shown < most && lines_ < kMost) {
      const size_t end = text.find('\n', shown);
      const bool whole = end < most;
      shown = whole ? end + 1 : most;
      lines_ += whole ? 1 : 0;
    }
    // No character is cut in two.
    while (shown > 0 && shown < text.size() && (static_cast<unsigned char>(text[shown]) & 0xC0) == 0x80) --shown;
    bytes_ = shown < text.size() ? kMostBytes : bytes_ + shown;
    std::fwrite(text.data(), 1, shown, out_);
    within_ = shown > 0 ? text[shown - 1] != '\n' : within_;
    cut_ = cut_ || shown < text.size();
    left_ += static_cast<size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(shown), text.end(), '\n'));
  }
  void end() {
    if (within_) std::fputc('\n', out_);
    if (left_ > 0)
      std::fprintf(out_, "... and %zu more lines\n", left_);
    else if (cut_)
      std::fputs("... and more\n", out_);
  }

 private:
  static constexpr size_t kMost = 10, kMostBytes = 10'000;
  std::FILE* out_;
  size_t lines_ = 0, bytes_ = 0, left_ = 0;
  bool within_ = false;  ///< a line that is not closed yet
  bool cut_ = false;
};
}  // namespace

int benchCommand(Session& session, const CommandLine& line) {
  session.options().benches = true;
  session.options().solveMemory = false;  // it would solve for the script, not for a block
  const std::optional<uint32_t> file = addInput(session, line);
  if (!file) return finish(session, line);
  const frontend::Lowered lowered = lowerInput(session, line, *file);
  if (!lowered.module || !session.diags().ok()) return finish(session, line);

  rt::CallOptions options;
  options.benchSeconds = session.options().benchSeconds;
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
    FirstLines printed(line.json ? stderr : stdout);  // what a block prints is no JSON
    const Outcome outcome = [&] {
      rt::CallOptions own = options;
      own.print = [&](std::string_view text) { printed.add(text); };
      const ProgressLine progress(line.progress, own, "bench " + bench.title);
      return session.run(*program, own, &result);
    }();
    printed.end();
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
