#include "codegen/cpu/NativeEmitter.h"

namespace tenc::codegen::cpu {

std::string emitNativeKernel(const Kernel&, llvm::Module&, const std::string&, bool) {
  return "native loops are not supported on the CPU";
}

}  // namespace tenc::codegen::cpu
