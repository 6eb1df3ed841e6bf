// Expressions, each to a value.
#pragma once
#include "frontend/values/Values.h"

namespace tenc::frontend {

struct Boundary;
class Context;
class Scopes;
class UnknownNames;
class Names;
class Tensors;
class PlacingOps;
class Elementwise;
class Operators;
class Members;
class Indexing;
class StructLiterals;
class Formats;
class Statements;
class Branches;
class PlacedBlocks;
class Regions;
class Calls;
class Habits;

/// Evaluates expressions: what is known at compile time stays a number, the rest becomes ops.
class Expressions {
 public:
  Expressions(Context& context, Scopes& scopes, UnknownNames& unknownNames, Names& names, Tensors& tensors,
              PlacingOps& placing, Elementwise& elementwise, Operators& operators, Members& members, Indexing& indexing,
              StructLiterals& structLiterals, Formats& formats, Statements& statements, Branches& branches,
              PlacedBlocks& placedBlocks, Regions& regions, Calls& calls, Habits& habits)
      : context_(context),
        scopes_(scopes),
        unknownNames_(unknownNames),
        names_(names),
        tensors_(tensors),
        placing_(placing),
        elementwise_(elementwise),
        operators_(operators),
        members_(members),
        indexing_(indexing),
        structLiterals_(structLiterals),
        formats_(formats),
        statements_(statements),
        branches_(branches),
        placedBlocks_(placedBlocks),
        regions_(regions),
        calls_(calls),
        habits_(habits) {}

  /// The value of an expression; poison after an error, which is reported. `expected`: its declared type, from which
  /// literals take their dtypes.
  Val eval(const ast::Expr& e, const Ty* expected = nullptr);
  /// As `eval`, settled.
  Val evalSettled(const ast::Expr& e, const Ty* expected = nullptr);

 private:
  Val evalName(const ast::Expr& e);
  Val evalArray(const ast::Expr& e, const Ty* expected);
  Val evalUnary(const ast::Expr& e, const Ty* expected);
  Val evalBinary(const ast::Expr& e, const Ty* expected);
  Val shortCircuit(const ast::Expr& e, const Val& left);
  /// The same where the right side assigns variables, which have other values behind it if it was evaluated.
  Val shortCircuitAssigning(const ast::Expr& e, const Val& left, const Boundary& assigned,
                            const std::vector<Val>& before);
  Val evalMember(const ast::Expr& e);
  Val evalLambda(const ast::Expr& e);
  Val evalBlockExpr(const ast::Expr& e, const Ty* expected);
  Val evalIf(const ast::Expr& e, const Ty* expected);

  Context& context_;
  Scopes& scopes_;
  UnknownNames& unknownNames_;
  Names& names_;
  Tensors& tensors_;
  PlacingOps& placing_;
  Elementwise& elementwise_;
  Operators& operators_;
  Members& members_;
  Indexing& indexing_;
  StructLiterals& structLiterals_;
  Formats& formats_;
  Statements& statements_;
  Branches& branches_;
  PlacedBlocks& placedBlocks_;
  Regions& regions_;
  Calls& calls_;
  Habits& habits_;
};

}  // namespace tenc::frontend
