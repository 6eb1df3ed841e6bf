// Struct literals: `Linear { w: w, b: b }`.
#pragma once
#include <optional>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Evaluator;
class Types;
class Aliases;
class Structs;
class Expressions;
class Outcome;
struct Generics;

/// Values of structs as written.
class StructLiterals {
 public:
  StructLiterals(Context& context, Evaluator& evaluator, Types& types, Aliases& aliases, Structs& structs,
                 Expressions& expressions)
      : context_(context),
        evaluator_(evaluator),
        types_(types),
        aliases_(aliases),
        structs_(structs),
        expressions_(expressions) {}

  /// Dtypes that `expected`, the declared type, gives and the literal does not are taken from there.
  Val evalStruct(const ast::Expr& e, const Ty* expected = nullptr);

 private:
  Outcome bindArguments(const ast::Expr& given, const StructDecl& decl, Generics& g);
  std::optional<std::vector<Val>> fieldsOf(const ast::Expr& e, const StructDecl& decl, Generics& g);

  Context& context_;
  Evaluator& evaluator_;
  Types& types_;
  Aliases& aliases_;
  Structs& structs_;
  Expressions& expressions_;
};

}  // namespace tenc::frontend
