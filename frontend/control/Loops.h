// Loops: counted, `while`, and unrolled ones.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "frontend/control/Flow.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Scopes;
class Evaluator;
class Tensors;
class PlacingOps;
class Expressions;
class Statements;
class Bindings;
class Branches;
class Continuations;
class Regions;

using TripIndex = std::function<Val(ir::Value* i)>;

/// Counted loops as `for`, those that may be left early and `while` as `while`, compile-time sequences unrolled.
class Loops {
 public:
  Loops(Context& context, Scopes& scopes, Evaluator& evaluator, Tensors& tensors, PlacingOps& placing,
        Expressions& expressions, Statements& statements, Bindings& bindings, Branches& branches,
        Continuations& continuations, Regions& regions)
      : context_(context),
        scopes_(scopes),
        evaluator_(evaluator),
        tensors_(tensors),
        placing_(placing),
        expressions_(expressions),
        statements_(statements),
        bindings_(bindings),
        branches_(branches),
        continuations_(continuations),
        regions_(regions) {}

  /// Over a range, the rows of a tensor, or a list, which is unrolled.
  Flow lowerFor(const ast::Stmt& s);
  /// Over a condition that is checked before every trip.
  Flow lowerWhile(const ast::Stmt& s);

 private:
  Val sequenceOf(const ast::Stmt& s);
  /// What a counted loop counts, of rank 0.
  struct Range {
    ir::Value *lo = nullptr, *hi = nullptr, *by = nullptr;  ///< i64
    ir::Value* written = nullptr;                           ///< `hi` as u64 where it may be beyond i64, and `hi` less
  };
  Flow countedLoop(const ast::Stmt& s, const Val& over);
  /// The integer of rank 0 that a bound or a step is; null after an error.
  ir::Value* boundOf(const Val& v);
  /// A bound as i64, the largest where it is beyond that.
  ir::Value* within(ir::Value* bound);
  /// Stops what would count beyond the largest i64, while compiling where that is known; false after an error.
  bool checkBounds(const ast::Stmt& s, const Val& over, ir::Value* lo, ir::Value* hi);
  bool checkStep(const Val& written, ir::Value* by);
  ir::Value* beyond(ir::Value* bound);  ///< whether a u64 is no i64
  /// Stops the run where `bad` holds; `pieces` stand around the value in the message.
  void stopIf(ir::Value* bad, std::vector<std::string> pieces, ir::Value* value);
  Flow rangeLoop(const ast::Stmt& s, const Range& range, const TripIndex& index);
  /// A loop as `while` (ExitingLoop.cpp).
  class Exiting;
  /// `range` is null for a `while`.
  Flow exitingLoop(const ast::Stmt& s, const Range* range, const TripIndex& index);
  Flow unrolled(const ast::Stmt& s, const std::vector<Val>& trips);
  Flow unrolledFrom(const ast::Stmt& s, std::span<const Val> trips, const Boundary& whole);
  /// The body once, up to its own boundary; `index` is bound to the loop's pattern.
  Flow lowerTrip(const ast::Stmt& s, const Val* index, const Boundary& carried);

  Context& context_;
  Scopes& scopes_;
  Evaluator& evaluator_;
  Tensors& tensors_;
  PlacingOps& placing_;
  Expressions& expressions_;
  Statements& statements_;
  Bindings& bindings_;
  Branches& branches_;
  Continuations& continuations_;
  Regions& regions_;
};

}  // namespace tenc::frontend
