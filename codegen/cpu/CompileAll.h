// Kernels to machine code, on several threads.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/Target.h"
#include "codegen/cpu/CodePiece.h"
#include "codegen/cpu/CompileLevel.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/Jit.h"

namespace tenc::codegen::cpu {

/// What the function of request number `i` is called.
std::string functionName(size_t i);

/// How the work of a kernel is shared out.
struct WorkItems {
  int64_t items = 1, grain = 1;
};
struct CompiledKernel {
  WorkItems work;
  CodePiece code;
};

/// Adds a kernel to a module, as the function `name`.
WorkItems emitKernel(const Kernel& kernel, llvm::Module& module, const std::string& name, const CpuOptions& options,
                     Level level, std::string& error);

/// All kernels at their levels. On failure `error` is set.
std::vector<CompiledKernel> compileAll(std::span<const CodeRequest> requests, const std::vector<Level>& levels,
                                       const Processor& processor, const CpuOptions& options, std::string& error);

}  // namespace tenc::codegen::cpu
