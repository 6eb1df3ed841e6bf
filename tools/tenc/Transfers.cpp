// `tenc transfers s.tl`: every move between devices that is left after placement.
#include <cstdio>

#include "tools/tenc/Commands.h"
#include "tools/tenc/TransferList.h"

namespace tenc::tool {

namespace {

/// --diff old.json: what the script moves more than it did.
int compare(Session& session, const CommandLine& line, const std::vector<TransferRow>& rows) {
  std::string before, error;
  if (!readFile(line.diff, before, error)) {
    session.diags().report(Code::E0501, {}, "cannot read " + line.diff + ": " + error);
    return finish(session, line);
  }
  const std::string added = transfersAdded(rows, session.sources(), before, error);
  if (!error.empty()) {
    session.diags().report(Code::E0502, {}, line.diff + ": " + error);
    return finish(session, line);
  }
  std::fputs(added.empty() ? "no more moves than before\n" : added.c_str(), stdout);
  return finish(session, line, added.empty() ? Outcome::Ok : Outcome::CompileError);
}

}  // namespace

int transfersCommand(Session& session, const CommandLine& line) {
  const std::optional<uint32_t> file = addInput(session, line);
  if (!file) return finish(session, line);
  const frontend::Lowered lowered = lowerInput(session, line, *file);
  if (!lowered.module || !lowered.module->main() || !session.diags().ok()) return finish(session, line);
  if (!session.place(*lowered.module) || !session.settleMoves(*lowered.module)) return finish(session, line);
  const std::vector<TransferRow> rows = listTransfers(*lowered.module);
  if (!line.diff.empty()) return compare(session, line, rows);
  const std::string text = line.json ? transfersJson(rows, session.sources()) : printTransfers(rows, session.sources());
  std::fwrite(text.data(), 1, text.size(), stdout);
  session.checkLoops(*lowered.module);
  return finish(session, line);
}

}  // namespace tenc::tool
