// The contract between codegen and runtime: a static list of steps over buffers at offsets planned at compile time.
// Plain data; the runtime knows nothing of the compiler, the compiler nothing of threads or drivers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/abi/KernelState.h"

namespace tenc::abi {

enum class FaultKind : uint8_t {
  None,
  Index,
  Division,
  NegativePower,
  Assertion,
  File,
  Singular,
  NotPositiveDefinite,
  NotFinite,
  NoConvergence,
  Step
};

/// The faults of routines that can fail, in the order of their kernels' sites.
inline constexpr FaultKind kLibraryFaults[] = {FaultKind::Singular, FaultKind::NotPositiveDefinite,
                                               FaultKind::NotFinite, FaultKind::NoConvergence};

/// A compiled kernel. `buffers[i]` is the start of argument i (byte offsets applied), `scalars[i]` the bits of host
/// scalar i, low bytes first. Work items [begin, end) of `items`. `fault`: the first word of a KernelState; 0 when all
/// is well, else 1 + the fault's number. `scratch`: the thread's own scratch memory.
using KernelFn = void (*)(void* const* buffers, const uint64_t* scalars, int64_t begin, int64_t end, uint32_t* fault,
                          void* scratch);

using BufferId = uint32_t;
inline constexpr BufferId kNoBuffer = ~0u;

/// A buffer of the plan. `device` indexes Program::devices; `offset` is in the device's arena. Loops may exchange the
/// addresses of two buffers (Step::swaps), so a buffer's address is looked up at each step.
struct Buffer {
  uint32_t device = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// The dtype codes that the runtime itself looks at; all codes are those of ir::DType.
namespace dtype {
inline constexpr uint8_t F16 = 0, BF16 = 1, F32 = 2, F64 = 3;
}

/// A typed view for host effects and library calls: a dtype code, dense row-major.
struct TensorRef {
  BufferId buffer = kNoBuffer;
  uint64_t byteOffset = 0;
  uint8_t dtype = 0;
  std::vector<int64_t> shape;
  std::string device;
};

/// What a kernel does with an argument; `None`: the value has no elements.
enum class Access : uint8_t { Read, Write, Update, None };

struct KernelArg {
  BufferId buffer = kNoBuffer;
  uint64_t byteOffset = 0;
  Access access = Access::Read;
};

/// A call of a routine of the runtime: buffers are the operands, then the results, dense and row-major.
struct LibraryCall {
  std::string routine;
  std::vector<TensorRef> operands, results;  ///< dtypes and shapes; where they are, each launch says
  std::vector<std::pair<std::string, int64_t>> options;
};

struct Kernel {
  std::string name;
  KernelFn fn = nullptr;  ///< host code (cpu and virtual devices)
  int64_t items = 1;      ///< work items: claimed in runs of `grain`
  int64_t grain = 1;
  uint64_t scratchBytes = 0;    ///< per thread
  std::vector<uint32_t> sites;  ///< program-wide fault site of each fault of the kernel
  /// Set instead of `fn` by codegen; the runtime then sets fn, items, grain and scratchBytes (bindLibrary). Its scalar
  /// 0 is the address of this; its faults are those of kLibraryFaults, in order.
  std::shared_ptr<const LibraryCall> library;
};

struct Step {
  enum class Kind : uint8_t {
    Launch,
    Transfer,
    Copy,
    For,
    While,
    If,
    Print,
    Assert,
    Load,
    Save,
    Seed,
    RngNext,
    Time,
    Bench
  } kind;
  uint32_t device = 0;  ///< whose queue
  // Launch
  uint32_t kernel = 0;
  std::vector<KernelArg> args;
  std::vector<BufferId> scalars;  ///< host buffers of rank-0 values passed by value (8 bytes are read)
  // Transfer (between devices), Copy (within one): dst, src, bytes
  KernelArg dst, src;
  uint64_t bytes = 0;
  // For: lo, hi, step and the induction variable are i64 host buffers; While: body[0] computes cond; If: cond, body,
  // other
  BufferId lo = kNoBuffer, hi = kNoBuffer, by = kNoBuffer, iv = kNoBuffer, cond = kNoBuffer;
  std::vector<Step> condition, body, other;
  /// After each trip the addresses of these pairs are exchanged: double buffering without copies.
  std::vector<std::pair<BufferId, BufferId>> swaps;
  // Effects
  std::vector<std::string> pieces, formats;  ///< text around tensors[firstText..]: printed, or the path of a file
  uint64_t firstText = 0;
  std::vector<TensorRef> tensors;  ///< operands of print/assert/save/seed, result of load/time/rng_next (two)
  std::string path, format, name;
  std::vector<std::string> names;
  uint32_t site = 0;   ///< fault site (assert, load)
  bool counts = true;  ///< RngNext: whether the draw is counted
};

struct Device {
  std::string name;
  uint64_t arenaBytes = 0;
};  ///< actual name: "cpu", "cuda:0"

struct Program {
  std::vector<Device> devices;  ///< devices[0] is the host, cpu
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
  /// Constants are copied to their buffers once, before the first step.
  struct Init {
    BufferId buffer;
    std::shared_ptr<const std::vector<std::byte>> bytes;
  };
  std::vector<Init> constants;
  std::vector<FaultKind> sites;    ///< what each fault site is; the tool maps sites to spans
  std::vector<TensorRef> results;  ///< values kept after the run (REPL)
  std::vector<TensorRef> inputs;   ///< values given before the run (REPL)
  std::shared_ptr<void> code;      ///< keeps the machine code alive
};

}  // namespace tenc::abi
