// A machine that executes PTX and checks every access: one device.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/cuda/vm/Counters.h"
#include "tests/cuda/vm/DeviceMemory.h"
#include "tests/cuda/vm/Program.h"
#include "tests/cuda/vm/Reports.h"

namespace tenc::ptx {

/// In which order blocks and warps run. A kernel without races gives the same in each.
enum class Order : uint8_t {
  RoundRobin,  // some blocks at a time, a few instructions of each warp in turn
  RunAhead,    // one block after another, each warp as far as it gets
  Backward,    // the last block, warp and (in atomics) lanes first
  Random
};
constexpr Order kOrders[] = {Order::RoundRobin, Order::RunAhead, Order::Backward, Order::Random};

struct Options {
  Order order = Order::RoundRobin;
  uint64_t seed = 1;
  bool races = true, initialisation = true, counters = true;
  uint64_t budget = uint64_t{1} << 34;  // warp instructions, after which a launch is given up
  std::function<bool()> goesOn;         // asked between turns: false gives the launch up. Memory may change meanwhile
  std::function<bool(uint64_t handle, uint32_t value)> setCondition;  // of a graph; false: there is no such handle
};

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

struct LaunchShape {
  Dim3 grid, block;
  uint32_t dynamicShared = 0;
  bool cooperative = false;  // all blocks are resident
};

class Machine {
 public:
  explicit Machine(uint64_t memoryBytes) : memory_(memoryBytes) {}

  /// Throws PtxError for text that it cannot read; an unknown opcode is a fault when it is executed.
  std::unique_ptr<Program> load(std::string_view text) { return std::make_unique<Program>(text, memory_); }
  /// Runs a kernel to its end. `parameters` is laid out as the kernel says, and has kernel.parameterBytes. Returns why
  /// the launch was given up, if it was; that is among the reports, too. The kernel outlives the counters.
  std::optional<Finding> launch(const Kernel& kernel, const LaunchShape& shape, const std::vector<uint8_t>& parameters);

  DeviceMemory& memory() { return memory_; }
  Options& options() { return options_; }
  Reports& reports() { return reports_; }
  const Counters& counters() const { return counters_; }
  void clearCounters() { counters_.clear(); }

 private:
  DeviceMemory memory_;
  Options options_;
  Reports reports_;
  Counters counters_;
  uint32_t launches_ = 0;
};

}  // namespace tenc::ptx
