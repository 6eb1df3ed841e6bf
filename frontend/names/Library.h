// Modules of the standard library are parsed as far as the script and its own modules mention their declarations.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/Outline.h"
#include "syntax/Parse.h"

namespace tenc::frontend {

struct Unit;

/// The module of the standard library that has a function of that name, which a comment describes: one that the unit
/// imports, or the only one; empty for none.
std::string moduleWith(const Unit& unit, std::string_view function);
/// All of those that the unit imports.
std::vector<std::string_view> importedWith(const Unit& unit, std::string_view function);

class Library {
 public:
  Library(const SourceManager& sources, Diagnostics& diags) : sources_(sources), diags_(diags) {}

  /// What is needed of a module that is imported for the first time; all of it when `whole`.
  std::unique_ptr<ast::File> open(uint32_t source, bool whole);
  /// What sources that were added since need of the modules that are open: `more` gets the statements of each.
  void extend(const std::function<void(uint32_t source, std::unique_ptr<ast::File> part)>& more);
  /// Whether something of a module was left out.
  bool partial() const { return !modules_.empty(); }

 private:
  void readSources();

  struct Module {
    uint32_t source;
    syntax::Outline outline;
  };
  const SourceManager& sources_;
  Diagnostics& diags_;
  uint32_t read_ = 0;               ///< sources whose words are known
  syntax::Words words_ = {"call"};  ///< what applying a struct looks for is never written
  std::list<Module> modules_;
};

}  // namespace tenc::frontend
