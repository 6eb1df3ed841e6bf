// Kernels to machine code, on several threads.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "codegen/cpu/CodePiece.h"
#include "codegen/cpu/CompileParts.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/Jit.h"

namespace tenc::codegen::cpu {

/// What the function of kernel number `i` is called.
std::string functionName(size_t i);

/// The code of each kernel. On failure `error` is set.
std::vector<CodePiece> compileAll(std::span<const ScheduledKernel> kernels, const Processor& processor,
                                  const CpuOptions& options, std::string& error);

}  // namespace tenc::codegen::cpu
