#include "frontend/habits/Declare.h"

#include "ir/DeviceTable.h"

namespace tenc::frontend {

namespace {

/// The start of the line of `offset`, or of the first `##` line of those above it.
uint32_t aboveDocs(const SourceFile& source, uint32_t offset) {
  uint32_t line = source.position(offset).line;
  while (line > source.firstLine() && source.line(line - 1).starts_with("##")) --line;
  return source.lineStart(line);
}

Edit inserted(const ast::File& file, const SourceFile& source, const std::string& line, bool belowImports) {
  for (const ast::StmtPtr& s : file.statements) {
    if (!s || (belowImports && s->kind == ast::Stmt::Kind::Import)) continue;
    uint32_t first = s->span.begin;
    for (const ast::Annotation& a : s->annotations) first = std::min(first, a.span.begin);
    const uint32_t at = aboveDocs(source, first);
    return {Span{file.source, at, at}, line + "\n"};
  }
  return {Span{file.source, 0, 0}, line + "\n"};
}

}  // namespace

Edit declared(const ast::File& file, const SourceFile& source, const std::string& line) {
  return inserted(file, source, line, true);
}

Edit imported(const ast::File& file, const SourceFile& source, std::string_view name) {
  return inserted(file, source, "import " + std::string(name), false);
}

std::string deviceLine(std::string_view name, std::string_view device) {
  const std::string first = device.empty() ? ir::DeviceTable::accelerator() : ir::DeviceTable::normal(device);
  return "device " + std::string(name) + " = " + first + " or " + std::string(ir::DeviceTable::kHost);
}

std::optional<Edit> parameterAsVariable(const ast::Stmt& fn, const SourceFile& source, const ast::Name& parameter) {
  if (fn.bodyIsExpr || fn.body.statements.empty() || !fn.body.statements[0]) return std::nullopt;
  const Span first = fn.body.statements[0]->span;
  const std::string_view text = source.text();
  const size_t line = text.rfind('\n', first.begin) + 1;  // npos + 1: the first
  const std::string_view before = text.substr(line, first.begin - line);
  const bool alone = before.find_first_not_of(" \t") == std::string_view::npos;
  return Edit{Span{first.file, first.begin, first.begin},
              "var " + parameter.text + " = " + parameter.text + (alone ? "\n" + std::string(before) : "; ")};
}

}  // namespace tenc::frontend
