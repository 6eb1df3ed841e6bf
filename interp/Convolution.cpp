// Convolution by its definition: the sum over channels and window at every place, in long double, rounded once. What
// the window meets outside of the input, in the padding, is no part of the sum.
#include "interp/TensorOps.h"
#include "ir/Windows.h"

namespace tenc::interp {

void eachTerm(const ir::Op& op, const ir::Dims& x, const ir::Dims& w, const ir::Dims& out,
              const ConvolutionTerm& term) {
  const auto &stride = op.intsAttr("stride"), &dilation = op.intsAttr("dilation");
  const size_t n = stride.size();
  const ir::Dims before = op.hasAttr("lo") ? op.intsAttr("lo") : ir::Dims(n, 0);
  const std::vector<int64_t> xs = stridesOf(x), ws = stridesOf(w);
  const ir::WeightDims dims(w, n, op.boolAttr("out_last"));
  const int64_t depth = dims.depth;
  const int64_t outsOfGroup = out[1] / op.intAttr("groups");
  ir::Dims terms = {depth};
  for (size_t i = 0; i < n; ++i) terms.push_back(w[dims.window + i]);
  const int64_t count = ir::elementCount(terms).value_or(0), elements = ir::elementCount(out).value_or(0);
  Odometer place(out);
  for (int64_t e = 0; e < elements; ++e, place.next()) {
    const auto& p = place.index();
    const int64_t firstChannel = p[1] / outsOfGroup * depth;
    Odometer k(terms);
    for (int64_t t = 0; t < count; ++t, k.next()) {
      const auto& at = k.index();
      int64_t from = p[0] * xs[0] + (firstChannel + at[0]) * xs[1];
      int64_t weight = dims.offsetOf(p[1], ws) + at[0] * ws[dims.channel];
      bool inside = true;
      for (size_t i = 0; i < n; ++i) {
        const int64_t element = p[2 + i] * stride[i] + at[1 + i] * dilation[i] - before[i];
        inside = inside && element >= 0 && element < x[2 + i];
        from += element * xs[2 + i];
        weight += at[1 + i] * ws[dims.window + i];
      }
      if (inside) term(e, from, weight);
    }
  }
}

void convolution(const ir::Op& op, const Tensor& x, const Tensor& w, Tensor& out) {
  std::vector<long double> sums(static_cast<size_t>(out.type.size()), 0);
  eachTerm(op, x.type.shape, w.type.shape, out.type.shape, [&](int64_t e, int64_t i, int64_t k) {
    sums[static_cast<size_t>(e)] += static_cast<long double>(at(x, i).f) * at(w, k).f;
  });
  for (int64_t e = 0; e < out.type.size(); ++e) put(out, e, {roundTo(out.type.dtype, sums[static_cast<size_t>(e)]), 0});
}

}  // namespace tenc::interp
