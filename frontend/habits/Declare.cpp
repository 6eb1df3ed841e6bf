#include "frontend/habits/Declare.h"

#include "ir/DeviceTable.h"

namespace tenc::frontend {

namespace {

/// The start of the line of `offset`, or of the first `##` line of those above it.
uint32_t aboveDocs(std::string_view text, uint32_t offset) {
  const auto lineStart = [&](size_t at) { return at == 0 ? 0 : text.rfind('\n', at - 1) + 1; };
  size_t start = lineStart(offset);
  while (start > 0) {
    const size_t before = lineStart(start - 1);
    if (!text.substr(before).starts_with("##")) break;
    start = before;
  }
  return static_cast<uint32_t>(start);
}

Edit inserted(const ast::File& file, std::string_view text, const std::string& line, bool belowImports) {
  for (const ast::StmtPtr& s : file.statements) {
    if (!s || (belowImports && s->kind == ast::Stmt::Kind::Import)) continue;
    uint32_t first = s->span.begin;
    for (const ast::Annotation& a : s->annotations) first = std::min(first, a.span.begin);
    const uint32_t at = aboveDocs(text, first);
    return {Span{file.source, at, at}, line + "\n"};
  }
  return {Span{file.source, 0, 0}, line + "\n"};
}

}  // namespace

Edit declared(const ast::File& file, std::string_view text, const std::string& line) {
  return inserted(file, text, line, true);
}

Edit imported(const ast::File& file, std::string_view text, std::string_view name) {
  return inserted(file, text, "import " + std::string(name), false);
}

std::string deviceLine(std::string_view name) {
  return "device " + std::string(name) + " = " + ir::DeviceTable::accelerator() + " or " +
         std::string(ir::DeviceTable::kHost);
}

}  // namespace tenc::frontend
