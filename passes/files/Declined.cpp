#include "passes/files/Declined.h"

#include <cstdio>
#include <string>

namespace tenc::passes {

void declineReadAhead(const Context& c, const ir::Op& op, std::string_view why) {
  if (c.debug != "read-ahead") return;
  const ir::Module& m = *op.func()->module;
  ir::Loc at = op.loc;
  const auto isShown = [&](const Span& s) {
    return c.sources && s.file < c.sources->size() && !c.sources->inLibrary(s);
  };
  while (at.index != 0 && !isShown(m.span(at))) at = m.loc(at).caller;
  std::string line(op.info().mnemonic);
  if (at.index != 0) {
    const Span span = m.span(at);
    const SourceFile& file = c.sources->file(span.file);
    const LineColumn position = file.position(span.begin);
    line = file.name() + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
  }
  line += ": not read ahead: " + std::string(why) + "\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace tenc::passes
