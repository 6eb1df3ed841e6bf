#include "codegen/FaultSites.h"

#include <algorithm>

#include "support/Quote.h"

namespace tenc::codegen {
namespace {

constexpr size_t kMostCallers = 16;
constexpr uint32_t kMostLines = 50;  // of a range: reports quote the first and the last

}  // namespace

uint32_t FaultSites::number(ir::Loc loc, abi::FaultKind kind) {
  auto [it, fresh] = numbers_.try_emplace({loc.index, kind}, static_cast<uint32_t>(sites_.size()));
  if (!fresh) return it->second;
  abi::FaultSite site{kind, range(loc), {}};
  for (const ir::LocData* d = &m_.loc(loc); d->caller.index != 0 && site.calls.size() < kMostCallers;
       d = &m_.loc(d->caller))
    site.calls.push_back({range(d->caller), d->callee});
  sites_.push_back(std::move(site));
  return it->second;
}

abi::SourceRange FaultSites::range(ir::Loc loc) {
  auto [it, fresh] = ranges_.try_emplace(loc.index);
  abi::SourceRange& r = it->second;
  const Span span = m_.span(loc);
  if (!fresh || !span.valid() || span.file >= sources_.size()) return r;
  const SourceFile& file = sources_.file(span.file);
  const auto [number, begin, end] = within(file, span);
  const LineColumn from = file.position(begin);
  const uint32_t lastLine = std::min(file.position(end).line, from.line + kMostLines);
  r.excerpt = excerpt(number, from.line, lastLine);
  const auto length = static_cast<uint32_t>(excerpts_[r.excerpt].text.size());
  r.begin = std::min(begin - file.lineStart(from.line), length);
  r.end = std::min(end - file.lineStart(from.line), length);
  r.line = from.line;
  r.column = from.column;
  return r;
}

uint32_t FaultSites::excerpt(uint32_t file, uint32_t firstLine, uint32_t lastLine) {
  auto [it, fresh] = excerptNumbers_.try_emplace({file, firstLine, lastLine}, static_cast<uint32_t>(excerpts_.size()));
  if (!fresh) return it->second;
  const SourceFile& f = sources_.file(file);
  excerpts_.push_back({f.name(), firstLine, f.isLibrary, linesOf(f, firstLine, lastLine)});
  return it->second;
}

void FaultSites::moveInto(abi::Program& p) {
  p.sites = std::move(sites_);
  p.excerpts = std::move(excerpts_);
}

}  // namespace tenc::codegen
