// Convolution by its definition: the sum over channels and window at every place, in long double, rounded once. What
// the window meets outside of the input, in the padding, is no part of the sum.
#include "interp/TensorOps.h"

namespace tenc::interp {

void convolution(const ir::Op& op, const Tensor& x, const Tensor& w, Tensor& out) {
  const auto &stride = op.intsAttr("stride"), &dilation = op.intsAttr("dilation");
  const bool outLast = op.boolAttr("out_last");
  const size_t n = stride.size();
  const ir::Dims before = op.hasAttr("lo") ? op.intsAttr("lo") : ir::Dims(n, 0);
  const std::vector<int64_t> xs = stridesOf(x.type.shape), ws = stridesOf(w.type.shape);
  const size_t firstWindow = outLast ? 1 : 2;
  const int64_t depth = w.type.shape[firstWindow - 1];
  const int64_t outsOfGroup = out.type.shape[1] / op.intAttr("groups");
  ir::Dims terms = {depth};
  for (size_t i = 0; i < n; ++i) terms.push_back(w.type.shape[firstWindow + i]);
  const int64_t count = ir::elementCount(terms).value_or(0);
  Odometer place(out.type.shape);
  for (int64_t e = 0; e < out.type.size(); ++e, place.next()) {
    const auto& p = place.index();
    const int64_t firstChannel = p[1] / outsOfGroup * depth;
    long double sum = 0;
    Odometer term(terms);
    for (int64_t t = 0; t < count; ++t, term.next()) {
      const auto& k = term.index();
      int64_t from = p[0] * xs[0] + (firstChannel + k[0]) * xs[1];
      int64_t weight = (outLast ? p[1] * ws.back() : p[1] * ws[0]) + k[0] * ws[firstWindow - 1];
      bool inside = true;
      for (size_t i = 0; i < n; ++i) {
        const int64_t element = p[2 + i] * stride[i] + k[1 + i] * dilation[i] - before[i];
        inside = inside && element >= 0 && element < x.type.shape[2 + i];
        from += element * xs[2 + i];
        weight += k[1 + i] * ws[firstWindow + i];
      }
      if (!inside) continue;
      sum += static_cast<long double>(at(x, from).f) * at(w, weight).f;
    }
    put(out, e, {roundTo(out.type.dtype, sum), 0});
  }
}

}  // namespace tenc::interp
