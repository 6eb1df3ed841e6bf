// Commands that are kept back so that many go to the driver together: launches, copies within the device, and loops and
// branches of such.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/Device.h"
#include "runtime/cuda/CudaDriver.h"
#include "runtime/cuda/MatrixProduct.h"
#include "runtime/cuda/Outcome.h"
#include "runtime/cuda/Solver.h"

namespace tenc::rt::cuda {

/// A kernel as a stream launches it.
struct CudaKernel {
  FunctionHandle function = nullptr;  ///< null: the product is all
  const abi::Kernel* kernel = nullptr;
  uint64_t number = 0;                     ///< in the program
  MatrixProduct* product = nullptr;        ///< what runs before the function; not null of a ProductCode
  Solver* solver = nullptr;                ///< not null of a SolverCode: its calls run between two functions
  FunctionHandle before = nullptr;         ///< the first of them
  std::vector<FunctionHandle> sequence{};  ///< of a SequenceCode: all of its functions
  /// Of the function; null: the product is all, or a sequence.
  const abi::DeviceCode* code() const;
  const abi::SequenceCode* sequenced() const { return std::get_if<abi::SequenceCode>(&kernel->code); }
  const abi::SolverCode* solved() const { return std::get_if<abi::SolverCode>(&kernel->code); }
};

/// Memory of a device that kernels look into for what differs from one replay of a graph to the next; codegen/cuda's
/// prelude lays it out in the same way. The host writes from `base` on.
struct CudaBlock {
  // Of all faults of the call the one that counts.
  uint32_t number, busy;
  uint64_t order;
  int64_t index, count, size, axis;
  uint64_t trip;    ///< of a loop whose trips are threads
  uint64_t kernel;  ///< its number in the program
  uint64_t base;    ///< the order of a launch is this and its offset
  // Scalars follow.
};

/// A kernel's last parameter: its number, and its order from CudaBlock::base on.
constexpr unsigned kOffsetBits = 40;

struct CudaControl;

struct CudaCommand {
  const CudaKernel* kernel = nullptr;      ///< null: a copy, or control
  std::shared_ptr<CudaControl> control{};  ///< null: a launch or a copy
  size_t words = 0, args = 0;              ///< addresses in the key; of a copy its two and the bytes
  size_t scalars = 0;                      ///< the first one's place
  uint64_t offset = 0;                     ///< from the order of the run
};
using CudaCommands = std::vector<CudaCommand>;

/// A loop or a branch, in the sections that ControlKind says.
struct CudaControl {
  ControlKind kind = ControlKind::Branch;
  std::vector<CudaCommands> sections;
  Pointer flags[2] = {};  ///< the bytes that decide
};

class CudaRun {
 public:
  void launch(const CudaKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
              uint64_t order);
  void copy(Pointer to, Pointer from, uint64_t bytes, uint64_t order);
  void clear();

  /// Commands up to `end` are those of a section of a loop or branch; `section` begins the next one.
  void begin(ControlKind kind, uint64_t order);
  void section();
  void end(Pointer first, Pointer second);
  /// The outermost loop or branch that has begun was never there.
  void abandon();
  /// How many loops and branches have begun and not ended.
  size_t depth() const { return open_.size(); }

  /// All, with those inside loops and branches.
  size_t commands() const { return now_.all; }
  size_t launches() const { return now_.launches; }
  bool hasControl() const { return now_.hasControl; }
  /// How deep loops and branches are nested.
  size_t deepest() const { return now_.deepest; }
  /// Of the first command.
  uint64_t order() const { return order_; }
  /// Whether a kernel may report a fault.
  bool reports() const { return now_.reports; }
  /// Of all launches.
  const std::vector<uint64_t>& scalars() const { return scalars_; }
  /// All that the driver is told, but for what is read from the block: runs with equal keys are one graph.
  const std::vector<uint64_t>& key() const { return key_; }
  const CudaCommands& list() const { return commands_; }

  /// For each command those that have to be done before it, because one writes what the other one touches; without
  /// those that follow from others.
  std::vector<std::vector<size_t>> dependencies(const CudaCommands& list) const;
  /// Gives a launch or a copy to a stream, or to what that captures. `block` is in memory of the device; orders count
  /// from `base`, which it holds when the command runs.
  Outcome issue(const CudaCommand& command, const CudaFunctions& f, StreamHandle stream, Pointer block,
                uint64_t base) const;

 private:
  struct Range {
    uint64_t begin, end;
    bool isWritten;
  };
  uint64_t offsetOf(uint64_t order);
  CudaCommands& here() { return open_.empty() ? commands_ : open_.back()->sections.back(); }
  void ranges(const CudaCommand& c, std::vector<Range>& list) const;

  struct Counts {
    size_t commands = 0, key = 0, scalars = 0, all = 0, launches = 0, deepest = 0;
    bool reports = false, hasControl = false;
  };

  CudaCommands commands_;
  std::vector<CudaControl*> open_;
  Counts before_;  ///< the outermost of them began
  std::vector<uint64_t> key_, scalars_;
  uint64_t order_ = 0;
  Counts now_;
};

}  // namespace tenc::rt::cuda
