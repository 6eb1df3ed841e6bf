// `tenc profile s.tl`: runs a script and says what each of its lines took.
#include <cstdio>

#include "tools/tenc/Commands.h"
#include "tools/tenc/Interrupt.h"
#include "tools/tenc/Profile.h"
#include "tools/tenc/Progress.h"
#include "tools/tenc/WholeFile.h"

namespace tenc::tool {

int profileCommand(Session& session, const CommandLine& line) {
  if (line.input.ends_with(".tlp") || line.input.ends_with(".tir") || session.options().interpret) {
    std::fputs("tenc: only compiled scripts can be profiled\n", stderr);
    return static_cast<int>(Outcome::Usage);
  }
  const std::optional<uint32_t> file = addInput(session, line);
  if (!file) return finish(session, line);
  frontend::Lowered lowered = lowerInput(session, line, *file);
  if (!lowered.module || !session.diags().ok()) return finish(session, line);
  const std::optional<Executable> program = session.build(std::move(lowered.module));
  if (!program) return finish(session, line);
  flushDiagnostics(session, line);

  const InterruptScope interrupt(session.control());
  const Roofline roof = measureRoofline(session.machine().threads());
  rt::CallProfile run;
  rt::CallOptions options;
  options.profile = &run;
  if (!line.trace.empty()) options.trace = &session.trace();
  // The report alone is on standard output where a program reads it.
  if (line.json) options.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  const Outcome outcome = [&] {
    const ProgressLine progress(line.progress, options);
    return session.run(*program, options);
  }();
  // Also of a run that was stopped, up to there.
  const bool gpus = !session.hardware().isVirtual();
  const Profile profile = profileOf(*program->module, program->compiled, run, session.sources(), roof, gpus);
  std::fflush(stdout);
  if (!line.html.empty()) {
    std::string error;
    const std::string name = line.code ? "<command-line>" : line.input;
    if (!writeWhole(line.html, profilePage(profile, session.sources(), name), error))
      session.diags().report(Code::E0503, {}, "cannot write " + line.html + ": " + error);
  }
  const std::string text = line.json           ? profileJson(profile, session.sources())
                           : line.html.empty() ? profileTable(profile, session.sources())
                                               : "";
  std::fwrite(text.data(), 1, text.size(), stdout);
  return finish(session, line, outcome);
}

}  // namespace tenc::tool
