// Rows of few elements in order, one row in each lane of a vector: a network of exchanges of neighbours, which leaves
// equal keys as they are.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/library/Library.h"
#include "runtime/library/VectorSort.h"

namespace tenc::rt::library {

inline constexpr int64_t kMostShortRow = 32;

/// Whether rows of the tensor are sorted so, as many as fill the lanes at a time.
bool isShortRows(const abi::TensorRef& x);
/// How they are shared out, and what one costs.
Plan planShortRows(const abi::TensorRef& x);
/// The first `k` elements of each row of an item, in order, and their places, of which either may be null. Elements are
/// those of `x` at `rows`, the first row of the tensor.
void sortShortRows(const abi::TensorRef& x, const void* rows, bool descending, int64_t k, void* values,
                   uint64_t* places, const Item& item);

}  // namespace tenc::rt::library
