// `tenc transfers s.tl`: every move between devices that is left after placement.
#include <cstdio>

#include "tools/tenc/Commands.h"
#include "tools/tenc/TransferList.h"

namespace tenc::tool {

int transfersCommand(Session& session, const CommandLine& line) {
  const std::optional<uint32_t> file = addInput(session, line);
  if (!file) return finish(session, line);
  const frontend::Lowered lowered = lowerInput(session, line, *file);
  if (!lowered.module || !lowered.module->main() || !session.diags().ok()) return finish(session, line);
  if (session.place(*lowered.module) && session.settleMoves(*lowered.module)) {
    const std::string text = printTransfers(listTransfers(*lowered.module), session.sources());
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return finish(session, line);
}

}  // namespace tenc::tool
