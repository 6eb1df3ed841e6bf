// Attention by its definition: softmax(q k^T * scale + mask) v, a query at a time, in long double, rounded once.
#include <cmath>
#include <limits>

#include "interp/TensorOps.h"

namespace tenc::interp {

void attention(const ir::Op& op, Operands in, Tensor& out) {
  const Tensor &q = in[0], &k = in[1], &v = in[2];
  const size_t rank = out.type.shape.size();
  // The result's dims before they are brought into another order, and the stride of each.
  ir::Dims shape = out.type.shape;
  std::vector<int64_t> strides = stridesOf(out.type.shape);
  if (op.hasAttr("perm")) {
    const std::vector<int64_t> permuted = strides;
    for (size_t d = 0; d < rank; ++d) {
      const auto from = static_cast<size_t>(op.intsAttr("perm")[d]);
      shape[from] = out.type.shape[d], strides[from] = permuted[d];
    }
  }
  const int64_t queries = q.type.shape[rank - 2], keys = k.type.shape[rank - 2], depth = q.type.shape[rank - 1];
  const int64_t width = shape[rank - 1];
  const long double scale = at(in[3], 0).f;
  const bool causal = op.boolAttr("causal");
  const Tensor* mask = in.size() > 4 ? &in[4] : nullptr;
  std::vector<int64_t> maskStrides(rank, 0);
  if (mask) {
    maskStrides = stridesOf(mask->type.shape);
    for (size_t d = 0; d < rank; ++d)
      if (mask->type.shape[d] == 1) maskStrides[d] = 0;
  }
  int64_t batches = 1;
  for (size_t d = 0; d + 2 < rank; ++d) batches *= shape[d];
  Odometer head(std::span(shape).first(rank - 2));
  std::vector<long double> weight(static_cast<size_t>(keys));
  for (int64_t b = 0; b < batches; ++b, head.next()) {
    int64_t maskBase = 0, first = 0;
    for (size_t d = 0; d + 2 < rank; ++d)
      maskBase += head.index()[d] * maskStrides[d], first += head.index()[d] * strides[d];
    for (int64_t i = 0; i < queries; ++i) {
      long double most = -std::numeric_limits<long double>::infinity(), total = 0;
      for (int64_t j = 0; j < keys; ++j) {
        long double s = 0;
        for (int64_t d = 0; d < depth; ++d)
          s += static_cast<long double>(at(q, (b * queries + i) * depth + d).f) * at(k, (b * keys + j) * depth + d).f;
        s *= scale;
        bool seen = !causal || j <= i;
        if (mask) {
          Number m = at(*mask, maskBase + i * maskStrides[rank - 2] + j * maskStrides[rank - 1]);
          if (mask->type.dtype == ir::DType::Bool) {
            seen = seen && m.i != 0;
          } else {
            s += m.f;
          }
        }
        if (!seen) s = -std::numeric_limits<long double>::infinity();
        weight[static_cast<size_t>(j)] = s;
        most = std::isnan(s) || std::isnan(most) ? s + most : std::fmax(most, s);
      }
      // A query that may see no key gives 0.
      if ((mask || keys == 0) && std::isinf(most) && most < 0) most = 0, total = 1;
      for (long double& w : weight) total += w = std::exp(w - most);
      for (int64_t c = 0; c < width; ++c) {
        long double sum = 0;
        for (int64_t j = 0; j < keys; ++j) sum += weight[static_cast<size_t>(j)] * at(v, (b * keys + j) * width + c).f;
        put(out, first + i * strides[rank - 2] + c * strides[rank - 1], {roundTo(out.type.dtype, sum / total), 0});
      }
    }
  }
}

}  // namespace tenc::interp
