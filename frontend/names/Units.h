// The script and the modules that it imports.
#pragma once
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "frontend/names/Library.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Constants;
class Overloads;

/// Reads units and collects what they declare.
class Units {
 public:
  Units(Context& context, Constants& constants, Overloads& overloads, bool wholeLibrary);

  /// The unit of the script: the first.
  Unit& addScript(const ast::File& file);
  /// The unit of the script.
  const Unit& script() const { return *units_.front(); }
  /// The imported module with that `Unit::key`, or null.
  const Unit* module(const std::string& key) const {
    const auto found = modules_.find(key);
    return found == modules_.end() ? nullptr : found->second;
  }
  /// The modules that scripts have brought, those of the standard library not among them.
  std::vector<const Unit*> ownModules() const;
  /// The declarations of the unit's statements `from`..
  void collect(Unit& unit, size_t from = 0);
  /// Evaluates the params of the script, and reports options that name none (E0504).
  void collectParams(const Unit& unit);
  /// Its params take the options of the command line.
  void takeOptions(const Unit& script);
  /// Reports a `--default-device` that is not there.
  void checkDefaultDevice(const Unit& unit);
  /// Whether something of a module of the standard library was left out.
  bool libraryIsPartial() const { return library_.partial(); }

 private:
  /// `byLibrary`: a module of the standard library asks for it.
  const Unit* import(const std::string& name, Span span, bool byLibrary);
  /// The module's file beside the script or in a folder of `--import-path`.
  std::optional<uint32_t> findBeside(const std::string& name);
  bool inLibrary(const Unit& unit) const;
  /// What sources that came since need of modules that were read in part.
  void extendLibrary();
  /// Finds what the names in a unit mean, whose statements from `from` on are new; reports dims of structs and aliases
  /// that nothing declares (E0102).
  void resolveNames(Unit& unit, size_t from);
  /// Reports aliases that are made of themselves (E0109); they mean nothing.
  void checkAliases(const Unit& unit);
  void collectImport(Unit& unit, const ast::Stmt& s);
  void checkHeads(const Unit& unit);
  void checkTwice(std::span<const ast::StmtPtr> statements);
  bool declareOnce(Unit& unit, const ast::Name& name);
  bool isImported(const Unit& unit, const ast::Name& name);
  void checkDims(const Unit& unit, const ast::Stmt& s);
  bool importOnce(Unit& unit, const ast::Name& name, const std::string& instead);

  Context& context_;
  Constants& constants_;
  Overloads& overloads_;
  Library library_;
  const bool wholeLibrary_;  ///< all of its modules is parsed, for messages that propose what there is
  std::list<std::unique_ptr<Unit>> units_;
  std::map<std::string, const Unit*> modules_;  ///< by key; those of the library that a script imports by name too
  std::set<std::string> reading_;               ///< keys of modules whose imports are being read
};

}  // namespace tenc::frontend
