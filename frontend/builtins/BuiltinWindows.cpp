// Windows of convolutions and pooling.
#include "frontend/builtins/BuiltinWindows.h"

#include "frontend/Context.h"

namespace tenc::frontend {

using Windows = ir::Compose::Windows;

bool tooManyPlaces(BuiltinCall& k, const Windows& w) {
  constexpr int64_t kMostPlaces = 16384;
  const auto places = ir::elementCount(w.size);
  if (places && *places <= kMostPlaces) return false;
  k.context.notYet(k.span, "a window of " + ir::toString(w.size) + " (more than 16,384 elements)");
  return true;
}

bool readWindows(BuiltinCall& k, const ir::Type& x, Windows& w, bool ceilMode) {
  size_t n = w.size.size();
  auto stride = k.perDim("stride", n), dilation = k.perDim("dilation", n);
  if (!stride || !dilation) return false;
  w.stride = *stride, w.dilation = *dilation;
  auto bad = [&](const std::string& message) {
    k.context.error(Code::E0204, k.span, message);
    return false;
  };
  for (size_t i = 0; i < n; ++i) {
    if (w.size[i] < 1) return bad("a window has at least one element in each dim");
    if (w.stride[i] < 1 || w.dilation[i] < 1) return bad("`stride` and `dilation` must be positive");
  }
  if (!k.inReach(w.size, "window", k.span)) return false;
  w.lo.assign(n, 0), w.hi.assign(n, 0);
  const Val padding = k.value("padding");
  if (padding.is(Val::Kind::String)) {
    if (padding.text != "same" && padding.text != "valid") return bad("`padding` is integers, pairs, or \"same\"");
    for (size_t i = 0; padding.text == "same" && i < n; ++i) {
      if (w.stride[i] != 1) return bad("\"same\" padding needs a stride of 1");
      int64_t total = w.dilation[i] * (w.size[i] - 1);
      w.lo[i] = total / 2;
      w.hi[i] = total - total / 2;
    }
  } else {
    auto pairs = k.pairs(padding, n, true);
    if (!pairs) return false;
    for (size_t i = 0; i < n; ++i) w.lo[i] = (*pairs)[i].first, w.hi[i] = (*pairs)[i].second;
  }
  for (size_t i = 0; i < n; ++i) {
    if (w.lo[i] < 0 || w.hi[i] < 0) return bad("`padding` cannot be negative");
    int64_t length = x.shape[x.shape.size() - n + i] + w.lo[i] + w.hi[i];
    if (w.dilation[i] * (w.size[i] - 1) + 1 > length + (ceilMode ? w.stride[i] - 1 : 0)) {
      k.context.error(Code::E0202, k.span,
                      "a window of " + ir::toString(w.size) + " does not fit in " + ir::toString(x));
      return false;
    }
  }
  return true;
}

}  // namespace tenc::frontend
