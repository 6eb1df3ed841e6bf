#include "tools/tenc/Stops.h"

#include <algorithm>

#include "support/Text.h"

namespace tenc::tool {
namespace {

constexpr size_t kMostCallers = 16;

Code codeOf(abi::FaultKind kind) {
  switch (kind) {
    case abi::FaultKind::None:
    case abi::FaultKind::Index: return Code::E0901;
    case abi::FaultKind::Division:
    case abi::FaultKind::Step:
    case abi::FaultKind::NegativePower: return Code::E0902;
    case abi::FaultKind::Assertion: return Code::E0903;
    case abi::FaultKind::File: return Code::E0904;
    case abi::FaultKind::Singular:
    case abi::FaultKind::NotPositiveDefinite:
    case abi::FaultKind::NotFinite:
    case abi::FaultKind::NoConvergence: return Code::E0905;
    case abi::FaultKind::NonFinite: return Code::E0906;
  }
  return Code::E0901;
}

std::string messageOf(const rt::CallResult& r) {
  const std::string& text = r.text;
  switch (r.fault) {
    case abi::FaultKind::None:
    case abi::FaultKind::Index:
      return r.bad.size < 0 ? "index out of range" : outOfRange(r.bad.index, r.bad.count, r.bad.axis, r.bad.size);
    case abi::FaultKind::Division: return text.empty() ? "integer division by zero" : text;
    case abi::FaultKind::NegativePower: return text.empty() ? "integer to a negative power" : text;
    case abi::FaultKind::Step: return text.empty() ? "the step of the loop is not positive" : text;
    case abi::FaultKind::Assertion: return text.empty() ? "assertion failed" : "assertion failed: " + text;
    case abi::FaultKind::File: return text.empty() ? "file failed" : text;
    case abi::FaultKind::Singular: return "the matrix is singular";
    case abi::FaultKind::NotPositiveDefinite: return "the matrix is not positive definite";
    case abi::FaultKind::NotFinite: return "the matrix holds an infinity or NaN";
    case abi::FaultKind::NoConvergence: return "the decomposition does not converge";
    case abi::FaultKind::NonFinite: return text.empty() ? "a NaN or an infinity" : text;
  }
  return text;
}

/// Whether the lines of an excerpt stand in the file where it says.
bool quotes(const abi::Excerpt& e, const SourceFile& file) {
  if (e.file != file.name() || e.firstLine < file.firstLine() || e.firstLine > file.lastLine()) return false;
  return file.text().substr(file.lineStart(e.firstLine)).starts_with(e.text);
}

Span spanOf(const abi::Program& program, const abi::SourceRange& r, SourceManager& sources) {
  if (r.excerpt == abi::kNoExcerpt) return {};
  const abi::Excerpt& e = program.excerpts[r.excerpt];
  for (uint32_t f = 0; f < sources.size(); ++f) {
    if (!quotes(e, sources.file(f))) continue;
    const uint32_t start = sources.file(f).lineStart(e.firstLine);
    return {f, start + r.begin, start + r.end};
  }
  const uint32_t f = sources.add(e.file, e.text, e.firstLine);
  if (e.isLibrary) sources.markLibrary(f);
  return {f, r.begin, r.end};
}

void noteCalls(Diagnostics::Builder& builder, const StopPlace& place) {
  for (const auto& [call, callee] : place.calls)
    builder.note(call, callee.empty() ? "called from here" : "in `" + callee + "`, called from here");
}

}  // namespace

void reportStop(const abi::Program& program, const rt::CallResult& result, SourceManager& sources, Diagnostics& diags) {
  StopPlace place;
  if (result.site < program.sites.size()) {
    const abi::FaultSite& site = program.sites[result.site];
    place.at = spanOf(program, site.at, sources);
    for (const abi::CallSite& c : site.calls) place.calls.emplace_back(spanOf(program, c.at, sources), c.callee);
  }
  reportAt(codeOf(result.fault), messageOf(result), std::move(place), sources, diags);
}

Diagnostics::Builder reportAt(Code code, const std::string& message, StopPlace place, const SourceManager& sources,
                              Diagnostics& diags) {
  if (place.calls.size() > kMostCallers) place.calls.resize(kMostCallers);
  Span shown = place.at;
  for (size_t i = 0; i < place.calls.size() && sources.inLibrary(shown); ++i) shown = place.calls[i].first;
  if (sources.inLibrary(shown)) shown = place.at;
  auto report = diags.report(code, shown, message);
  if (!(shown == place.at)) report.note(place.at, "in the standard library, here");
  noteCalls(report, place);
  return report;
}

StopPlace placeOf(const ir::Module& m, ir::Loc at) {
  StopPlace place{m.span(at), {}};
  for (const ir::LocData* d = &m.loc(at); d->caller.index != 0 && place.calls.size() < kMostCallers;
       d = &m.loc(d->caller))
    place.calls.emplace_back(m.span(d->caller), d->callee);
  return place;
}

void noteCallers(Diagnostics::Builder& builder, const ir::Module& m, ir::Loc at) { noteCalls(builder, placeOf(m, at)); }

}  // namespace tenc::tool
