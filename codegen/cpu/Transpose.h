// Transposing in registers.
#pragma once
#include "codegen/cpu/Loops.h"

namespace tenc::codegen::cpu {

/// rows[i][j] becomes rows[j][i]; as many vectors as lanes, a power of 2.
void transposeSquare(llvm::IRBuilderBase& b, Values& rows);

}  // namespace tenc::codegen::cpu
