// Transposing in registers.
#pragma once
#include "codegen/cpu/Loops.h"

namespace tenc::codegen::cpu {

/// rows[i][j] becomes rows[j][i]; as many vectors as lanes, a power of 2.
void transposeSquare(llvm::IRBuilderBase& b, Values& rows);
/// The same for squares side by side: vectors are pieces of as many elements as there are vectors, a power of 2.
void transposeSquares(llvm::IRBuilderBase& b, Values& rows);

/// How many vectors of such elements stripsAcross takes: a strip of them is 16 bytes, within which instructions
/// interleave.
constexpr int64_t stripOf(int64_t elementBytes) { return 16 / elementBytes; }
/// For each lane a strip: the elements of all rows in that lane. Storing the strips of 16 rows, some at a time, takes
/// as long to run as the vectors of a square, and a tenth of the instructions.
Values stripsAcross(llvm::IRBuilderBase& b, Values rows);

}  // namespace tenc::codegen::cpu
