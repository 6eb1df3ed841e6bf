// `let` and `var`.
#pragma once
#include <memory>

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

/// Binds names to values.
class Bindings {
 public:
  Bindings(Context& context, Scopes& scopes, Tensors& tensors, PlacingOps& placing, Types& types, Unifier& unifier,
           DimSolver& dimSolver, Expressions& expressions)
      : context_(context),
        scopes_(scopes),
        tensors_(tensors),
        placing_(placing),
        types_(types),
        unifier_(unifier),
        dimSolver_(dimSolver),
        expressions_(expressions) {}

  /// `let` or `var`.
  void lowerLet(const ast::Stmt& s);
  /// Binds the names of a pattern to the parts of a value; E0203 where their numbers differ. `written`: the value in
  /// the source, for what that says; null where it stands nowhere.
  void bindPattern(const ast::Pattern& p, Val value, bool isVar, std::shared_ptr<const Ty> declared,
                   const ast::Expr* written = nullptr);

  /// W0101 for the names of a `let` in a loop, or of a `for`, that hide a `var` outside.
  void warnHidden(const ast::Stmt& s);

 private:
  void bindLet(const ast::Stmt& s, Val value);
  Val declaredValue(const ast::Stmt& s, Val value, std::shared_ptr<const Ty>* declared);

  Context& context_;
  Scopes& scopes_;
  Tensors& tensors_;
  PlacingOps& placing_;
  Types& types_;
  Unifier& unifier_;
  DimSolver& dimSolver_;
  Expressions& expressions_;
};

}  // namespace tenc::frontend
