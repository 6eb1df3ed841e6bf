// Blocks and statements in order.
#pragma once
#include <vector>

#include "frontend/Body.h"
#include "frontend/control/Flow.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Scopes;
class Tensors;
class Types;
class Expressions;
class Formats;
class Bindings;
class Assignments;
class Branches;
class Continuations;
class PlacedBlocks;
class Loops;
class UnusedValues;

/// Lowers statements one after the other.
class Statements {
 public:
  Statements(Context& context, Scopes& scopes, Tensors& tensors, Types& types, Expressions& expressions,
             Formats& formats, Bindings& bindings, Assignments& assignments, Branches& branches,
             Continuations& continuations, PlacedBlocks& placedBlocks, Loops& loops, UnusedValues& unused)
      : context_(context),
        scopes_(scopes),
        tensors_(tensors),
        types_(types),
        expressions_(expressions),
        formats_(formats),
        bindings_(bindings),
        assignments_(assignments),
        branches_(branches),
        continuations_(continuations),
        placedBlocks_(placedBlocks),
        loops_(loops),
        unused_(unused) {}

  /// A block with names of its own. `tail`: what follows it up to the boundary; `expected`: declared type of its value.
  Flow lowerBlock(const ast::Block& block, const Tail* tail, const Ty* expected);
  /// Statements in order, the last of a block.
  Flow lowerFrom(StatementList list, const Tail* tail, const Ty* expected);
  /// One statement, under its annotations. `last`: its value may be that of the block.
  Flow lowerStatement(const ast::Stmt& s, bool last, const Tail& tail, const Ty* expected);

 private:
  /// Statements with a boundary of their own: flags say whether they have left.
  Flow lowerApart(StatementList list);
  std::vector<const ast::Expr*> partsOf(const ast::Stmt& s);
  Flow lowerPlain(const ast::Stmt& s, bool last, const Tail& tail, const Ty* expected);
  /// A statement one of whose operands, an `if` or a block, may leave: that operand first, then the statement with its
  /// value, in every branch that comes to it.
  Flow lowerAround(const ast::Stmt& s, const ast::Expr& part, const std::vector<const ast::Expr*>& before, bool last,
                   const Tail& tail, const Ty* expected);
  Flow lowerList(StatementList list, const Tail* tail, const Ty* expected);
  /// `holds` becomes false when an assertion over what is known at compile time has failed.
  Outcome lowerAssert(const ast::Stmt& s, bool& holds);
  /// The sides of a comparison that an assertion in a test shows, evaluated; empty where it shows none.
  std::vector<Val> compared(const ast::Stmt& s, Evaluated& evaluated);

  Context& context_;
  Scopes& scopes_;
  Tensors& tensors_;
  Types& types_;
  Expressions& expressions_;
  Formats& formats_;
  Bindings& bindings_;
  Assignments& assignments_;
  Branches& branches_;
  Continuations& continuations_;
  PlacedBlocks& placedBlocks_;
  Loops& loops_;
  UnusedValues& unused_;
};

}  // namespace tenc::frontend
