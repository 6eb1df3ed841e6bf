// Commands that are kept back so that many go to the driver together: launches, and copies within the device.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "runtime/Device.h"
#include "runtime/cuda/CudaDriver.h"
#include "runtime/cuda/MatrixProduct.h"

namespace tenc::rt::cuda {

/// What a driver's call came to, and its name.
struct Outcome {
  Result status = 0;
  const char* call = "";
  LibraryStatus library = 0;  ///< of the call of a library that was to come before
  bool isWell() const { return status == 0 && library == 0; }
};

/// A kernel as a stream launches it.
struct CudaKernel {
  FunctionHandle function = nullptr;  ///< null: the product is all
  const abi::Kernel* kernel = nullptr;
  uint64_t number = 0;               ///< in the program
  MatrixProduct* product = nullptr;  ///< what runs before the function; not null of a ProductCode
  /// Of the function; null: the product is all.
  const abi::DeviceCode* code() const;
};

/// Memory of a device that kernels look into for what differs from one replay of a graph to the next; codegen/cuda's
/// prelude lays it out in the same way. The host writes from `base` on.
struct CudaBlock {
  // Of all faults of the call the one that counts.
  uint32_t number, busy;
  uint64_t order;
  int64_t index, count, size, axis;
  uint64_t kernel;  ///< its number in the program
  uint64_t base;    ///< the order of a launch is this and its offset
  // Scalars follow.
};

/// A kernel's last parameter: its number, and its order from CudaBlock::base on.
constexpr unsigned kOffsetBits = 40;

class CudaRun {
 public:
  void launch(const CudaKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
              uint64_t order);
  void copy(Pointer to, Pointer from, uint64_t bytes, uint64_t order);
  void clear();

  /// How many.
  size_t commands() const { return commands_.size(); }
  size_t launches() const { return launches_; }
  /// Of the first command.
  uint64_t order() const { return order_; }
  /// Whether a kernel may report a fault.
  bool reports() const { return reports_; }
  /// Of all launches.
  const std::vector<uint64_t>& scalars() const { return scalars_; }
  /// All that the driver is told, but for what is read from the block: runs with equal keys are one graph.
  const std::vector<uint64_t>& key() const { return key_; }

  /// For each command those that have to be done before it, because one writes what the other one touches; without
  /// those that follow from others.
  std::vector<std::vector<size_t>> dependencies() const;
  /// Gives one command to a stream, or to what that captures. `block` is in memory of the device; orders count from
  /// `base`, which it holds when the command runs.
  Outcome issue(size_t command, const CudaFunctions& f, StreamHandle stream, Pointer block, uint64_t base) const;
  bool isLaunch(size_t command) const { return commands_[command].kernel != nullptr; }
  const CudaKernel& kernel(size_t command) const { return *commands_[command].kernel; }

 private:
  struct Command {
    const CudaKernel* kernel;  ///< null: a copy
    size_t words, args;        ///< addresses in the key; of a copy its two and the bytes
    size_t scalars;            ///< the first one's place
    uint64_t offset;           ///< from the order of the run
  };
  struct Range {
    uint64_t begin, end;
    bool isWritten;
  };
  uint64_t begin(uint64_t order);
  std::vector<Range> ranges(const Command& c) const;

  std::vector<Command> commands_;
  std::vector<uint64_t> key_, scalars_;
  uint64_t order_ = 0;
  size_t launches_ = 0;
  bool reports_ = false;
};

}  // namespace tenc::rt::cuda
