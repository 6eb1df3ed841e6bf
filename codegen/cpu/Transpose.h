// Transposing in registers.
#pragma once
#include "codegen/cpu/Loops.h"

namespace tenc::codegen::cpu {

inline constexpr int64_t kGroupBytes = 16;  ///< within which instructions interleave

/// rows[i][j] becomes rows[j][i]; as many vectors as lanes, a power of 2.
void transposeSquare(llvm::IRBuilderBase& b, Values& rows);
/// The same for squares side by side: vectors are pieces of as many elements as there are vectors, a power of 2.
void transposeSquares(llvm::IRBuilderBase& b, Values& rows);

}  // namespace tenc::codegen::cpu
