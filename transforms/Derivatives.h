// Derivatives of functions, as functions: forward mode (jvp) and reverse mode (vjp). They work on IR that is not placed
// yet; what they make is lowered, placed and fused like written code.
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "transforms/Walk.h"

namespace tenc::transforms {

/// Forward mode: a function of f's arguments and of the tangents of the active ones, that gives f's results and the
/// tangents of those that are active.
struct ForwardFunc {
  ir::Func* func = nullptr;
  std::vector<bool> results;  ///< which results have a tangent
};

/// Reverse mode, first half: `forward` takes f's arguments and gives f's results and what the second half keeps of its
/// way (residuals); `linear` takes the residuals and tangents of the active arguments, and gives those of the active
/// results. It is linear in them, and only its transpose runs.
struct LinearizedFunc {
  /// Where a residual comes from: argument or result `index` of `forward`.
  struct Residual {
    bool argument = false;
    size_t index = 0;
  };
  ir::Func* forward = nullptr;
  ir::Func* linear = nullptr;
  std::vector<Residual> residuals;
  std::vector<bool> results;  ///< which of f's results have a tangent
};

/// Derived functions, made once for each function and choice of arguments: equal layers share one.
class DerivedFuncs {
 public:
  /// Nothing where f cannot be differentiated; `obstacle` says why. `arguments`: those that have a tangent.
  const ForwardFunc* forward(ir::Func& f, const std::vector<bool>& arguments, Obstacle& obstacle);
  const LinearizedFunc* linearized(ir::Func& f, const std::vector<bool>& arguments, Obstacle& obstacle);
  /// The transpose of a linear function, whose first `residuals` arguments are none of its tangents: takes those and
  /// the cotangents of the results named by `results`, and gives those of all other arguments.
  ir::Func* transposed(ir::Func& linear, size_t residuals, const std::vector<bool>& results);
  Activity::Known& activity() { return activity_; }

 private:
  using Key = std::pair<const ir::Func*, std::vector<bool>>;
  std::map<Key, ForwardFunc> forward_;
  std::map<Key, LinearizedFunc> linearized_;
  std::map<Key, ir::Func*> transposed_;
  Activity::Known activity_;
};

}  // namespace tenc::transforms
