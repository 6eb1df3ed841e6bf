#include "support/Quote.h"

#include <algorithm>

namespace tenc {

std::string excerpt(const SourceManager& sources, Span span) { return std::string(sources.text(span)); }

std::string quote(const SourceManager& sources, Span span) { return "`" + excerpt(sources, span) + "`"; }

bool isQuotable(const SourceManager& sources, Span span) {
  constexpr size_t kLongest = 32;
  const std::string_view text = sources.text(span);
  return text.size() <= kLongest && text.find('\n') == std::string_view::npos;
}

std::string linesOf(const SourceFile& file, uint32_t first, uint32_t last) {
  const size_t begin = file.lineStart(first), end = file.lineStart(last) + file.line(last).size();
  return std::string(file.text().substr(begin, end - begin));
}

Span within(const SourceFile& file, Span span) {
  const auto size = static_cast<uint32_t>(file.text().size());
  const uint32_t begin = std::min(span.begin, size);
  return {span.file, begin, std::clamp(span.end, begin, size)};
}

}  // namespace tenc
