// A script or a module with what it declares.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/names/Resolve.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

/// A script or module: its tree and its declarations, found before anything is lowered so that order does not matter.
struct Unit {
  std::string name;  ///< "" for the script, "nn" for a module
  std::string key;   ///< which module it is, also where a script has one of the name of the library's
  uint32_t source = 0;
  const ast::File* file = nullptr;
  std::unique_ptr<ast::File> owned;
  bool isScript = false;
  std::map<std::string, std::vector<FnDecl>, std::less<>> functions;
  std::map<std::string, StructDecl, std::less<>> structs;
  std::map<std::string, const ast::Stmt*, std::less<>> aliases, constants, params, devices;
  std::map<std::string, const Unit*, std::less<>> modules;                        ///< import nn
  std::map<std::string, std::pair<const Unit*, std::string>, std::less<>> names;  ///< import optim: sgd
  mutable std::map<std::string, Val, std::less<>> evaluated;                      ///< constants and params, once
  mutable std::set<std::string, std::less<>> evaluating;
  std::map<std::string, Span, std::less<>> declared;  ///< for E0103
  std::map<std::string, Span, std::less<>> imported;  ///< for E0103: modules and names of modules
  std::unique_ptr<Resolution> resolution;             ///< what the names in the file mean

  /// The aliases of this unit of which one of them is made.
  std::vector<const ast::Stmt*> aliasesIn(const ast::Stmt& alias) const;
};

}  // namespace tenc::frontend
