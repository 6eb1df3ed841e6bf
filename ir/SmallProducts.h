// Many products of small matrices, [b, 4, 4] @ [b, 4, 4]: each is a few vectors.
#pragma once
#include <optional>

#include "ir/Module.h"

namespace tenc::ir {

/// Rows, columns and terms that a small product has at the most, and how many there are of it at the least.
inline constexpr int64_t kSmallExtent = 16, kLeastSmallProducts = 16;

/// Whether so many rows are multiplied by a matrix of k rows and n columns that is small enough to be in registers. Of
/// very few elements, vectors are better along the rows of the product; and few terms of more columns are a loop along
/// these.
constexpr bool isSmallRight(int64_t k, int64_t n, int64_t rows) {
  return k >= 3 && n >= 3 && k <= kSmallExtent && n <= kSmallExtent && k * n <= 128 && (k > 4 || n < 8) && rows >= 256;
}

/// Whether a matrix product is many small ones, or of many rows by a small matrix, of f32 or f64, whose operand that
/// vectors are loaded from (the right one, or, for one column, the left one) has rows or columns side by side in
/// memory. Where the batch is side by side, it is what vectors should run along.
bool areSmallProducts(const Op& matmul);

/// Whether matrices lie side by side along a dim of the batch, element by element, in both operands, or in one of which
/// the other has the same for all.
constexpr bool areInterleaved(int64_t matrices, int64_t strideOfLeft, int64_t strideOfRight) {
  const bool known = strideOfLeft >= 0 && strideOfLeft <= 1 && strideOfRight >= 0 && strideOfRight <= 1;
  return matrices >= kLeastSmallProducts && known && strideOfLeft + strideOfRight > 0;
}
/// The first such dim of a product of few rows and columns.
std::optional<size_t> interleavedDim(const Op& matmul);

}  // namespace tenc::ir
