// Tensors with strides, and dense ones.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tenc::rt {

/// Whether elements of `element` bytes at these byte strides lie densely in row-major order; no strides say so.
inline bool isDense(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides, int element) {
  if (strides.empty()) return true;
  int64_t expected = element;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return true;
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

/// Calls copy(strided offset, dense offset) for each element.
template <typename Copy>
void forEachElement(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides, int element, Copy copy) {
  std::vector<int64_t> index(shape.size(), 0);
  for (const int64_t d : shape)
    if (d == 0) return;
  int64_t from = 0, dense = 0;
  while (true) {
    copy(from, dense);
    dense += element;
    size_t d = shape.size();
    while (d > 0) {
      --d;
      from += strides[d];
      if (++index[d] < shape[d]) break;
      from -= strides[d] * shape[d];
      index[d] = 0;
      if (d == 0) return;
    }
    if (shape.empty()) return;
  }
}

}  // namespace tenc::rt
