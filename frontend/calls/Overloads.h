// Functions of one name.
#pragma once
#include <string>
#include <vector>

#include "frontend/calls/Arguments.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Types;
class Functions;

/// Chooses among functions of one name by the head of their first parameter.
class Overloads {
 public:
  Overloads(Context& context, Types& types, Functions& functions)
      : context_(context), types_(types), functions_(functions) {}

  /// Calls the one that takes the first argument best; E0203 where none does.
  Val callOverloads(const FnValue& f, CallArgs& args);
  /// The one that takes `first` best, null for none; `first` is null in a call without arguments.
  const FnDecl* pickOverload(const std::vector<const FnDecl*>& overloads, const Val* first);
  /// What tells overloads apart: "int", "tensor", "struct:...", "any", ...
  std::string headOf(const ast::TypeExpr* t, const FnDecl& decl);
  /// As written, for notes.
  std::string signatureText(const FnDecl& decl) const;

 private:
  int headMatch(const std::string& declared, const Val& v);

  Context& context_;
  Types& types_;
  Functions& functions_;
};

}  // namespace tenc::frontend
