// The interpreter's own differentiation: a tape of operations on numbers. Each result of an operation on what is
// differentiated has a place on it, with the numbers that it was made of; a sweep over the tape gives adjoints or
// tangents. Sweeps compute with such numbers themselves, so that a derivative can be differentiated again. It shares
// nothing with transforms/, which it is there to check: rules for numbers alone, no rules for tensors.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "ir/Ops.h"
#include "ir/Type.h"

namespace tenc::interp {

/// A number and its place on the tape; nothing that is differentiated has had a part in one without.
struct Var {
  static constexpr int64_t kNone = -1;
  double v = 0;
  int64_t at = kNone;
  bool traced() const { return at != kNone; }
};

class Tape {
 public:
  /// Cotangents of the results of a call with a rule of its own, to those of its operands; nothing after a stop.
  using Pull = std::function<std::optional<std::vector<Var>>(const std::vector<Var>&)>;

  // ---- differentiations, which nest
  /// The place of the next number.
  int64_t begin() {
    ++level_;
    return static_cast<int64_t>(nodes_.size());
  }
  /// Before the sweep.
  void end() { --level_; }
  bool active() const { return level_ > 0; }
  /// Otherwise it may be cleared: no differentiation is left, and none whose sweep calls a rule that differentiates.
  bool inUse() const { return level_ > 0 || sweeps_ > 0; }
  void clear();
  /// A new place for what is differentiated by.
  Var input(Var x);
  /// The cotangents of the inputs, which stand from `begin` on, from those of results. Nothing after a stop.
  std::optional<std::vector<Var>> reverse(int64_t begin, size_t inputs,
                                          const std::vector<std::pair<int64_t, Var>>& results);
  /// The tangents of `results` from those of the inputs.
  std::vector<Var> forward(int64_t begin, const std::vector<Var>& inputs, const std::vector<int64_t>& results);

  // ---- operations
  /// An elementwise operation whose value is known.
  Var record(ir::OpKind kind, Var a, Var b, double value);
  /// One in f64.
  Var apply(ir::OpKind kind, Var a, Var b = {});
  Var add(Var a, Var b) { return apply(ir::OpKind::Add, a, b); }
  Var sub(Var a, Var b) { return apply(ir::OpKind::Sub, a, b); }
  Var mul(Var a, Var b) { return apply(ir::OpKind::Mul, a, b); }
  Var div(Var a, Var b) { return apply(ir::OpKind::Div, a, b); }
  /// `x`, whose cotangents (`back`), or whose tangents, are rounded on their way.
  Var rounding(Var x, ir::DType to, bool back);
  /// The results of a call with a rule: `values` as they were computed, which outer differentiations go through.
  std::vector<Var> ruled(const std::vector<Var>& values, std::vector<Var> operands, Pull pull);

 private:
  struct Node {
    ir::OpKind kind = ir::OpKind::Call;  ///< `Call` for inputs and results of calls with a rule: `a`, itself
    Var a, b;
    double value = 0;
    int32_t block = -1;
    std::optional<ir::DType> roundsBack{}, roundsAhead{};
  };
  /// A call with a rule.
  struct Block {
    int64_t first = 0, count = 0;
    int level = 0;
    std::vector<Var> operands;
    Pull pull;
  };
  Var push(Node n);
  /// The derivative by operand 0 or 1; nothing where it is 0 whatever the operands are.
  std::optional<Var> partial(int64_t at, int operand);
  std::optional<Var> partialOfOne(ir::OpKind kind, Var a, Var y);
  std::optional<Var> partialOfTwo(ir::OpKind kind, int operand, Var a, Var b, Var y);
  Var trigamma(Var x);

  std::vector<Node> nodes_;
  std::vector<Block> blocks_;
  int level_ = 0;
  int sweeps_ = 0;  ///< backwards, under way
};

}  // namespace tenc::interp
