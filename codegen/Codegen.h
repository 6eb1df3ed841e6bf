// From fused, placed IR to a runnable Program, with the targets of its devices (Target.h).
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/KernelSet.h"
#include "codegen/Overwrites.h"
#include "codegen/Target.h"
#include "ir/TargetTraits.h"
#include "runtime/abi/Program.h"
#include "support/SourceFile.h"

namespace tenc::codegen {

/// The kernel of a `fused` op for a target of these traits. Every fused op has exactly one. It may leave out a part of
/// the result, if that saves something.
Kernel buildKernel(const ir::Op& fused, const ir::TargetTraits& traits,
                   const std::optional<Box>& leftOut = std::nullopt);
/// The kernel of an op of Trait::Library, for a target that writes such.
Kernel buildRoutine(const ir::Op& op);

struct MemoryPlan {  ///< per device: peak bytes, and what is alive then
  struct Alive {
    const ir::Value* value;
    uint64_t bytes;
  };
  struct Device {
    std::string name;
    uint64_t peak = 0;
    std::vector<Alive> atPeak;
    const ir::Op* peakOp = nullptr;  ///< during it the most is alive; null before the first
    uint64_t routines = 0;           ///< of the peak: what library routines work in, while the program runs
  };
  std::vector<Device> devices;
  uint64_t fileBytes = 0;  ///< of tensors that stay in the files that they are mapped from: part of no peak
};

/// Devices, memory and steps of a program, for people and tests.
std::string print(const abi::Program& p);

struct Compiled {
  abi::Program program;
  std::unordered_map<const abi::Step*, const ir::Op*> opOf;  ///< what the steps of the program were made for
  KernelSet kernels;                                         ///< those of program.kernels, without routines
  MemoryPlan memory;
  std::string error;  ///< internal error, empty when well
};
/// Ops of a placed function that stand on a device whose target has no code for them.
std::vector<const ir::Op*> opsWithoutCode(const ir::Module& m, const ir::Func& func, const TargetTable& targets);

/// Lowers the function `func` (all calls inlined, fused) to a program: buffers planned in one arena per device with
/// reuse, in-place updates when nothing else sees the old value, loops with exchanged buffers. `sources` are those of
/// the module's spans: the program takes along the lines that it may stop in. Kernels have no code yet.
Compiled lowerToProgram(const ir::Module& m, const ir::Func& func, const SourceManager& sources,
                        const TargetTable& targets);
/// Gives the program's kernels their code; sets `error` on failure.
void compileKernels(Compiled& compiled);

/// Text of the code of all kernels, target by target: a form that one of them offers, or "kernels" with what each
/// target decides for its own. The module is that of `compiled`.
std::string emit(const Compiled& compiled, std::string_view form, const ir::Module& m, const SourceManager& sources);

}  // namespace tenc::codegen
