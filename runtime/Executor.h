// Runs a Program: one pass over its steps. A Machine holds what outlives a program: threads, arenas, the generator's
// state.
#pragma once
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/LoadedProgram.h"
#include "runtime/abi/Program.h"
#include "runtime/io/Io.h"
#include "runtime/virtual/Queue.h"

namespace tenc::rt {

class ThreadPool;
class Arena;
class Device;
class VirtualDevice;

struct MachineOptions {
  int threads = 0;  ///< 0: as many as the process may use
  std::vector<std::string> virtualDevices =
      {};                     ///< names of the virtual devices of this machine, as programs call them
  uint64_t virtualBytes = 0;  ///< capacity of each; 0: as the host
  Order virtualOrder = Order::Async;
  // For tests:
  bool poisonHost = false;  ///< fills the host's arena before a run, so that what a run touched shows
  bool dropWaits = false;   ///< plants a bug: nobody waits for a device
  FileAccess files = {};    ///< where loads and saves may go
};

class Machine {
 public:
  explicit Machine(const MachineOptions& options);
  ~Machine();
  const MachineOptions& options() const { return options_; }
  int threads() const;
  ThreadPool& pool() { return *pool_; }
  Arena& host() { return *host_; }
  /// By actual name; null for a device that this machine does not have.
  Device* device(const std::string& name);
  const std::vector<std::unique_ptr<VirtualDevice>>& virtualDevices() const { return devices_; }
  uint64_t seed = 0, draws = 0;
  /// Ends the run at its next step, and loops inside kernels at their next trip. For signal handlers.
  void interrupt();
  std::atomic<bool> interrupted{false};
  abi::KernelState kernel;  ///< of the kernel that runs on the cpu
  /// For signal handlers: what is known of a fault at `address`, as a line in `text`; false when it is not in memory of
  /// this machine's devices.
  bool describeFault(const void* address, char* text, size_t size) const;

 private:
  MachineOptions options_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Arena> host_;
  std::vector<std::unique_ptr<VirtualDevice>> devices_;
};

/// Processors that this process may use.
int processorCount();

struct BenchResult {
  std::string name;
  double medianMs = 0, minMs = 0;
  int rounds = 0;
};

/// How a run ended.
struct RunResult {
  enum class End : uint8_t { Done, Stopped, Interrupted, OutOfMemory, Bug } end = End::Done;
  abi::FaultKind fault = abi::FaultKind::None;
  uint32_t site = 0;  ///< Stopped: index into Program::sites
  std::string text;   ///< assertion message, file error; Bug: what a virtual device found
  abi::BadIndex bad;  ///< Stopped by an index
  std::vector<BenchResult> benches;
  uint64_t copies = 0, copiedBytes = 0;  ///< between devices
};

/// Where the outermost loop of a run is, for those who look on from another thread.
struct LoopProgress {
  std::atomic<int64_t> start{0};   ///< when it began, in ns of the steady clock; 0: no loop runs
  std::atomic<uint64_t> trip{0};   ///< trips done
  std::atomic<uint64_t> trips{0};  ///< 0: unknown
  /// Set while a kernel runs that stands in no other loop: its own loop counts.
  std::atomic<const abi::KernelState*> kernel{nullptr};
};

/// One step of a run: a kernel, a copy, an effect, or a loop with all that it does. Times in ns of the steady clock.
/// What a device other than the cpu does later shows when it was asked for it.
struct TraceEvent {
  std::string name;
  std::string device;
  int64_t begin = 0, end = 0;
};
struct RunTrace {
  static constexpr size_t kMost = 1'000'000;
  std::vector<TraceEvent> events;
  uint64_t leftOut = 0;  ///< steps beyond kMost
};

struct RunOptions {
  std::function<void(std::string_view)> print;  ///< gets each printed line with its newline; null: standard output
  double benchSeconds = 1.0;                    ///< about how long one bench block runs
  int benchRounds = 0;                          ///< 0: by time
  /// The host bytes of inputs (Program::inputs), in order.
  std::vector<const void*> inputs;
  /// Called once at the end for each of Program::results with host bytes.
  std::function<void(size_t, const void*)> result;
  LoopProgress* progress = nullptr;  ///< is told of trips
  RunTrace* trace = nullptr;         ///< gets the steps in the order in which they end
};

RunResult run(const LoadedProgram& program, Machine& machine, const RunOptions& options = {});

}  // namespace tenc::rt
