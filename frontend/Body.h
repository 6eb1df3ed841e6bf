// What surrounds the code that is lowered now.
#pragma once
#include <map>

#include "frontend/values/Values.h"

namespace tenc::frontend {

struct Boundary;
struct Training;

/// Operands of a statement that were evaluated before it, as they may leave it.
using Evaluated = std::map<const ast::Expr*, Val>;

/// Where ops are made, and what stands around them: within one body, which is the script, a case or an instance of a
/// function. Changed by `Scoped` only.
struct Body {
  ir::Builder* builder = nullptr;
  Boundary* boundary = nullptr;  ///< takes the exits of the statements at hand
  int regionDepth = 0;           ///< of run-time loops and branches around
  int outerRegions = 0;          ///< the same, around the calls that led to this body
  int staticLoops = 0;           ///< of unrolled loops around
  int tailCopies = 1;            ///< how often the code at hand is compiled for the branches around it
  const Evaluated* evaluated = nullptr;
  Training* training =
      nullptr;          ///< of calls that are made from here; null where layers are called for their results alone
  bool isTest = false;  ///< assertions say what they compare

  /// The body of what is called from this one.
  Body called(ir::Builder& inner, Boundary& whole) const {
    return {&inner, &whole, 0, outerRegions + regionDepth, 0, 1, nullptr, nullptr};
  }
};

}  // namespace tenc::frontend
