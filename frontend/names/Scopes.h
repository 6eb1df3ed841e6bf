// The names that the body at hand sees.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/names/Frame.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
struct Boundary;
struct Declaration;
struct Generics;

/// Looks up and declares names in the blocks of the body that is lowered.
class Scopes {
 public:
  explicit Scopes(Context& context) : context_(context) {}

  /// What the local that is named at `use` is bound to; null for what is no local, or has no value.
  Binding* find(Span use);
  /// What a local that is declared there is bound to, or null.
  Binding* declaredAt(Span declaration);
  /// The innermost local of that name, or null: for messages about names that stand nowhere in the tree.
  Binding* named(std::string_view name);
  /// Adds a local to the innermost block; names the tensors in its value that have no name yet.
  Binding& declare(const ast::Name& name, Val value, bool isVar, std::shared_ptr<const Ty> declared = nullptr);
  /// Adds what a call has bound to a declaration of the function or lambda: no place of the caller's is its own.
  Binding& bind(const Declaration& declaration, Val value);
  /// Adds what the types in the code at `node` have bound to their dims; the place where each was bound is in `origin`.
  void bindDims(Span node, const Generics& bound);
  /// Whether a statement with a syntax error may have declared it: then its absence is no error of its own.
  bool lostName(std::string_view name);
  /// Whether an import of the module has failed, which was told.
  bool notImported(std::string_view name);
  /// Whether an edit of its import writes something else in the place of the name.
  bool isRenamed(std::string_view name);
  /// Whether the name means anything here.
  bool nameExists(std::string_view name);
  /// Every name that could stand here, for suggestions.
  std::vector<std::string> visibleNames();
  /// The variables that the code at `node` assigns and that stand around it.
  void assignedIn(Span node, Boundary& into);
  void assignedIn(std::span<const Span> nodes, Boundary& into);

 private:
  Context& context_;
};

}  // namespace tenc::frontend
