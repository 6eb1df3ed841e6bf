// How the window of a convolution moves along one spatial dim, and which of its taps meet the input.
#pragma once
#include <cstdint>

#include "ir/Module.h"
#include "ir/TargetTraits.h"

namespace tenc::ir {

/// Tap t of the window at place p meets element stride * p + dilation * t - lo of `extent` elements. Outside of them is
/// padding, which adds nothing, not even where the weight is infinite.
struct WindowDim {
  int64_t stride = 1, dilation = 1, lo = 0, extent = 0, taps = 1, places = 0;

  /// The taps [firstTap(p), endTap(p)) at place p meet elements; both fall as p grows.
  int64_t firstTap(int64_t place) const;
  int64_t endTap(int64_t place) const;
  /// The places [firstPlace(t), endPlace(t)) are those where tap t meets an element.
  int64_t firstPlace(int64_t tap) const;
  int64_t endPlace(int64_t tap) const;
  /// The places [firstWhole(), endWhole()) have all taps.
  int64_t firstWhole() const { return firstPlace(0); }
  int64_t endWhole() const;
  bool whole() const { return firstWhole() == 0 && endWhole() == places; }
};

/// Where the dims of a convolution's weights are: [O, C, window...] as they are written, [C, window..., O] with attr
/// `out_last`, and then, with a dim more, in blocks of output channels: [O / block, C, window..., block].
struct WeightDims {
  int64_t outs = 0, depth = 0;     ///< output channels; channels in that each of them sums over
  size_t channel = 0, window = 0;  ///< the dim of those, and the first of the window
  int64_t block = 1;               ///< output channels along the last dim; the others are along the first
  WeightDims(const Dims& weights, size_t windows, bool outLast);
  /// Elements from the first output channel to channel `out`.
  int64_t offsetOf(int64_t out, const Dims& strides) const {
    return out / block * strides.front() + out % block * strides.back();
  }
};
WeightDims weightDims(const Op& conv);

/// Spatial dim `i` of a `conv`.
WindowDim windowDim(const Op& conv, size_t i);

/// Whether a convolution of these windows, with `depth` channels in and `outs` out for each group, is one for the
/// target's kernels for few channels, which keep all of a column's weights and a row of the input in registers.
bool isDepthwise(const std::vector<WindowDim>& dims, int64_t depth, int64_t outs, const TargetTraits& traits);

}  // namespace tenc::ir
