#include "codegen/SourceLines.h"

#include <set>
#include <utility>

namespace tenc::codegen {
namespace {

constexpr size_t kMostLines = 6;

class Lines {
 public:
  Lines(const ir::Module& m, const SourceManager& sources) : m_(m), sources_(sources) {}

  void add(const ir::Op& op) {
    add(op.loc);
    for (const auto& region : op.regions)
      for (const auto& inner : region->ops) add(*inner);
  }

  std::string text() const {
    std::string text;
    uint32_t last = 0;
    size_t count = 0;
    for (const auto& [file, line] : lines_) {
      if (count++ == kMostLines) return text + ", ...";
      if (!text.empty()) text += ", ";
      if (text.empty() || file != last) text += sources_.file(file).name() + ":";
      text += std::to_string(line);
      last = file;
    }
    return text;
  }

 private:
  void add(ir::Loc loc) {
    while (isLibrary(m_.span(loc)) && m_.loc(loc).caller.index != 0) loc = m_.loc(loc).caller;
    const Span span = m_.span(loc);
    if (isKnown(span)) lines_.emplace(span.file, sources_.file(span.file).position(span.begin).line);
  }
  bool isKnown(Span s) const { return s.valid() && s.file < sources_.size(); }
  bool isLibrary(Span s) const { return isKnown(s) && sources_.file(s.file).isLibrary; }

  const ir::Module& m_;
  const SourceManager& sources_;
  std::set<std::pair<uint32_t, uint32_t>> lines_;  // of a file
};

}  // namespace

std::string sourceLines(const ir::Module& m, const SourceManager& sources, std::span<const ir::Op* const> ops) {
  Lines lines(m, sources);
  for (const ir::Op* op : ops) lines.add(*op);
  return lines.text();
}

}  // namespace tenc::codegen
