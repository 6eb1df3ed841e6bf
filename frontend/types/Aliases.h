// Generic aliases, `type Square[N] = f32[N, N]`.
#pragma once
#include <map>
#include <utility>

#include "frontend/types/Generics.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Types;
class Expressions;

/// Reads a use of a generic alias as the type that it stands for.
class Aliases {
 public:
  Aliases(Context& context, Types& types, Expressions& expressions)
      : context_(context), types_(types), expressions_(expressions) {}

  /// A use of a generic alias as the type that it stands for; other types as they are. What it returns lives as long as
  /// the aliases and `t` do.
  const ast::TypeExpr* expanded(const ast::TypeExpr* t, const Generics& g);
  /// `Alias[2, 3]` in an expression: the type, unit when `callee` names no generic alias (Aliases.cpp).
  Val aliasWith(const ast::Expr& given, const ast::Expr& callee);

 private:
  Context& context_;
  Types& types_;
  Expressions& expressions_;
  std::map<std::pair<const ast::TypeExpr*, const Unit*>, ast::TypePtr> expandedAliases_;
};

}  // namespace tenc::frontend
