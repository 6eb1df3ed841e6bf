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

  Val callOverloads(const FnValue& f, CallArgs& args);
  const FnDecl* pickOverload(const std::vector<const FnDecl*>& overloads, const Val* first);
  std::string headOf(const ast::TypeExpr* t, const FnDecl& decl);
  std::string signatureText(const FnDecl& decl) const;

 private:
  int headMatch(const std::string& declared, const Val& v);

  Context& context_;
  Types& types_;
  Functions& functions_;
};

}  // namespace tenc::frontend
