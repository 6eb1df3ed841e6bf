// `tenc fmt s.tl`: formats a script in place.
#include <cstdio>

#include "syntax/Ast.h"
#include "syntax/Layout.h"
#include "tools/tenc/Commands.h"
#include "tools/tenc/WholeFile.h"

namespace tenc::tool {
namespace {

std::string withoutBlanks(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') out += c;
  return out;
}

}  // namespace

int fmtCommand(Session& session, const CommandLine& line) {
  const std::optional<uint32_t> file = addInput(session, line);
  if (!file) return finish(session, line);
  const auto before = session.parse(*file);
  if (!before || !session.diags().ok()) return finish(session, line);
  const std::string text(session.sources().file(*file).text());
  const std::string laid = syntax::layOut(text);
  const auto again = session.addText(line.input, laid);
  const auto after = again ? session.parse(*again) : nullptr;
  if (!after || !session.diags().ok() || ast::print(*after) != ast::print(*before) ||
      withoutBlanks(laid) != withoutBlanks(text)) {
    session.setInternalError({"fmt", "the layout would change what the script means", ""});
    return finish(session, line);
  }
  if (line.checkLayout) {
    if (laid == text) return 0;
    std::printf("%s would be reformatted\n", line.input.c_str());
    return 1;
  }
  if (line.input == "-" || line.code) {
    std::fwrite(laid.data(), 1, laid.size(), stdout);
    return finish(session, line);
  }
  std::string error;
  if (laid == text || writeWhole(line.input, laid, error)) return 0;
  session.diags().report(Code::E0503, {}, "cannot write " + line.input + ": " + error);
  return finish(session, line);
}

}  // namespace tenc::tool
