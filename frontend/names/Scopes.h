// The names that the body at hand sees.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/names/Frame.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Placement;
struct Boundary;

/// Looks up and declares names in the blocks of the body that is lowered.
class Scopes {
 public:
  Scopes(Context& context, Placement& placement) : context_(context), placement_(placement) {}

  /// The innermost local of that name, or null.
  Binding* findLocal(std::string_view name);
  /// Adds a local to the innermost block; names the tensors in its value that have no name yet.
  Binding& declare(const ast::Name& name, Val value, bool isVar, std::shared_ptr<const Ty> declared = nullptr);
  /// Whether a statement with a syntax error may have declared it: then its absence is no error of its own.
  bool lostName(std::string_view name);
  /// Whether the name means anything here.
  bool nameExists(std::string_view name);
  /// Every name that could stand here, for suggestions.
  std::vector<std::string> visibleNames();
  /// Variables in scope among `names`.
  void visibleVars(const std::set<std::string>& names, Boundary& into);

 private:
  Context& context_;
  Placement& placement_;
};

}  // namespace tenc::frontend
