// One run of a loaded program: what goes in, what comes out, and who looks on. Everything here is plain data of the
// caller; nothing is kept after the call.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/CallControl.h"
#include "runtime/LaunchCounts.h"
#include "runtime/RandomState.h"
#include "runtime/io/Io.h"

namespace tenc::rt {

/// A tensor of the caller to read. Its dtype and shape are those of the program's input; `strides` are in bytes, one a
/// dim, and empty for dense row-major elements. Memory that is dense and aligned (abi::alignmentOf: the size of an
/// element, 64 from 1 MiB on) is used where it is; other memory, and values of rank 0, are copied first. It must not
/// change during the call.
struct InputTensor {
  const void* data = nullptr;
  std::vector<int64_t> strides{};
};

/// A tensor of the caller to write, as InputTensor. Undefined until the call is done, and after one that did not end
/// well. No two outputs, and no input and output, may overlap.
struct OutputTensor {
  void* data = nullptr;
  std::vector<int64_t> strides{};
};

/// Where the outermost loop of a call is, for those who look on from another thread.
struct LoopProgress {
  std::atomic<int64_t> start{0};   ///< when it began, in ns of the steady clock; 0: no loop runs
  std::atomic<uint64_t> trip{0};   ///< trips done
  std::atomic<uint64_t> trips{0};  ///< 0: unknown
  /// Set while a kernel runs that stands in no other loop: its own loop counts.
  std::atomic<const abi::KernelState*> kernel{nullptr};
};

/// One step of a call: a kernel, a copy, an effect, or a loop with all that it does. Times in ns of the steady clock.
/// What a device other than the cpu does later shows when it was done, by queue ("cuda:0 kernels"), where the device
/// tells; else when it was asked for.
struct TraceEvent {
  std::string name;
  std::string device;  ///< or one of its queues
  int64_t begin = 0, end = 0;
  const abi::Step* step = nullptr;  ///< of the program; null for what a device tells
  std::string source{};             ///< where it comes from, for whoever knows
};
struct CallTrace {
  static constexpr size_t kMost = 1'000'000;
  std::vector<TraceEvent> events;
  uint64_t leftOut = 0;  ///< steps beyond kMost
};

/// What the steps of a call took: those of loops and branches without what is in them. Devices work on one step at a
/// time, so that each is known to have taken what it did.
struct CallProfile {
  struct Step {
    uint64_t runs = 0;
    int64_t ns = 0;
  };
  std::unordered_map<const abi::Step*, Step> steps;
};

/// What is pointed to outlives the call. The functions are called on the thread of the call.
struct CallOptions {
  std::vector<InputTensor> inputs{};    ///< one for each of Program::inputs
  std::vector<OutputTensor> outputs{};  ///< none, or one for each of Program::results
  /// Called once at the end for each of Program::results with its dense bytes on the host, which it may not keep.
  std::function<void(size_t, const void*)> result{};
  std::function<void(std::string_view)> print{};  ///< gets each printed line with its newline; null: standard output
  CallControl* control = nullptr;                 ///< to end the call early
  RandomState* random = nullptr;                  ///< null: the instance's
  LoopProgress* progress = nullptr;               ///< is told of trips
  CallTrace* trace = nullptr;                     ///< gets the steps in the order in which they end
  CallProfile* profile = nullptr;                 ///< is added to
  uint64_t memory = 0;                            ///< bytes to stay within by letting go of mapped files; 0: no limit
  double benchSeconds = 1.0;                      ///< about how long one bench block runs
  int benchRounds = 0;                            ///< 0: by time
  // For tests:
  bool measureMemory = false;  ///< fills memory with a pattern before the call, to see what it touches
  bool dropWaits = false;      ///< plants a bug: nobody waits for a device
};

struct BenchResult {
  std::string name;
  double medianMs = 0, minMs = 0;
  int rounds = 0;
};

/// How a call ended.
struct CallResult {
  enum class End : uint8_t {
    Done,
    Stopped,      ///< by a fault of the program: `fault`, `site`, `text`, `bad`
    Interrupted,  ///< by the control
    OutOfMemory,  ///< `text` says what is lacking; mostly before the first step
    NoDevice,     ///< before the first step: a device cannot be used; `text`
    Refused,      ///< before the first step: options or devices do not fit the program; `text`
    Bug           ///< what a checked device found, an error of the compiler: `text`
  } end = End::Done;
  abi::FaultKind fault = abi::FaultKind::None;
  uint32_t site = 0;  ///< index into Program::sites
  std::string text;   ///< assertion message, file error
  abi::BadIndex bad;  ///< of an index
  struct Lacking {
    std::string device;
    uint64_t available = 0;  ///< bytes that it had; 0: not known
  };
  Lacking lacking{};  ///< of OutOfMemory, where it is one device that has too little
  std::vector<BenchResult> benches;
  uint64_t copies = 0, copiedBytes = 0;  ///< between devices
  struct Launches {
    std::string device;
    LaunchCounts counts;
  };
  std::vector<Launches> launches;  ///< of devices that tell
  uint64_t inPlace = 0;            ///< inputs and outputs that were used in the caller's memory
  std::vector<uint64_t> touched;   ///< under measureMemory: bytes of each device's arena, up to the last touched
};

}  // namespace tenc::rt
