// Loop variables from the number of a point.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/cuda/CudaText.h"

namespace tenc::codegen::cuda {

/// Declares variables of type `type` for a number in row-major order, and gives their names. They start at `from`
/// (empty: at 0); the last one counts `vector` elements each.
std::vector<std::string> decodePoint(CudaText& out, const std::string& number, const std::string& type,
                                     const std::vector<int64_t>& extents, const std::vector<int64_t>& from, int vector);

}  // namespace tenc::codegen::cuda
