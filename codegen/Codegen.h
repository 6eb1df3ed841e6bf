// From fused, placed IR to a runnable Program. Target-independent; targets implement Backend.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "codegen/Kernel.h"
#include "ir/TargetTraits.h"
#include "runtime/abi/Program.h"
#include "support/SourceFile.h"

namespace tenc::codegen {

/// A target: turns kernels into code. One implementation per target (codegen/cpu).
class Backend {
 public:
  virtual ~Backend() = default;
  /// Compiles all kernels (deduplicated by the caller): appends what holds their code to `images`, and sets
  /// `out[i]->code` for `kernels[i]`. `error` is set to an internal error's text on failure.
  virtual void compile(const std::vector<const Kernel*>& kernels, const std::vector<abi::Kernel*>& out,
                       std::vector<abi::CodeImage>& images, std::string& error) = 0;
  /// Text of the target code: what = "llvm" or "asm", or "kernels" with what the target decides for each.
  virtual std::string emit(const std::vector<const Kernel*>& kernels, std::string_view what) = 0;
};

/// The kernel of a `fused` op for a target of these traits. Every fused op has exactly one.
Kernel buildKernel(const ir::Op& fused, const ir::TargetTraits& traits);

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
  };
  std::vector<Device> devices;
};

/// Devices, memory and steps of a program, for people and tests.
std::string print(const abi::Program& p);

struct Compiled {
  abi::Program program;
  std::vector<Kernel> kernels;  ///< for --emit=kernels
  MemoryPlan memory;
  std::string error;  ///< internal error, empty when well
};
/// Lowers the function `func` (all calls inlined, fused) to a program: buffers planned in one arena per device with
/// reuse, in-place updates when nothing else sees the old value, loops with exchanged buffers. `sources` are those of
/// the module's spans: the program takes along the lines that it may stop in.
Compiled lowerToProgram(const ir::Module& m, const ir::Func& func, const SourceManager& sources, Backend& backend);

}  // namespace tenc::codegen
