// Sines and cosines of floats of many turns, as CUDA C++.
#pragma once
#include <string_view>

namespace tenc::codegen::cuda {

/// `float tenc_far_sine(float x, int quarters)`: the sine of `x`, whose magnitude is at least 2^-7, and of what is so
/// many quarters of a turn further on, rounded once but for one result in some 2^28; NaN for infinities and NaN.
extern const std::string_view kFarSine;

}  // namespace tenc::codegen::cuda
