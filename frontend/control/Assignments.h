// Assignments as functional updates.
#pragma once
#include <string>
#include <string_view>

#include "frontend/control/Flow.h"
#include "frontend/names/Frame.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Scopes;
class UnknownNames;
class Names;
class Tensors;
class PlacingOps;
class Unifier;
class Operators;
class Expressions;
class Indexing;

/// Gives variables, their fields and their elements new values.
class Assignments {
 public:
  Assignments(Context& context, Scopes& scopes, UnknownNames& unknownNames, Names& names, Tensors& tensors,
              PlacingOps& placing, Unifier& unifier, Operators& operators, Expressions& expressions, Indexing& indexing)
      : context_(context),
        scopes_(scopes),
        unknownNames_(unknownNames),
        names_(names),
        tensors_(tensors),
        placing_(placing),
        unifier_(unifier),
        operators_(operators),
        expressions_(expressions),
        indexing_(indexing) {}

  /// `target = value` and `target += value`; E0107 where the target is neither a `var` nor part of one.
  Outcome lowerAssign(const ast::Stmt& s);

 private:
  Outcome assignTo(const ast::Expr& target, const Val& value, std::string_view op, const ast::Stmt& s);
  Val updated(const Val& old, const ast::Expr& target, const ast::Expr& root, const Val& value, std::string_view op,
              const ast::Stmt& s);
  void setVar(Binding& binding, const std::string& name, Val value, Span span, Span written);

  Context& context_;
  Scopes& scopes_;
  UnknownNames& unknownNames_;
  Names& names_;
  Tensors& tensors_;
  PlacingOps& placing_;
  Unifier& unifier_;
  Operators& operators_;
  Expressions& expressions_;
  Indexing& indexing_;
};

}  // namespace tenc::frontend
