// Calls of declared functions.
#pragma once
#include <set>
#include <vector>

#include "frontend/calls/Arguments.h"
#include "frontend/names/Sizes.h"
#include "frontend/types/Generics.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Devices;
class Tensors;
class Types;
class Aliases;
class Unifier;
class DimSolver;
class Expressions;
class Overloads;
class Instances;

/// What is called, for people: a struct by its type, where it is called through its `call`.
std::string calledName(const FnDecl& decl);

/// Matches the arguments of a call with the parameters of a function.
class Functions {
 public:
  Functions(Context& context, Devices& devices, Tensors& tensors, Types& types, Aliases& aliases, Unifier& unifier,
            DimSolver& dimSolver, Expressions& expressions, Overloads& overloads, Instances& instances)
      : context_(context),
        devices_(devices),
        tensors_(tensors),
        types_(types),
        aliases_(aliases),
        unifier_(unifier),
        dimSolver_(dimSolver),
        expressions_(expressions),
        overloads_(overloads),
        instances_(instances) {}

  /// Calls one function: E0204 where arguments and parameters do not match, E0111 where a static one is of the run.
  Val callDecl(const FnDecl& decl, CallArgs& args);
  /// Whether the parameter is known at compile time: `static`, or a size.
  bool paramIsStatic(const FnDecl& decl, const ast::FnParam& p);
  /// Whether a call of it has been lowered.
  bool isCalled(const FnDecl& decl) const { return called_.contains(&decl); }
  /// Whether a call names it, also one with wrong arguments.
  bool isNamed(const FnDecl& decl) const { return named_.contains(&decl); }
  /// Reports dims of the result's type that no argument has bound; `inShape` as in bindSamples.
  bool resultDimsBound(const ast::TypeExpr& written, Generics& g, bool inShape);
  /// The value of a parameter's default, in a call that has bound these variables.
  Val defaultOf(const FnDecl& decl, size_t index, const Generics& g);

 private:
  /// Arguments in the order of the parameters; defaults are null.
  bool matchArguments(const FnDecl& decl, const CallArgs& args, std::vector<const CallArg*>& matched);

  /// A call while its arguments are bound, one value a parameter.
  struct BoundCall {
    const FnDecl& decl;
    std::vector<const CallArg*> matched;  ///< null where the default is taken
    Generics generics;
    std::vector<Val> values;
  };
  // Each reports what is wrong and gives false then.
  bool bindParam(BoundCall& call, size_t i, const Val& v, Span span);
  /// An argument for a parameter that names a dim which another argument has bound; E0202 where it is another number.
  Val sameDim(const BoundCall& call, const ast::FnParam& p, const Val& value, Span span);
  bool bindGiven(BoundCall& call);
  bool bindDefaults(BoundCall& call);
  /// Where the parameter is to live: on a device, on that of one of the values `beside`, or, where there are none,
  /// wherever the call is.
  DeviceRef placeOfDefault(const BoundCall& call, size_t index, std::vector<ir::Value*>& beside);
  /// The default of a parameter, whose tensors are made where it is to live.
  Val placedDefault(const BoundCall& call, size_t index);
  /// Whether every device variable is that of an argument; reports (E0204).
  bool devicesKnown(const BoundCall& call, Span span);
  bool sizesKnown(BoundCall& call, Span span);
  /// A static argument stays as it is; another becomes a tensor, or a tree of them, unless it stands for a size.
  bool materialise(BoundCall& call, size_t i, Span span);

  Context& context_;
  Devices& devices_;
  Tensors& tensors_;
  Types& types_;
  Aliases& aliases_;
  Unifier& unifier_;
  DimSolver& dimSolver_;
  Expressions& expressions_;
  Overloads& overloads_;
  Instances& instances_;
  SizeParameters sizes_;
  std::set<const FnDecl*> called_;
  std::set<const FnDecl*> named_;  ///< also where a wrong argument kept the body from being checked
};

}  // namespace tenc::frontend
