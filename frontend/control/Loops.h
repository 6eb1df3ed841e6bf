// Loops: counted, `while`, and unrolled ones.
#pragma once
#include <functional>
#include <vector>

#include "frontend/control/Flow.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Scopes;
class Evaluator;
class Tensors;
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
  Loops(Context& context, Scopes& scopes, Evaluator& evaluator, Tensors& tensors, Expressions& expressions,
        Statements& statements, Bindings& bindings, Branches& branches, Continuations& continuations, Regions& regions)
      : context_(context),
        scopes_(scopes),
        evaluator_(evaluator),
        tensors_(tensors),
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
  Flow rangeLoop(const ast::Stmt& s, const std::vector<ir::Value*>& range, const TripIndex& index);
  /// A loop as `while` (ExitingLoop.cpp).
  class Exiting;
  /// `range` is null for a `while`, else lo, hi, step, i64 tensors.
  Flow exitingLoop(const ast::Stmt& s, const std::vector<ir::Value*>* range, const TripIndex& index);
  Flow unrolled(const ast::Stmt& s, const std::vector<Val>& trips);
  Flow unrolledFrom(const ast::Stmt& s, const std::vector<Val>& trips, size_t from, Boundary& whole);
  /// The body once, up to its own boundary; `index` is bound to the loop's pattern.
  Flow lowerTrip(const ast::Stmt& s, const Val* index, const Boundary& carried);

  Context& context_;
  Scopes& scopes_;
  Evaluator& evaluator_;
  Tensors& tensors_;
  Expressions& expressions_;
  Statements& statements_;
  Bindings& bindings_;
  Branches& branches_;
  Continuations& continuations_;
  Regions& regions_;
};

}  // namespace tenc::frontend
