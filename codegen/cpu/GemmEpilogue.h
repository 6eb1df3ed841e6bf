// What happens to a tile of a matrix product after its sum over k: a function that walks the tile's rows in vectors,
// evaluates the kernel's epilogue and stores.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cpu/CompileLevel.h"

namespace llvm {
class Function;
class Module;
class Value;
class IRBuilderBase;
}  // namespace llvm

namespace tenc::codegen::cpu {

class GemmEpilogue {
 public:
  GemmEpilogue(const Kernel& kernel, llvm::Module& module, std::string name, int lanes, Level level);

  // of the plain store (isPlainStore), in elements
  uint32_t outBuffer() const;
  int64_t outOffset() const;
  int64_t rowStride() const;
  int64_t batchStride(size_t d) const;

  /// From now on `call` takes a turned tile, whose rows are the product's columns; the vector runs along the product's
  /// rows.
  void turn() { turned_ = true; }

  /// `call` may be given any columns, not just those of whole panels.
  void takeAnyColumns() { anyColumns_ = true; }

  /// Calls the epilogue for rows [i0, i1) and columns [j0, j1), whose sums stand at `tile` with `stride` elements a
  /// row. `entry` is the abi::KernelFn being emitted, whose arguments are handed on.
  void call(llvm::IRBuilderBase& b, llvm::Function* entry, const std::vector<llvm::Value*>& batch, llvm::Value* tile,
            llvm::Value* stride, llvm::Value* i0, llvm::Value* i1, llvm::Value* j0, llvm::Value* j1);

 private:
  const Kernel& kernel_;
  llvm::Module& module_;
  std::string name_;
  int lanes_;
  Level level_;
  bool turned_ = false, anyColumns_ = false;
  llvm::Function* function_ = nullptr;
  const Store& plain() const { return kernel_.product.epilogue.stores[0]; }
  void emitFunction();
};

}  // namespace tenc::codegen::cpu
