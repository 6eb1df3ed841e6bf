// Shape rules of library routines: rows are the last dim, matrices the last two, leading dims a batch.
#include <algorithm>

#include "ir/InferShapes.h"

namespace tenc::ir {
namespace {

/// The results one after the other; the first that fails decides.
Inferred results(const InferContext& c, std::vector<std::pair<DType, Dims>> types) {
  Inferred all;
  for (auto& [dtype, shape] : types) {
    Inferred one = c.result(dtype, std::move(shape));
    if (!one.ok()) return one;
    all.types.push_back(std::move(one.types[0]));
  }
  return all;
}

Inferred inferTopK(const InferContext& c) {
  Dims shape = c.operand(0).shape;
  const int64_t k = c.integer("k");
  if (k < 0 || k > shape.back()) {
    return c.fail("takes " + std::to_string(k) + " out of " + std::to_string(shape.back()) + " elements");
  }
  shape.back() = k;
  return results(c, {{c.operand(0).dtype, shape}, {DType::I64, shape}});
}

/// LAPACK counts in 32 bits, and its workspaces grow with the square of the shorter side.
constexpr int64_t kLongestSide = (int64_t{1} << 31) - 1;
constexpr int64_t kLongestShortSide = 32000;

namespace {

/// "" or why LAPACK cannot take a matrix of this shape.
std::string tooLong(const Dims& shape) {
  const auto [least, most] = std::minmax(shape.back(), shape[shape.size() - 2]);
  if (least > kLongestShortSide)
    return "linear algebra takes matrices of at most 32,000 on the shorter side, not " + toString(shape);
  if (most > kLongestSide)
    return "linear algebra takes matrices of at most 2,147,483,647 rows or columns, not " + toString(shape);
  return "";
}

Inferred matrixResults(const InferContext& c) {
  for (const Type* t : c.operands)
    if (t->rank() < 2) return c.fail("takes matrices, not a tensor of shape " + toString(t->shape));
  const Type& a = c.operand(0);
  const int64_t m = a.shape[a.shape.size() - 2], n = a.shape.back(), least = std::min(m, n);
  const bool rectangular =
      c.kind == OpKind::Qr || c.kind == OpKind::Svd || c.kind == OpKind::SingularValues || c.kind == OpKind::Lstsq;
  if (!rectangular && m != n) return c.fail("takes square matrices, not shape " + toString(a.shape));
  const Dims batch(a.shape.begin(), a.shape.end() - 2);
  auto with = [&](std::initializer_list<int64_t> dims) {
    Dims shape = batch;
    shape.insert(shape.end(), dims);
    return shape;
  };
  int64_t sides = 0;
  if (c.operands.size() == 2) {
    const Type& b = c.operand(1);
    if (b.dtype != a.dtype || b.rank() != a.rank() || b.shape[b.shape.size() - 2] != m ||
        !std::equal(batch.begin(), batch.end(), b.shape.begin())) {
      return c.fail("needs operands of one dtype, batch and number of rows, not " + toString(a) + " and " +
                    toString(b));
    }
    sides = b.shape.back();
  }
  switch (c.kind) {
    case OpKind::Pivots: return results(c, {{a.dtype, with({n})}, {a.dtype, batch}});
    case OpKind::Solve:
    case OpKind::SolveTriangular: return c.result(a.dtype, with({n, sides}));
    case OpKind::Qr: {
      const int64_t k = c.boolean("complete") ? m : least;
      return results(c, {{a.dtype, with({m, k})}, {a.dtype, with({k, n})}});
    }
    case OpKind::Eigh: return results(c, {{a.dtype, with({n})}, {a.dtype, a.shape}});
    case OpKind::Svd: {
      const bool full = c.boolean("full");
      return results(
          c,
          {{a.dtype, with({m, full ? m : least})}, {a.dtype, with({least})}, {a.dtype, with({full ? n : least, n})}});
    }
    case OpKind::SingularValues: return c.result(a.dtype, with({least}));
    case OpKind::Lstsq: return results(c, {{a.dtype, with({n, sides})}, {DType::I64, batch}, {a.dtype, with({least})}});
    default: return c.result(a.dtype, a.shape);
  }
}

}  // namespace

Inferred inferMatrix(const InferContext& c) {
  Inferred inferred = matrixResults(c);
  for (const Type* t : c.operands) {
    if (!inferred.ok()) return inferred;
    if (const std::string why = tooLong(t->shape); !why.empty()) {
      inferred.error = why;  // the op may be one that the script does not name
      inferred.tooLarge = true;
    }
  }
  return inferred;
}

}  // namespace

Inferred inferLibrary(const InferContext& c) {
  if (c.operand(0).rank() == 0) return c.fail("takes rows, not a rank-0 value");
  switch (c.kind) {
    case OpKind::Sort: return c.result(c.operand(0).dtype, c.operand(0).shape);
    case OpKind::ArgSort: return c.result(DType::I64, c.operand(0).shape);
    case OpKind::TopK: return inferTopK(c);
    default: return inferMatrix(c);
  }
}

}  // namespace tenc::ir
