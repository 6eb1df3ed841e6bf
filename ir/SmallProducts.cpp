#include "ir/SmallProducts.h"

#include "ir/Views.h"

namespace tenc::ir {

bool areSmallProducts(const Op& matmul) {
  const Type &left = matmul.operand(0)->type, &result = matmul.result()->type;
  if (matmul.kind != OpKind::Matmul || result.rank() < 2 || matmul.hasAttr("rounds") || matmul.hasAttr("dtype"))
    return false;
  if (left.dtype != DType::F32 && left.dtype != DType::F64) return false;
  const size_t rank = result.shape.size();
  const int64_t m = result.shape[rank - 2], n = result.shape[rank - 1], k = left.shape.back();
  if (n > kSmallExtent || k > kSmallExtent || k < 2 || m * n < 2) return false;
  if (m > kSmallExtent ? !isSmallRight(k, n, result.size() / n) : result.size() < kLeastSmallProducts * m * n)
    return false;
  const Value* loaded = matmul.operand(n == 1 ? 0 : 1);
  const auto view = stridedView(loaded, [](const Value* v) { return !v->op || !v->op->has(Trait::Structural); });
  const auto isSideBySide = [&](size_t d) { return view->strides[d] == 1 || loaded->type.shape[d] == 1; };
  return !view || isSideBySide(rank - 1) || isSideBySide(rank - 2);
}

std::optional<size_t> interleavedDim(const Op& matmul) {
  const Type& result = matmul.result()->type;
  if (matmul.kind != OpKind::Matmul || matmul.hasAttr("rounds") || matmul.hasAttr("dtype")) return std::nullopt;
  if (result.dtype != DType::F32 && result.dtype != DType::F64) return std::nullopt;
  const size_t rank = result.shape.size();
  if (result.shape[rank - 2] > kSmallExtent || result.shape[rank - 1] > kSmallExtent) return std::nullopt;
  std::optional<StridedView> views[2];
  for (size_t i : {0, 1}) {
    views[i] = stridedView(matmul.operand(i), [](const Value* v) { return !v->op || !v->op->has(Trait::Structural); });
    if (!views[i]) return std::nullopt;
  }
  for (size_t d = 0; d + 2 < rank; ++d)
    if (areInterleaved(result.shape[d], views[0]->strides[d], views[1]->strides[d])) return d;
  return std::nullopt;
}

}  // namespace tenc::ir
