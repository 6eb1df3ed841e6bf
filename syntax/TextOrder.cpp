#include "syntax/TextOrder.h"

#include <algorithm>

#include "support/Text.h"
#include "support/TextOrder.h"

namespace tenc::syntax {

std::string codePointText(uint32_t codePoint) {
  constexpr int kDigits = 4;
  std::string text = "U+";
  for (int digit = kDigits - 1; digit >= 0; --digit) text += "0123456789ABCDEF"[codePoint >> (4 * digit) & 15];
  return text;
}

void warnOfTextOrder(std::string_view text, SyntaxReporter& reporter) {
  constexpr char kLead = '\xE2';  // the first byte of all of them
  for (size_t at = text.find(kLead); at != std::string_view::npos; at = text.find(kLead, at + 1)) {
    const CodePoint c = decodeUtf8(text, at);
    if (!reordersText(c.value)) continue;
    const Span span = reporter.span(at, at + c.bytes);
    if (reporter.hasProblem(span)) continue;
    reporter
        .reportMended(Code::W0102, span,
                      codePointText(c.value) + " shows the text around it in another order than it has")
        .help("delete the character, if the text does not have to be read from right to left", {{span, ""}});
    at = std::min(text.find('\n', at), text.size() - 1);
  }
}

}  // namespace tenc::syntax
