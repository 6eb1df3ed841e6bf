// Convolutions over (batch, channels, spatial dims...).
#include <algorithm>
#include <cmath>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/builtins/BuiltinWindows.h"
#include "frontend/expressions/Operands.h"
#include "frontend/values/Evaluator.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

using Windows = ir::Compose::Windows;

constexpr int64_t kMostExtent = int64_t{1} << 31;

struct Convolution {
  ir::Value* x = nullptr;
  ir::Value* weight = nullptr;
  ir::Value* bias = nullptr;
  int64_t groups = 1;
  bool unbatched = false;
};

/// Operands of one float dtype with `n` spatial dims; a missing batch dim is added.
std::optional<Convolution> readOperands(BuiltinCall& k, size_t n) {
  std::vector<Val> given = {k["x"], k["w"]};
  if (k.has("b")) given.push_back(k["b"]);
  auto t = commonDType(k.context, given, k.span, k.row.name);
  auto groups = k.integer("groups");
  if (!t || !groups) return std::nullopt;
  Convolution v;
  v.x = k.tensor("x", t), v.weight = k.tensor("w", t);
  v.groups = *groups;
  if (k.has("b")) v.bias = k.tensor("b", t);
  if (!v.x || !v.weight || (k.has("b") && !v.bias) || !k.checkFloat(v.x)) return std::nullopt;
  auto rank = static_cast<int64_t>(n + 2);
  if (v.x->type.rank() == rank - 1) v.unbatched = true, v.x = k.c.expandDims(v.x, 0);
  if (v.x->type.rank() != rank || v.weight->type.rank() != rank) {
    k.fail(Code::E0202, "`" + std::string(k.row.name) + "` takes tensors of " + std::to_string(rank) + " dims, not " +
                            ir::toString(v.x->type) + " and " + ir::toString(v.weight->type));
    return std::nullopt;
  }
  return v;
}

Val finish(BuiltinCall& k, const Convolution& v, ir::Value* y) {
  if (v.bias) {
    int64_t channels = y->type.shape[1];
    if (v.bias->type.shape != Dims{channels}) {
      return k.fail(Code::E0202,
                    "a bias for " + std::to_string(channels) + " channels cannot be " + ir::toString(v.bias->type));
    }
    Dims shape(y->type.shape.size(), 1);
    shape[1] = channels;
    y = k.c.add(y, k.c.reshape(v.bias, shape));
  }
  return k.result(v.unbatched ? k.c.squeeze(y, 0) : y);
}

/// `taken`: the channels that the weights are for.
Val misfit(BuiltinCall& k, const Convolution& v, int64_t taken) {
  const std::string groups = std::to_string(v.groups) + (v.groups == 1 ? " group" : " groups");
  const int64_t channels = v.x->type.shape[1];
  std::string why = ": the numbers of channels are not multiples of the groups";
  if (channels != taken) {
    why = ": the input has " + std::to_string(channels) + " channels on axis 1, the weights are for " +
          std::to_string(taken);
  }
  return k.fail(Code::E0202, "`" + std::string(k.row.name) + "` of " + ir::toString(v.x->type) + " and weights " +
                                 ir::toString(v.weight->type) + " in " + groups + why);
}

template <size_t N>
Val convolution(BuiltinCall& k) {
  auto v = readOperands(k, N);
  if (!v) return k.lost();
  const Dims &xs = v->x->type.shape, &ws = v->weight->type.shape;
  if (v->groups < 1 || xs[1] % v->groups || ws[0] % v->groups || ws[1] != xs[1] / v->groups) {
    const bool possible = v->groups >= 1 && v->groups <= xs[1];
    return misfit(k, *v, possible ? ws[1] * v->groups : xs[1]);
  }
  Windows w;
  w.size.assign(ws.begin() + 2, ws.end());
  if (!readWindows(k, v->x->type, w)) return k.lost();
  return finish(k, *v, k.c.convolution(v->x, v->weight, w, v->groups));
}

template <size_t N>
Val convolutionTranspose(BuiltinCall& k) {
  auto v = readOperands(k, N);
  if (!v) return k.lost();
  const Dims &xs = v->x->type.shape, &ws = v->weight->type.shape;
  if (v->groups < 1 || xs[1] != ws[0] || xs[1] % v->groups) return misfit(k, *v, ws[0]);
  Windows w;
  w.size.assign(ws.begin() + 2, ws.end());
  auto stride = k.perDim("stride", N), dilation = k.perDim("dilation", N), extra = k.perDim("output_padding", N);
  auto padding = k.pairs(k.value("padding"), N, true);
  if (!stride || !dilation || !extra || !padding) return k.lost();
  w.stride = *stride, w.dilation = *dilation;
  if (!k.inReach(w.size, "window", k.span)) return k.lost();
  for (size_t i = 0; i < N; ++i) {
    if (xs[2 + i] > kMostExtent)
      return k.fail(Code::E0208, "a length of " + std::to_string(xs[2 + i]) + " is too large");
    auto [lo, hi] = (*padding)[i];
    w.lo.push_back(lo), w.hi.push_back(hi);
    int64_t length = (xs[2 + i] - 1) * w.stride[i] - lo - hi + w.dilation[i] * (w.size[i] - 1) + 1 + (*extra)[i];
    if (w.stride[i] < 1 || w.dilation[i] < 1 || lo < 0 || hi < 0 || (*extra)[i] < 0 || length < 1) {
      return k.fail(Code::E0204, "`stride`, `padding`, `dilation` and `output_padding` leave nothing of " +
                                     ir::toString(v->x->type));
    }
  }
  return finish(k, *v, k.c.convolutionTranspose(v->x, v->weight, w, *extra, v->groups));
}

#define TENC_CONV "(x, w, b?; stride: 1, padding: 0, dilation: 1, groups: 1)"
#define TENC_CONV_T "(x, w, b?; stride: 1, padding: 0, output_padding: 0, dilation: 1, groups: 1)"
constexpr BuiltinRow kRows[] = {
    {"conv1d" TENC_CONV,
     "Convolution of (n, c, l) with weights (out, c / groups, window). Padding adds nothing, whatever the weight.",
     convolution<1>},
    {"conv2d" TENC_CONV,
     "Convolution of (n, c, h, w) with weights (out, c / groups, window...). Padding adds nothing, whatever the "
     "weight.",
     convolution<2>},
    {"conv3d" TENC_CONV,
     "Convolution of (n, c, d, h, w) with weights (out, c / groups, window...). Padding adds nothing, whatever the "
     "weight.",
     convolution<3>},
    {"conv_transpose1d" TENC_CONV_T, "The adjoint of conv1d, weights (in, out / groups, window).",
     convolutionTranspose<1>},
    {"conv_transpose2d" TENC_CONV_T, "The adjoint of conv2d, weights (in, out / groups, window...).",
     convolutionTranspose<2>},
    {"conv_transpose3d" TENC_CONV_T, "The adjoint of conv3d, weights (in, out / groups, window...).",
     convolutionTranspose<3>},
};
#undef TENC_CONV
#undef TENC_CONV_T

}  // namespace

std::span<const BuiltinRow> convolutionBuiltins() { return kRows; }

}  // namespace tenc::frontend
