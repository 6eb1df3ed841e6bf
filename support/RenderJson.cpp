// Diagnostics for tools: one JSON object a line.
#include <algorithm>

#include "support/Diagnostics.h"
#include "support/Text.h"

namespace tenc {
namespace {

/// `"file": ..., "line": ..., "column": ..., "endLine": ..., "endColumn": ...`; nulls without a position.
std::string position(Span s, const SourceManager& sources) {
  if (!s.valid() || s.file >= sources.size())
    return "\"file\": null, \"line\": null, \"column\": null, \"endLine\": null, \"endColumn\": null";
  const SourceFile& file = sources.file(s.file);
  const LineColumn begin = file.position(s.begin);
  const LineColumn end = file.position(std::max(s.begin, s.end));
  return "\"file\": " + jsonQuote(file.name()) + ", \"line\": " + std::to_string(begin.line) +
         ", \"column\": " + std::to_string(begin.column) + ", \"endLine\": " + std::to_string(end.line) +
         ", \"endColumn\": " + std::to_string(end.column);
}

template <typename List, typename Print>
std::string array(const List& list, Print print) {
  std::string out = "[";
  for (const auto& item : list) {
    if (out.size() > 1) out += ", ";
    out += "{" + print(item) + "}";
  }
  return out + "]";
}

}  // namespace

std::string renderJson(const Diagnostics& d, const SourceManager& sources) {
  std::string out;
  for (const Diagnostic* diagnostic : inSourceOrder(d)) {
    const auto spanned = [&](const auto& item) {
      return position(item.span, sources) + ", \"text\": " + jsonQuote(item.text);
    };
    const auto edit = [&](const Edit& e) {
      return position(e.span, sources) + ", \"replacement\": " + jsonQuote(e.replacement);
    };
    const auto help = [&](const Help& h) {
      return "\"text\": " + jsonQuote(h.text) + ", \"edits\": " + array(h.edits, edit);
    };
    out += "{\"code\": " + jsonQuote(info(diagnostic->code).name);
    out += ", \"severity\": ";
    out += diagnostic->severity() == Severity::Error ? "\"error\"" : "\"warning\"";
    out += ", \"message\": " + jsonQuote(diagnostic->message) + ", " + position(diagnostic->span, sources);
    out += ", \"label\": " + jsonQuote(diagnostic->label);
    out += ", \"labels\": " + array(diagnostic->labels, spanned);
    out += ", \"notes\": " + array(diagnostic->notes, spanned);
    std::vector<Help> shown;
    for (const Help& h : diagnostic->helps)
      if (!h.alternative) shown.push_back({h.text, h.mustRemove ? std::vector<Edit>{} : h.edits});
    out += ", \"helps\": " + array(shown, help) + "}\n";
  }
  return out;
}

}  // namespace tenc
