// The order in which NumPy's functions and methods, and those of JAX, take what is no operand.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace tenc::syntax {

struct NumPyParameters {
  size_t operands = 0;                       ///< with the receiver of a method
  std::span<const std::string_view> behind;  ///< what the parameters behind these are called, in order
  bool flattens = false;                     ///< without an axis, which it has unless it is told that there is none
};

/// Of a function whose arguments behind the operands TL, or a row of the tables, would take in another order; no names
/// for others. A function of elements has `out` there.
NumPyParameters numPyParameters(std::string_view function);

}  // namespace tenc::syntax
