// Assignments as functional updates.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/control/Flow.h"
#include "frontend/expressions/Indexing.h"
#include "frontend/habits/OtherMeanings.h"
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

/// Gives variables, their fields and their elements new values.
///
/// One order, Python's: `target = value` evaluates the value, then the indices of the target from left to right, each
/// once, and puts the value into the variable as it is by then. `target += value` reads the target first.
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
  std::string asWritten(const Binding& binding, const std::string& name) const;
  Diagnostics::Builder notVariable(const ast::Expr& name);
  bool isBuiltIn(const ast::Expr& name) const;
  bool refuseBuiltins(const ast::Expr& target);
  /// Another name of what the variable would hold in Python, where one is changed in place and the other read.
  std::optional<std::string> aliasOf(const Binding& binding, const ast::Expr& name) const;
  /// What changing the variable would do otherwise in Python.
  std::optional<OtherMeaning> otherIn(const Binding& binding, const ast::Expr& name) const;
  /// The `let` that binds the name, alone or with others; invalid for what is bound otherwise.
  Span keywordOf(const Binding& binding) const;
  /// Makes a variable of the parameter of the function at hand; said once for each.
  std::optional<Edit> asVariable(const Binding& binding, const ast::Expr& name) const;
  /// The same of the variable of a loop.
  std::optional<Help> loopVariable(const Binding& binding, const ast::Expr& name);
  /// One `.field` or `[index]` of a target: the place of an element in a tree, or the subscripts of a tensor.
  struct Access {
    Span span;
    size_t element = 0;
    std::optional<ReadIndex> index;
  };
  /// What is assigned: a part of a variable, its indices evaluated.
  struct Place {
    const ast::Expr* root = nullptr;
    std::vector<Access> path;  ///< from the variable inwards
    Val variable;              ///< its value when the place was read
    Val part;                  ///< what the place held then; read for a compound assignment alone
  };

  bool isRounded(const ast::Stmt& s, const Ty& variable, const Val& value);
  void warnEmpty(const ast::Stmt& s, const Val& value);
  Outcome assignTo(const ast::Expr& target, const Val& value, const ast::Stmt& s);
  /// The variable that `target` is a part of; else an error, or what has been reported.
  Outcome variableOf(const ast::Expr& target, bool plain, const ast::Expr*& root, const Val& value = {});
  /// Evaluates the indices of `target`, part of the variable `root`; with `reads` what it holds, too.
  std::optional<Place> placeOf(const ast::Expr& target, const ast::Expr& root, bool reads);
  std::optional<Access> accessOf(const Val& now, const ast::Expr& access);
  Outcome store(const Place& place, const ast::Expr& target, const Val& value, const ast::Stmt& s);
  /// `now` with the part from access `k` on replaced; `before` is the same part when the place was read.
  Val replaced(const Val& now, const Val& before, const Place& place, size_t k, const ast::Expr& target,
               const Val& value, const ast::Stmt& s);
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
