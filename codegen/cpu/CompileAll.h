// Kernels to object files, on several threads.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/Target.h"
#include "codegen/cpu/CompileLevel.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/Jit.h"

namespace tenc::codegen::cpu {

/// The function of request number `i`.
std::string functionName(size_t i);

struct CompiledKernel {
  size_t index;  ///< of the request; its function is functionName(index)
  int64_t items, grain;
};

/// What one thread compiled at one level.
struct CompiledPart {
  std::vector<CompiledKernel> kernels;
  ObjectFile object;
};

/// Adds a kernel to a module, as the function `name`.
CompiledKernel emitKernel(const Kernel& kernel, llvm::Module& module, const std::string& name,
                          const CpuOptions& options, Level level, std::string& error);

/// All kernels at their levels. On failure `error` is set.
std::vector<CompiledPart> compileAll(std::span<const CodeRequest> requests, const std::vector<Level>& levels,
                                     const Processor& processor, const CpuOptions& options, std::string& error);

}  // namespace tenc::codegen::cpu
