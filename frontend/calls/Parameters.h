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
class Types;
struct FnDecl;
struct Unit;

/// Says what a callable takes, before it is called.
class Parameters {
 public:
  /// Of a function, for a call with given arguments.
  struct List {
    std::string name;                         ///< "" for a lambda or a tuple
    Span span;                                ///< where it is declared; not valid for a built-in
    std::vector<std::string> names;           ///< of what it takes by position
    std::vector<const ast::TypeExpr*> types;  ///< as written; null where nothing is
    const FnDecl* fn = nullptr;               ///< whose parameters these are; null for a lambda's
    const Unit* unit = nullptr;               ///< that a lambda stands in
  };

  Parameters(Context& context, Names& names, Types& types, Overloads& overloads)
      : context_(context), names_(names), types_(types), overloads_(overloads) {}

  /// Empty lists for what cannot be called with these arguments; the call will say so.
  List of(const Val& callable, const CallArgs& args) const;
  /// The dtype that the written type of a parameter says; nothing where it says none.
  std::optional<ir::DType> dtypeOf(const List& list, size_t position) const;

 private:
  List ofDeclared(const std::vector<const FnDecl*>& overloads, const Val* first) const;

  Context& context_;
  Names& names_;
  Types& types_;
  Overloads& overloads_;
};

}  // namespace tenc::frontend
