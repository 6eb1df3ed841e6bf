#include "frontend/names/Library.h"

#include <map>

#include "frontend/StdModules.h"
#include "frontend/names/Unit.h"

namespace tenc::frontend {

namespace {

/// The modules of the library that declare a function of that name.
std::vector<std::string_view> modulesOf(std::string_view function) {
  static const auto kModules = [] {
    std::multimap<std::string_view, std::string_view> modules;
    for (const std::string_view module : stdModuleNames())
      for (const std::string_view f : syntax::Outline(*stdModule(module)).described()) modules.emplace(f, module);
    return modules;
  }();
  std::vector<std::string_view> found;
  const auto [first, last] = kModules.equal_range(function);
  for (auto m = first; m != last; ++m) found.push_back(m->second);
  return found;
}

}  // namespace

std::string moduleWith(const Unit& unit, std::string_view function) {
  const auto modules = modulesOf(function);
  for (const std::string_view m : modules)
    if (unit.modules.contains(m)) return std::string(m);
  return modules.size() == 1 ? std::string(modules[0]) : "";
}

std::vector<std::string_view> importedWith(const Unit& unit, std::string_view function) {
  auto modules = modulesOf(function);
  std::erase_if(modules, [&](std::string_view m) { return !unit.modules.contains(m); });
  return modules;
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
