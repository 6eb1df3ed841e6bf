// How products are computed: in tiles of rows and columns, or, where there are few of one, as loops.
#pragma once
#include <optional>
#include <vector>

#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {

/// Which loop variables of a product (its batch dims, then m and n) number its rows, its columns and its matrices: a
/// batch dim that one operand does not vary with belongs to the other's.
struct ProductDims {
  std::vector<size_t> rows, columns, matrices;
  int64_t m = 1, n = 1, count = 1;  ///< how many of each
};
ProductDims productDims(const Product& product);
int64_t extentOf(const Product& product, size_t variable);

/// The same kernel as loops, where tiles would be mostly empty.
std::optional<Kernel> asLoops(const Kernel& kernel);

/// Of a product that is not asLoops().
Schedule productSchedule(const Kernel& kernel);

}  // namespace tenc::codegen::cuda
