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
struct Declaration;

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

  /// What the head of a written type means. `inShape`: a name that nothing declares is a dim variable.
  TypeName typeName(const ast::TypeExpr& t, Generics& g, bool inShape);
  /// A written type, as far as the variables in it are bound.
  Ty resolve(const ast::TypeExpr& written, Generics& g);
  /// A type argument as a value: Int, DType, Device, Pack or Type; nullopt while it is not known.
  std::optional<Val> typeArgument(const ast::TypeExpr& written, Generics& g);
  /// Whether the text can stand for a dim; E0203 for a tuple, a list, and what has a device or arguments.
  bool requireDim(const ast::TypeExpr& t);
  /// A written dim, when all variables in it are bound. `report`: whether what is no dim is an error.
  std::optional<int64_t> dimOf(const ast::TypeExpr& t, Generics& g, bool report);
  /// The device that a type names, "$D" for a variable, "" for none.
  std::string deviceInType(const ast::TypeExpr& t, Generics& g);
  /// The devices that a type, also one by another name, names for the whole or for parts of a tuple or list.
  Pins pinsOf(const ast::TypeExpr& written, Generics& g);
  /// Where a type, or a part of it, names a device; invalid for nowhere.
  static Span placeIn(const ast::TypeExpr& t);
  /// Reports a path whose head is declared, and no module (E0102).
  Val noModule(const Declaration& d, const ast::Name& head);
  /// Reports a type that nothing declares (E0102).
  Val unknownPath(const ast::TypeExpr& t);
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
