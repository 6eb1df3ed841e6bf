// `if`, with and without exits.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "frontend/control/Flow.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Scopes;
class UnknownNames;
class Expressions;
class Statements;
class Continuations;
class PlacingOps;
class Regions;

/// Lowers `if`: the branch that is known, or both.
class Branches {
 public:
  Branches(Context& context, Scopes& scopes, UnknownNames& unknownNames, Expressions& expressions,
           Statements& statements, Continuations& continuations, Regions& regions, PlacingOps& placing)
      : context_(context),
        scopes_(scopes),
        unknownNames_(unknownNames),
        expressions_(expressions),
        statements_(statements),
        continuations_(continuations),
        regions_(regions),
        placing_(placing) {}

  /// `if` as a statement.
  Flow lowerIf(const ast::Expr& e, size_t which, const Tail& tail, const Ty* expected);
  /// What makes a condition of a number.
  void compared(Diagnostics::Builder& d, const ast::Expr& number);
  /// One bool, known or of the run; E0203 for anything else. `what`: "if" or "while", for messages.
  Val conditionOf(const ast::Expr& e, std::string_view what);

 private:
  /// An `if` with exits: what follows is part of each branch that comes to it while it is few, else flags say at run
  /// time whether to go on.
  Flow lowerExitingIf(const ast::Expr& e, size_t which, ir::Value* condition, std::span<const Span> assigning,
                      const Tail& tail, const Ty* expected);
  /// What tells an `if` on devices from others, in each instance of a function.
  std::string decisionKey(Span condition);

  Context& context_;
  Scopes& scopes_;
  UnknownNames& unknownNames_;
  Expressions& expressions_;
  Statements& statements_;
  Continuations& continuations_;
  Regions& regions_;
  PlacingOps& placing_;
  std::map<std::string, int> decisions_;  ///< how often each `if` on devices has been met: unrolled loops come again
};

}  // namespace tenc::frontend
