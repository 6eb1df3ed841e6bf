// The parameters of anything that can be called.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "frontend/calls/Arguments.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Names;
class Overloads;

/// Says what a callable takes, before it is called.
class Parameters {
 public:
  /// Of a function, for a call with given arguments.
  struct List {
    std::string name;                         ///< "" for a lambda or a tuple
    Span span;                                ///< where it is declared; not valid for a built-in
    std::vector<std::string> names;           ///< of what it takes by position
    std::vector<const ast::TypeExpr*> types;  ///< as written; null where nothing is
  };

  Parameters(Context& context, Names& names, Overloads& overloads)
      : context_(context), names_(names), overloads_(overloads) {}

  /// Empty lists for what cannot be called with these arguments; the call will say so.
  List of(const Val& callable, const CallArgs& args) const;

 private:
  List ofDeclared(const std::vector<const FnDecl*>& overloads, const Val* first) const;

  Context& context_;
  Names& names_;
  Overloads& overloads_;
};

}  // namespace tenc::frontend
