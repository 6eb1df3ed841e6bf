// `tenc check s.tl`: every diagnostic, nothing run.
#include <cstdio>

#include "tools/tenc/Commands.h"
#include "tools/tenc/Memory.h"

namespace tenc::tool {

int checkCommand(Session& session, const CommandLine& line) {
  session.options().checkUncalled = true;
  session.options().tests = session.options().benches = true;
  const std::optional<uint32_t> file = addInput(session, line);
  if (!file) return finish(session, line);
  frontend::Lowered lowered = lowerInput(session, line, *file);
  if (!lowered.module || !lowered.module->main()) return finish(session, line);
  // The memory plan needs the optimised module; no code is made for it.
  if (session.place(*lowered.module) && session.settleMoves(*lowered.module) && session.optimise(*lowered.module)) {
    const auto compiled = session.compile(*lowered.module, /*codeToo=*/false);
    if (line.memoryReport && compiled) {
      const std::string text = memoryReport(*lowered.module, compiled->memory, session);
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
  }
  return finish(session, line);
}

}  // namespace tenc::tool
