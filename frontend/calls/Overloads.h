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
  /// What tells overloads apart: the type of the first parameter, without its arguments.
  enum class HeadKind : uint8_t { None, Any, Integer, Tensor, Tuple, List, Shape, Function, Device, String, Struct };
  struct Head {
    HeadKind kind;
    const StructDecl* type = nullptr;  ///< Struct
    auto operator<=>(const Head&) const = default;
  };

  Overloads(Context& context, Types& types, Functions& functions)
      : context_(context), types_(types), functions_(functions) {}

  /// Calls the one that takes the first argument best; E0203 where none does.
  Val callOverloads(const FnValue& f, CallArgs& args);
  /// The one that takes `first` best, null for none; `first` is null in a call without arguments.
  const FnDecl* pickOverload(const std::vector<const FnDecl*>& overloads, const Val* first);
  /// The one whose first parameter is written as the struct that `v` is; null for none.
  const FnDecl* ofStruct(const std::vector<const FnDecl*>& overloads, const Val& v);
  Head headOf(const ast::TypeExpr* t, const FnDecl& decl);
  /// As written, for notes.
  std::string signatureText(const FnDecl& decl) const;

 private:
  static int headMatch(const Head& declared, const Val& v);

  Context& context_;
  Types& types_;
  Functions& functions_;
};

}  // namespace tenc::frontend
