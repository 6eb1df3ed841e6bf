// `tenc check s.tl`: every diagnostic, nothing run.
#include "tools/tenc/Commands.h"

namespace tenc::tool {

int checkCommand(Session& session, const CommandLine& line) {
  session.options().checkUncalled = true;
  session.options().tests = session.options().benches = true;
  const std::optional<uint32_t> file = addInput(session, line);
  if (!file) return finish(session, line);
  frontend::Lowered lowered = lowerInput(session, line, *file);
  if (!lowered.module || !lowered.module->main()) return finish(session, line);
  // The memory plan needs the optimised module; no code is made for it.
  if (session.place(*lowered.module) && session.settleMoves(*lowered.module) && session.optimise(*lowered.module))
    session.compile(*lowered.module, /*codeToo=*/false);
  return finish(session, line);
}

}  // namespace tenc::tool
