// Loop kernels that are products in all but name: reduce_k f(a[i, k], b[k, j]) with any f and any plain reduction.
// Targets compute them in tiles of i x j, which read less than they compute.
#pragma once
#include <optional>

#include "codegen/Kernel.h"

namespace tenc::codegen {

struct ImplicitProduct {
  size_t row, column;   ///< outer loop variables: i and j
  bool turned = false;  ///< some load walks memory along k and has to be transposed to be read along j
};

/// Whether the first stage is a sum, product, maximum or minimum over one inner variable of what needs no gathered
/// index, and the other stages only use its results.
bool isPlainReduction(const Kernel& kernel);

/// The plain reduction as a product over these outer variables: some loads vary with the row alone and some with
/// the column alone, and results are stored side by side along columns.
std::optional<ImplicitProduct> implicitProductOf(const Kernel& kernel, size_t row, size_t column);

}  // namespace tenc::codegen
