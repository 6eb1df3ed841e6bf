#include "frontend/names/Library.h"

#include <map>

#include "frontend/StdModules.h"
#include "frontend/names/Unit.h"

namespace tenc::frontend {

std::string moduleWith(const Unit& unit, std::string_view function) {
  static const auto kModules = [] {
    std::multimap<std::string_view, std::string_view> modules;
    for (const std::string_view module : stdModuleNames())
      for (const std::string_view f : syntax::Outline(*stdModule(module)).described()) modules.emplace(f, module);
    return modules;
  }();
  const auto [first, last] = kModules.equal_range(function);
  for (auto m = first; m != last; ++m)
    if (unit.modules.contains(m->second)) return std::string(m->second);
  return first != last && std::next(first) == last ? std::string(first->second) : "";
}

void Library::readSources() {
  for (; read_ < sources_.size(); ++read_) {
    const SourceFile& file = sources_.file(read_);
    if (!file.isLibrary) syntax::addWords(file.text(), words_);
  }
}

std::unique_ptr<ast::File> Library::open(uint32_t source, bool whole) {
  if (whole) return syntax::parse(sources_, source, diags_);
  readSources();
  Module& m = modules_.emplace_back(Module{source, syntax::Outline(sources_.file(source).text())});
  return syntax::parsePart(sources_, source, m.outline.take(words_), diags_);
}

void Library::extend(const std::function<void(uint32_t source, std::unique_ptr<ast::File> part)>& more) {
  readSources();
  for (bool any = true; any;) {
    any = false;
    for (Module& m : modules_) {
      const std::string part = m.outline.take(words_);
      if (part.empty()) continue;
      any = true;
      if (auto file = syntax::parsePart(sources_, m.source, part, diags_)) more(m.source, std::move(file));
    }
  }
}

}  // namespace tenc::frontend
