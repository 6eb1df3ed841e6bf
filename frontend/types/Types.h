// Written types: names in them, dims, arguments.
#pragma once
#include <optional>
#include <string>

#include "frontend/types/Generics.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Scopes;
class UnknownNames;
class Names;
class Devices;
class Evaluator;
class Aliases;
class Structs;

/// Reads written types.
class Types {
 public:
  Types(Context& context, Scopes& scopes, UnknownNames& unknownNames, Names& names, Devices& devices,
        Evaluator& evaluator, Aliases& aliases, Structs& structs)
      : context_(context),
        scopes_(scopes),
        unknownNames_(unknownNames),
        names_(names),
        devices_(devices),
        evaluator_(evaluator),
        aliases_(aliases),
        structs_(structs) {}

  TypeName typeName(const ast::TypeExpr& t, Generics& g, bool inShape);
  Ty resolve(const ast::TypeExpr& written, Generics& g);
  std::optional<Val> typeArgument(const ast::TypeExpr& written, Generics& g);
  std::optional<int64_t> dimOf(const ast::TypeExpr& t, Generics& g, bool report);
  std::string deviceInType(const ast::TypeExpr& t, Generics& g);
  void unknownType(const ast::TypeExpr& t);

 private:
  Context& context_;
  Scopes& scopes_;
  UnknownNames& unknownNames_;
  Names& names_;
  Devices& devices_;
  Evaluator& evaluator_;
  Aliases& aliases_;
  Structs& structs_;
};

}  // namespace tenc::frontend
