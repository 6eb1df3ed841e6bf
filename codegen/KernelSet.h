// The kernels of a function, each with its target: what is launched, the distinct code among it, and what that needs.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/Target.h"

namespace tenc::codegen {

/// Code that a program needs once.
struct KernelCode {
  Target* target = nullptr;
  CodeRequest request;
  KernelNeeds needs;
};

/// Movable; not copyable, since requests point to kernels.
struct KernelSet {
  KernelSet() = default;
  KernelSet(KernelSet&&) = default;
  KernelSet& operator=(KernelSet&&) = default;

  std::vector<Kernel> kernels;  ///< those that differ in code, in what they are bound to or in where they may stop
  std::vector<KernelCode> codes;
  std::vector<uint32_t> codeOf;                      ///< by kernel: an index into `codes`
  std::unordered_map<const ir::Op*, uint32_t> ofOp;  ///< by fused op that runs, or routine: an index into `kernels`

  bool hasKernel(const ir::Op& op) const { return ofOp.contains(&op); }
  const Kernel& kernel(const ir::Op& fused) const { return kernels[ofOp.at(&fused)]; }
  const KernelNeeds& needs(const ir::Op& fused) const { return codes[codeOf[ofOp.at(&fused)]].needs; }
};

/// The kernels of all fused ops of a function, whose devices have targets, and of routines that targets write. `error`
/// is set to the text of an internal error on failure.
KernelSet kernelsOf(const ir::Module& m, const ir::Func& f, const TargetTable& targets, std::string& error);

/// The device whose code the op is: that of its results; the host without any.
std::string_view deviceOf(const ir::Module& m, const ir::Op& op);

}  // namespace tenc::codegen
