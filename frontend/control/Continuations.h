// Exits under run-time conditions.
#pragma once
#include <vector>

#include "frontend/control/Flow.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class PlacingOps;
class Statements;
class Regions;

/// What follows statements that may have left: in structured form, the rest up to a boundary (function, loop body,
/// placed block) becomes part of the other branch. Where a boundary can be left in several ways, run-time flags say
/// which it was.
class Continuations {
 public:
  Continuations(Context& context, Statements& statements, Regions& regions, PlacingOps& placing)
      : context_(context), statements_(statements), regions_(regions), placing_(placing) {}

  /// An exit; E0108 inside an expression.
  Flow leave(Exit exit, Val value, Span span);
  /// Goes on from `f` up to the boundary.
  Flow atBoundary(Flow f, const Tail& tail, const Ty* expected);
  /// Goes on after statements that may have left: exits where the flags say so, the rest where not.
  Flow resume(const Flow& flow, const Tail& tail, const Ty* expected);
  /// The same with `rest` in place of what follows; `takesContinue`: `continue` ends here.
  Flow resumeWith(const Flow& flow, bool takesContinue, const FlowFn& rest);
  /// Both branches up to the boundary, and one of them at run time.
  Flow mergeAtBoundary(ir::Value* condition, Span span, const FlowFn& yes, const FlowFn& no);
  /// How a branch ended, as values that an `if` can merge: variables, value, flags, result.
  std::vector<Val> encode(const Flow& f);
  /// The reverse of `encode`.
  Flow decode(const std::vector<Val>& values);

 private:
  Flow continueWith(const Tail* tail, Flow flow, const Ty* expected);

  Context& context_;
  Statements& statements_;
  Regions& regions_;
  PlacingOps& placing_;
};

}  // namespace tenc::frontend
