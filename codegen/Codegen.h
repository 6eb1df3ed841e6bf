// From fused, placed IR to a runnable Program. Target-independent; targets implement Backend.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "codegen/Kernel.h"
#include "ir/TargetTraits.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen {

/// A target: turns kernels into code. One implementation per target (codegen/cpu).
class Backend {
 public:
  virtual ~Backend() = default;
  /// Compiles all kernels (deduplicated by the caller); fills fn, items, grain and scratchBytes of `out[i]` for
  /// `kernels[i]`. Returns what keeps the code alive. `error` is set to an internal error's text on failure.
  virtual std::shared_ptr<void> compile(const std::vector<const Kernel*>& kernels, std::vector<abi::Kernel*> out,
                                        std::string& error) = 0;
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
  std::vector<ir::Loc> sites;   ///< the source of each fault site
  std::vector<Kernel> kernels;  ///< for --emit=kernels
  MemoryPlan memory;
  std::string error;  ///< internal error, empty when well
};
/// Lowers the function `func` (all calls inlined, fused) to a program: buffers planned in one arena per device with
/// reuse, in-place updates when nothing else sees the old value, loops with exchanged buffers.
Compiled lowerToProgram(const ir::Module& m, const ir::Func& func, Backend& backend);

}  // namespace tenc::codegen
