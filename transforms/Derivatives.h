// Derivatives of functions, as functions: forward mode (jvp) and reverse mode (vjp). They work on IR that is not placed
// yet; what they make is lowered, placed and fused like written code.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
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
/// results. It is linear in them and in no module: only its transpose runs.
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
  bool keepsRule = false;     ///< a call of `forward` has the rule of its own that the call of f has
};

/// The transpose of a linear function.
struct TransposedFunc {
  ir::Func* func = nullptr;
  std::vector<bool> reached;  ///< which of the linear function's tangents a cotangent comes to; of the others it is 0
  std::vector<bool> numbers;  ///< which cotangents it gives as the number that all their elements are
  std::vector<bool> sums;     ///< for which of them it takes a cotangent, behind those of the results, that it adds to
};

/// Derived functions, made once for each function and choice of arguments: equal layers share one.
class DerivedFuncs {
 public:
  /// Nothing where f cannot be differentiated; `obstacle` says why. `arguments`: those that have a tangent.
  const ForwardFunc* forward(ir::Func& f, const std::vector<bool>& arguments, Obstacle& obstacle);
  const LinearizedFunc* linearized(ir::Func& f, const std::vector<bool>& arguments, Obstacle& obstacle);
  /// The same of a call that keeps its operands alone (`kRecomputed`): `forward` is f, and `linear` computes again what
  /// it reads.
  const LinearizedFunc* recomputed(ir::Func& f, const std::vector<bool>& arguments, Obstacle& obstacle);
  /// The same of a call with a rule of its own (`kRuleForward`). Its linear function is empty.
  const LinearizedFunc& ruled(const ir::Op& call, const std::vector<bool>& arguments);
  /// The transpose of a linear function, whose first `residuals` arguments are none of its tangents: takes those and
  /// the cotangents of the results named by `results`, and gives those of all other arguments. `sums`: to which of
  /// them it may add what there is already.
  const TransposedFunc& transposed(ir::Func& linear, size_t residuals, const std::vector<bool>& results,
                                   std::vector<bool> sums = {});
  /// A linear function of f, in no module, which calls can name.
  ir::Func& addLinear(const ir::Func& f);
  /// The linear function that a call in another one names.
  ir::Func& linear(const std::string& name) const { return *linears_.at(name); }
  Activity::Known& activity() { return activity_; }
  /// The program has said where something lives: only then derivatives ask where numbers live, which live anywhere.
  void notePlaces() { placed_ = true; }
  bool arePlaced() const { return placed_; }
  /// How many ops have been differentiated.
  size_t& visited() { return visited_; }
  /// Functions that are taken out of the module again.
  void forget(const ir::Func& gone);

 private:
  using Key = std::pair<const ir::Func*, std::vector<bool>>;
  /// What an empty linear function stands for.
  struct Rule {
    ir::Func* backward = nullptr;
    std::vector<ir::Type> results;  ///< of the function that the rule is of
    std::vector<bool> arguments;    ///< those that have a tangent
    size_t saved = 0;
  };
  /// Has the linear function run where f does, whatever the places of its arguments are: one that is on f's own device
  /// says so, and is taken for that alone where it has to be.
  void runWhere(const ir::Func& f, LinearizedFunc& made) const;
  /// The function that `forward` of a rule is without what it saves.
  ir::Func& resultsOf(const ir::Func& forward, size_t results);
  static void transposeRule(const Rule& rule, const ir::Func& linear, size_t residuals,
                            const std::vector<bool>& results, ir::Func& made);

  std::map<Key, ForwardFunc> forward_;
  std::map<Key, LinearizedFunc> linearized_, recomputed_, ruled_;
  std::map<const ir::Func*, Rule> rules_;  ///< by linear function
  int64_t serial_ = 0;                     ///< of linear functions and of barriers
  std::map<Key, TransposedFunc> transposed_;
  std::map<std::string, std::unique_ptr<ir::Func>> linears_;
  Activity::Known activity_;
  bool placed_ = false;
  size_t visited_ = 0;
};

// ---- of functions in no module, which are not kept

/// Forgets a function when it ends: another one may stand in its memory later.
class [[nodiscard]] ForgetAtEnd {
 public:
  ForgetAtEnd(DerivedFuncs& derived, const ir::Func& f) : derived_(derived), f_(f) {}
  ForgetAtEnd(const ForgetAtEnd&) = delete;
  ForgetAtEnd& operator=(const ForgetAtEnd&) = delete;
  ~ForgetAtEnd() { derived_.forget(f_); }

 private:
  DerivedFuncs& derived_;
  const ir::Func& f_;
};

/// Fills `made` with forward mode of `f`; which results have a tangent, or nothing after an obstacle.
std::optional<std::vector<bool>> forwardMode(const ir::Func& f, const std::vector<bool>& arguments, ir::Func& made,
                                             DerivedFuncs& derived, Obstacle& obstacle);
/// Fills the two functions of `made`. False after an obstacle.
bool linearize(const ir::Func& f, const std::vector<bool>& arguments, LinearizedFunc& made, DerivedFuncs& derived,
               Obstacle& obstacle);
/// Fills `made` with the transpose; which tangents are reached. `sums` as in `TransposedFunc`; empty for none.
std::vector<bool> transpose(const ir::Func& linear, size_t residuals, const std::vector<bool>& results,
                            const std::vector<bool>& sums, ir::Func& made, DerivedFuncs& derived);

/// f with its vector-Jacobian product: takes f's arguments and the cotangents of the results named by `results`, or
/// with `ones` those are 1; gives f's results and the cotangents of the arguments named by `arguments`.
struct Pullback {
  std::unique_ptr<ir::Func> func;
  std::vector<bool> active;   ///< which results depend on the arguments by a differentiable path
  std::vector<bool> reached;  ///< which arguments get a cotangent; of the others it is 0
};
std::optional<Pullback> pullback(const ir::Func& f, const std::vector<bool>& arguments,
                                 const std::vector<bool>& results, bool ones, DerivedFuncs& derived,
                                 Obstacle& obstacle);

/// f with its Jacobian-vector product: takes f's arguments and tangents of those named by `arguments`; gives f's
/// results and the tangents of those named by `active`.
struct Pushforward {
  std::unique_ptr<ir::Func> func;
  std::vector<bool> active;
};
std::optional<Pushforward> pushforward(const ir::Func& f, const std::vector<bool>& arguments, DerivedFuncs& derived,
                                       Obstacle& obstacle);

}  // namespace tenc::transforms
