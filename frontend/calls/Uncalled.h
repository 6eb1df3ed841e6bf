// Functions that nobody calls.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "frontend/types/Generics.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class UnknownNames;
class Tensors;
class Types;
class Aliases;
class Structs;
class Unifier;
class Functions;
class Instances;

struct Samples;
struct Difference;

/// Checks functions that nobody calls, with dims, dtypes and devices of its own.
class Uncalled {
 public:
  Uncalled(Context& context, UnknownNames& unknownNames, Tensors& tensors, Types& types, Aliases& aliases,
           Structs& structs, Unifier& unifier, Functions& functions, Instances& instances)
      : context_(context),
        unknownNames_(unknownNames),
        tensors_(tensors),
        types_(types),
        aliases_(aliases),
        structs_(structs),
        unifier_(unifier),
        functions_(functions),
        instances_(instances) {}

  /// Checks structs and functions of the unit with sample arguments.
  void checkUncalled(const Unit& unit);
  /// Checks its structs and aliases, and the defaults of functions that are called, alone.
  void checkTypes(const Unit& unit);
  /// Checks those of one entry of a session.
  void checkUncalledOf(const Unit& unit, uint32_t source);
  /// The names in the bodies of functions that were called with wrong arguments only: all else depends on those.
  void checkUnseen(const Unit& unit);

 private:
  void check(const Unit& unit, std::optional<uint32_t> source, bool functionsToo);
  /// Resolves the names of a function that is not compiled.
  void checkNamesOf(const FnDecl& decl);
  /// Whether what is lowered is right with some choice of dims, as with others a window may be larger than a picture;
  /// reports what is wrong with the first.
  bool holds(const Difference& difference, const std::function<void(Samples&)>& lower);
  /// A function has to be right for all dtypes that its signature takes.
  void checkWithSamples(const FnDecl& decl, ir::Region& region);
  void instantiateSample(const FnDecl& decl, Samples& samples, ir::Region& region);
  /// An argument for each parameter, and values for all variables; false where there cannot be one.
  bool sampleArguments(const FnDecl& decl, std::vector<Val>& values, Generics& g, Samples& samples, ir::Region& region);
  /// The defaults of a function whose calls may all give the arguments.
  void checkDefaults(const FnDecl& decl, ir::Region& region);
  void checkDefaults(const std::vector<ast::Generic>& generics, const Generics& g);
  /// No value where the type has an error.
  Val sampleOf(const FnDecl& decl, size_t index, Generics& g, Samples& samples, ir::Region& region);
  Val fittingDefault(const FnDecl& decl, size_t index, Generics& g, Samples& samples);
  Val unknown(Samples& samples);
  bool sampleValue(const Ty& t, ir::Region* region, Val& v);
  /// `inShape`: a bare name that is not listed is a dim variable there, not an unknown type.
  void bindSamples(const ast::TypeExpr& written, Generics& g, Samples& samples, bool inShape);

  Context& context_;
  UnknownNames& unknownNames_;
  Tensors& tensors_;
  Types& types_;
  Aliases& aliases_;
  Structs& structs_;
  Unifier& unifier_;
  Functions& functions_;
  Instances& instances_;
};

}  // namespace tenc::frontend
