// Short names of the forms of calls, for the tables alone.
#pragma once
#include "syntax/ForeignCalls.h"

namespace tenc::syntax {

inline constexpr auto kPrefixed = ForeignCall::Form::Prefixed;
inline constexpr auto kTorch = ForeignCall::Form::Torch;
inline constexpr auto kNumPy = ForeignCall::Form::NumPy;
inline constexpr auto kPython = ForeignCall::Form::Python;
inline constexpr auto kBuiltin = ForeignCall::Form::Builtin;
inline constexpr auto kMethod = ForeignCall::Form::Method;
inline constexpr auto kArray = ForeignCall::Form::Array;
inline constexpr auto kLayer = ForeignCall::Form::Layer;
inline constexpr auto kDraws = ForeignCall::Form::Draws;

}  // namespace tenc::syntax
