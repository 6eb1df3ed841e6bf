// Strided views: what a chain of structural ops over a dense tensor is when nothing has to move.
#pragma once
#include <functional>
#include <optional>

#include "ir/Module.h"

namespace tenc::ir {

/// Element (i0, i1, ...) of the viewed value is element offset + sum(strides[d] * i_d) of `base`, which is dense and
/// row-major.
struct StridedView {
  const Value* base = nullptr;
  int64_t offset = 0;
  std::vector<int64_t> strides;
};

/// Row-major strides, in elements.
std::vector<int64_t> denseStrides(std::span<const int64_t> shape);

/// Whether the op only says anew where elements are: permute, slice, flip, broadcast, reshape.
bool isViewOp(const Op& op);
/// Whether the op, outside of kernels, only says anew what is in dense memory, and nothing runs: reshape, slice.
bool isMemoryView(const Op& op);
/// Makes a view of the op's operand one of its result; false, and no view, where elements must move.
bool viewThrough(const Op& op, StridedView& view);

/// The view that `v` is of a value for which `isBase` holds, through view ops; nullopt when there is none.
std::optional<StridedView> stridedView(const Value* v, const std::function<bool(const Value*)>& isBase);

/// Whether the elements of a view of this shape are contiguous and in row-major order.
bool isDense(const StridedView& view, std::span<const int64_t> shape);

/// Strides for `to`, the row-major reshape of a view of shape `from` with `strides`; nullopt when elements must move.
std::optional<std::vector<int64_t>> reshapeStrides(std::span<const int64_t> from, std::span<const int64_t> strides,
                                                   std::span<const int64_t> to);

}  // namespace tenc::ir
