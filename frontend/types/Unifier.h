// Values against written types.
#pragma once
#include <string_view>

#include "frontend/types/Generics.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Evaluator;
class Tensors;
class Types;
class Aliases;
class Structs;
class DimSolver;

/// Matches values with written types: binds the variables in them, and checks what is known.
class Unifier {
 public:
  Unifier(Context& context, Evaluator& evaluator, Tensors& tensors, Types& types, Aliases& aliases, Structs& structs,
          DimSolver& dimSolver)
      : context_(context),
        evaluator_(evaluator),
        tensors_(tensors),
        types_(types),
        aliases_(aliases),
        structs_(structs),
        dimSolver_(dimSolver) {}

  /// The value as one of the written type, whose variables it binds: numbers adopt its dtype, arrays become tensors or
  /// lists. Poison after an error (E0201, E0202, E0203; E0207 against a declaration).
  Val unify(const ast::TypeExpr& written, const Val& v, Generics& g, const Target& who);
  /// Whether a dtype is of the kind that its variable is declared as; reports it if not. `ofValue`: it is that of a
  /// tensor or number, which can be converted.
  bool checkKind(ast::Generic::Kind kind, const Val& v, std::string_view name, const Target& who, bool ofValue = false);
  /// The value as one of a type that is known.
  Val fit(const Ty& t, const Val& v, const Target& who);

 private:
  /// E0203, or E0207 against a declaration: another kind of value than declared.
  /// `tree`: what the type names, where that is listed.
  Val mismatch(const ast::TypeExpr& t, const Val& v, const Target& who, const ast::Generic* tree = nullptr);
  // By the kind of the written type.
  Val unifyTuple(const ast::TypeExpr& t, const Val& v, Generics& g, const Target& who);
  Val unifyList(const ast::TypeExpr& t, const Val& v, Generics& g, const Target& who);
  Val unifyShape(const ast::TypeExpr& t, const Val& v, Generics& g, const Target& who);
  Val unifyName(const ast::TypeExpr& t, const Val& v, Generics& g, const Target& who);
  Val unifyVariable(const ast::TypeExpr& t, const TypeName& head, const Val& v, Generics& g, const Target& who);
  Val unifyTensor(const ast::TypeExpr& t, const TypeName& head, const Val& v, Generics& g, const Target& who);
  Val unifyStruct(const ast::TypeExpr& t, const StructDecl& decl, const Val& v, Generics& g, const Target& who);
  bool unifyArgument(const ast::TypeExpr& written, const Val& actual, Generics& g, const Target& who);

  Context& context_;
  Evaluator& evaluator_;
  Tensors& tensors_;
  Types& types_;
  Aliases& aliases_;
  Structs& structs_;
  DimSolver& dimSolver_;
};

}  // namespace tenc::frontend
