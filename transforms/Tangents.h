// Derivatives of ops, one rule each. A rule says how the tangents of an op's results follow from those of its operands,
// in two kinds of ops: those on primal values, which compute coefficients, and those that are linear in tangents. Both
// directions follow from it: forward mode runs both kinds as they stand, reverse mode runs the first, keeps what the
// second reads of it, and transposes the second (Radul, Paszke, Frostig, Johnson, Maclaurin 2023, "You Only Linearize
// Once: Tangents Transpose to Gradients").
#pragma once
#include <string>
#include <vector>

#include "ir/build/Compose.h"

namespace tenc::transforms {

/// What a rule sees of one op, and where it makes ops.
struct TangentCall {
  using V = ir::Value*;

  const ir::Op& op;         ///< for its attributes and types; its operands are those of the original function
  ir::Compose& p;           ///< makes ops on primal values
  ir::Compose& t;           ///< makes ops on tangents: linear in each tangent, with primal values as coefficients
  std::vector<V> in, out;   ///< primal operands and results
  std::vector<V> tangents;  ///< of the operands; null: zero
  std::vector<V> results;   ///< set by the rule: tangents of the results; null: zero
  std::string refusal{};    ///< set by the rule where there is no derivative: of what, and why, as a noun phrase
  std::string remedy{};     ///< and what has one instead, as a sentence

  V x(size_t i = 0) const { return in[i]; }
  V y(size_t i = 0) const { return out[i]; }
  V dx(size_t i = 0) const { return tangents[i]; }
  /// A literal of operand 0's dtype.
  V number(double v) const { return p.literal(in[0], v); }
  /// Zeros like operand k, where they are used.
  V zeros(size_t k) const { return t.broadcastTo(t.literal(in[k], 0), in[k]->type.shape); }
  /// The tangent of operand k, zeros where there is none.
  V whole(size_t k) const { return tangents[k] != nullptr ? tangents[k] : zeros(k); }
  /// The same of what an op changes a part of: zeros where operand k lives, as the part may be a number. Where only the
  /// transpose is asked for, they live where they are used, and no primal value has to be kept for them.
  V changed(size_t k) const {
    if (tangents[k] != nullptr || &p.b != &t.b) return whole(k);
    return t.fillOn(in[k], in[k]->type.shape, t.literal(in[k], 0));
  }
  /// Adds a part to the tangent of a result; null adds nothing.
  void add(V part, size_t result = 0) {
    if (part != nullptr) results[result] = results[result] == nullptr ? part : t.add(results[result], part);
  }
  /// The op itself on other operands, with the same attributes.
  V same(ir::Compose& at, std::vector<V> operands) const;
};

using TangentRule = void (*)(TangentCall&);

/// The rule of an op with the trait `Differentiable`; null for the others. Of ops with regions and of calls, see
/// Walk.h.
TangentRule tangentRule(ir::OpKind kind);

}  // namespace tenc::transforms
