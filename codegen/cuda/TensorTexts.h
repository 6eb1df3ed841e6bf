// CUDA C++ of functions that kernels of matrices call.
#pragma once
#include <string_view>

namespace tenc::codegen::cuda {

/// Copies past registers, ldmatrix, mma.sync.
extern const std::string_view kTensorText;
/// Attention: what both forms below call; in threads' registers; on tensor cores, with kTensorText.
extern const std::string_view kAttentionText, kRowAttentionText, kTensorAttentionText;
/// Attention by warpgroups and its gradient, on top of kTensorPartsText and kGroupText.
extern const std::string_view kGroupAttentionText, kGroupGradientText;
/// Its gradient, on top of kAttentionText; and what attention and its gradient share on tensor cores.
extern const std::string_view kRowGradientText, kTensorGradientText, kTensorPartsText;

}  // namespace tenc::codegen::cuda
