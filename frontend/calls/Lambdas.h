// Calls of lambdas.
#pragma once
#include "frontend/calls/Arguments.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Scopes;
class Tensors;
class PlacingOps;
class Types;
class Unifier;
class DimSolver;
class Expressions;
class Statements;
class Bindings;

/// Lowers the body of a lambda where it is called.
class Lambdas {
 public:
  Lambdas(Context& context, Scopes& scopes, Tensors& tensors, PlacingOps& placing, Types& types, Unifier& unifier,
          DimSolver& dimSolver, Expressions& expressions, Statements& statements, Bindings& bindings)
      : context_(context),
        scopes_(scopes),
        tensors_(tensors),
        placing_(placing),
        types_(types),
        unifier_(unifier),
        dimSolver_(dimSolver),
        expressions_(expressions),
        statements_(statements),
        bindings_(bindings) {}

  /// The value of its body for these arguments; E0204 where their number differs.
  Val callLambda(const FnValue& f, CallArgs& args);

 private:
  Context& context_;
  Scopes& scopes_;
  Tensors& tensors_;
  PlacingOps& placing_;
  Types& types_;
  Unifier& unifier_;
  DimSolver& dimSolver_;
  Expressions& expressions_;
  Statements& statements_;
  Bindings& bindings_;
};

}  // namespace tenc::frontend
