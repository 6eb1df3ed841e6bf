// The values of `const` and `param`.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Types;
class Expressions;

/// Evaluates constants and params, each once.
class Constants {
 public:
  Constants(Context& context, Types& types, Expressions& expressions)
      : context_(context), types_(types), expressions_(expressions) {}

  /// The value of a `const`; E0109 when it is defined by itself, E0111 when it is of the run.
  Val constantOf(const Unit& unit, const ast::Stmt& decl);
  /// The params of this file, the script, take their values from the command line.
  void takeOptions(const ast::File& script);
  /// The value of a `param`: from the command line, or its default (E0504 where neither fits).
  Val paramOf(const ast::Stmt& decl);

 private:
  /// The value with the dtypes of the type that is written; E0207 where it has another shape or kind, E0212 where a
  /// number does not fit. `dim`: the first of the type's that the value has.
  Val asDeclared(Val v, const Ty& type, size_t dim);
  /// E0108: the type of a `const` or `param` names a device.
  Val noPlace(const ast::Stmt& decl, Span place);

  Context& context_;
  Types& types_;
  Expressions& expressions_;
  std::map<const ast::Stmt*, Val> params_;
  std::set<const ast::Stmt*> ofScript_;
  std::vector<const ast::Stmt*> evaluating_;  ///< params whose defaults are, the innermost last
};

}  // namespace tenc::frontend
