#include "ir/Windows.h"

#include <algorithm>

namespace tenc::ir {
namespace {

int64_t floorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
int64_t ceilDiv(int64_t a, int64_t b) { return -floorDiv(-a, b); }

}  // namespace

int64_t WindowDim::firstTap(int64_t place) const {
  return std::clamp<int64_t>(ceilDiv(lo - place * stride, dilation), 0, taps);
}

int64_t WindowDim::endTap(int64_t place) const {
  return std::clamp(floorDiv(extent - 1 + lo - place * stride, dilation) + 1, firstTap(place), taps);
}

int64_t WindowDim::firstPlace(int64_t tap) const {
  return std::clamp<int64_t>(ceilDiv(lo - tap * dilation, stride), 0, places);
}

int64_t WindowDim::endPlace(int64_t tap) const {
  return std::clamp<int64_t>(ceilDiv(lo - tap * dilation + extent, stride), firstPlace(tap), places);
}

int64_t WindowDim::endWhole() const { return std::max(firstWhole(), endPlace(taps - 1)); }

WeightDims::WeightDims(const Dims& weights, size_t windows, bool outLast)
    : outs(outLast ? weights.back() : weights.front()), block(outLast ? weights.back() : 1) {
  const bool blocked = outLast && weights.size() == windows + 3;
  if (blocked) outs *= weights.front();
  channel = outLast && !blocked ? 0 : 1;
  window = channel + 1;
  depth = weights[channel];
}

WeightDims weightDims(const Op& conv) {
  return {conv.operand(1)->type.shape, conv.intsAttr("stride").size(), conv.boolAttr("out_last")};
}

WindowDim windowDim(const Op& conv, size_t i) {
  const Dims& lo = conv.intsAttr("lo");
  WindowDim w;
  w.stride = conv.intsAttr("stride")[i];
  w.dilation = conv.intsAttr("dilation")[i];
  w.lo = lo.empty() ? 0 : lo[i];
  w.extent = conv.operand(0)->type.shape[2 + i];
  w.taps = conv.operand(1)->type.shape[weightDims(conv).window + i];
  w.places = conv.result()->type.shape[2 + i];
  return w;
}

bool isDepthwise(const std::vector<WindowDim>& dims, int64_t depth, int64_t outs, const TargetTraits& traits) {
  return dims.size() == 2 && depth == 1 && outs <= traits.depthwise.outs && dims[0].taps <= traits.depthwise.rows &&
         dims[1].stride <= 2;
}

}  // namespace tenc::ir
