// Packing one panel of B: k rows of `width` whole vectors, the columns past the matrix filled with zeros. Of
// narrow operands the rows are those of NarrowTerms, part by part of one step after the other.
#pragma once
#include <string>

#include "codegen/cpu/AssembledFunction.h"
#include "codegen/cpu/ProductSchedule.h"

namespace llvm {
class Module;
class Function;
}  // namespace llvm

namespace tenc::codegen::cpu {

/// `void pack(const T* b, T* panel)`: panel[k * width * lanes + j] = b[k * row + j * col] for j < columns, else 0.
/// Made once a module and shape.
llvm::Function* packPanel(llvm::Module& module, const std::string& prefix, const Product& product,
                          const TiledProduct& plan, int64_t width, int64_t columns, AssembledForm form);

}  // namespace tenc::codegen::cpu
