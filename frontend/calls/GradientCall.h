// What a call of `grad(f)` and its kin differentiates, and by which of its arguments.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/calls/Parameters.h"
#include "frontend/calls/Transforms.h"

namespace tenc::frontend {

enum class DerivativeForm : uint8_t { Grad, ValueAndGrad, Vjp, Jvp };

constexpr std::string_view nameOf(DerivativeForm f) {
  constexpr std::string_view kNames[] = {"grad", "value_and_grad", "vjp", "jvp"};
  return kNames[static_cast<size_t>(f)];
}

/// Integers, bools and `state` have no derivative: their gradient is 0.
inline bool isDifferentiable(const ir::Type& t, bool state) { return ir::isFloat(t.dtype) && !state; }
inline bool isDifferentiable(const Val& leaf, bool state) {
  return leaf.is(Val::Kind::Tensor) && isDifferentiable(leaf.tensor->type, state);
}

/// What a function gives, for messages.
inline std::string describeResult(const Val& v) { return v.is(Val::Kind::Unit) ? "nothing" : describe(v); }

/// What one call differentiates, and by what.
struct GradientCall {
  DerivativeForm form = DerivativeForm::Grad;
  Parameters::List f;              ///< what is differentiated
  std::string written;             ///< that, as far as it has a name
  bool again = false;              ///< whether it is a derivative itself
  std::vector<size_t> by;          ///< arguments, in the order of `wrt`
  bool tuple = false;              ///< `wrt` is a tuple, and so is the gradient
  bool aux = false;                ///< f gives `(loss, more)`
  std::optional<Val> direction;    ///< of vjp and jvp
  std::vector<std::string> names;  ///< of the arguments, for messages
  Span span;                       ///< of the call
  std::vector<Val> values;         ///< the arguments, without the direction
  std::vector<std::string> given;  ///< the names of those that are given by name, "" of the others

  /// What is differentiated, for messages: `f`, or `grad(f)`.
  std::string function() const { return written.empty() ? "the function" : "`" + written + "`"; }
  bool isBy(size_t argument) const { return std::find(by.begin(), by.end(), argument) != by.end(); }
};

/// Finds what `wrt` names among the arguments: E0404 where that is nothing with floats, E0204 where the direction is
/// missing; nothing after an error.
std::optional<GradientCall> readGradientCall(const TransformTools& tools, const FnValue& f, const CallArgs& args,
                                             DerivativeForm form);

}  // namespace tenc::frontend
