// Devices with memory of their own, that work through queues of commands: what the runtime sees of virtual devices and
// of any other accelerator. A Device is the machine's and serves all calls; a Stream is what one call at a time has of
// it: memory for the buffers of one program, and a queue.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/CallControl.h"
#include "runtime/LaunchCounts.h"
#include "runtime/LoadedProgram.h"

namespace tenc::rt {

class Arena;
struct CallTrace;

/// Of a copy between host and device: it is done. Of `Stream::last`: all commands so far are. Ticket 0 is always done.
/// What commands do is as if they were done in the order in which they were given.
using Ticket = uint64_t;

/// Why a stream does no more work. Of several streams' stops the one with the smallest `order` is the call's.
struct DeviceStop {
  uint64_t order = 0;        ///< the number of the step in program order
  uint32_t site = 0;         ///< index into Program::sites
  std::string bug;           ///< not empty: an error of the compiler, in words
  abi::BadIndex bad = {};    ///< of an index
  bool outOfMemory = false;  ///< `bug` is no bug: the device has no memory left for what its driver needs itself
};

/// The beginning of what is said of a kernel that reports a fault which it does not have.
inline constexpr const char* kUnknownFault = "an unknown fault of kernel ";

/// The kernel touches nothing outside of `buffer`, which the address lies in.
struct DeviceArg {
  std::byte* address = nullptr;
  abi::Access access = abi::Access::Read;
  std::span<std::byte> buffer{};
};

/// What a stream knows of the call that uses it.
struct StreamCall {
  CallControl* control = nullptr;
  Arena* host = nullptr;   ///< the memory of the call on the host
  bool dropWaits = false;  ///< plants a bug, for tests: no command waits for another stream
  bool traced = false;     ///< Stream::trace will be asked for
};

/// Loops and branches that a device decides by bytes in its memory, and their sections.
enum class ControlKind : uint8_t {
  Branch,      ///< what runs if the byte is not 0; what runs otherwise
  Loop,        ///< what computes the byte; a trip
  LoopOfPairs  ///< the same of every other trip, twice, with a byte each; what runs behind an odd number of trips
};

class Stream {
 public:
  virtual ~Stream() = default;
  /// Streams whose groups are equal are of one class, and copy to each other by ways of their own. Null: of none.
  virtual const void* peerGroup() const { return nullptr; }

  /// Where a buffer of the program is; null for those of other devices.
  virtual std::byte* address(abi::BufferId buffer) const = 0;
  /// Between calls: what was put into buffers so far (constants) stays for all calls to come.
  virtual void keepContents() {}
  /// A call begins: all else that buffers hold is undefined. The stream is at rest.
  virtual void begin(const StreamCall& call) = 0;

  // ---- commands, which return before they are done; `order` is the step's number, for DeviceStop
  virtual void launch(const LoadedKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
                      uint64_t order) = 0;
  virtual void copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t order) = 0;
  /// The host bytes must not change before the ticket is done.
  virtual Ticket copyIn(std::byte* to, const void* from, uint64_t bytes, uint64_t order) = 0;
  /// The host bytes are undefined before the ticket is done.
  virtual Ticket copyOut(void* to, const std::byte* from, uint64_t bytes, uint64_t order) = 0;
  /// From another stream: after what that has been given so far, and before what it is given later.
  virtual void receive(std::byte* to, Stream& other, const std::byte* from, uint64_t bytes, uint64_t order) = 0;
  /// The other half of `receive`: sends to a stream that is ready, and waits in its queue, from ticket `ready` on.
  virtual Ticket send(Stream& to, std::byte* destination, Ticket ready, const std::byte* from, uint64_t bytes,
                      uint64_t order) = 0;
  /// From a stream that sends: the bytes, which the host can read, are copied on return. The queue waits meanwhile.
  virtual void accept(std::byte* to, const void* from, uint64_t bytes, uint64_t order) = 0;

  // Control that the device decides. Launches and copies within the device that are given between the beginning and the
  // end are those of its sections.
  /// Whether the device can.
  virtual bool decides() { return false; }
  virtual void beginControl(ControlKind, uint64_t) {}
  virtual void nextSection() {}
  /// The bytes that decide; `second` of pairs. False: the outermost control is too long, and nothing of it was taken.
  virtual bool endControl(const std::byte*, const std::byte*) { return false; }

  // A stream may keep launches and copies back, so that many are given to the device together.
  /// Here a trip of a loop begins or ends: what comes next is likely to come again.
  virtual void seam() {}
  /// The host is busy for a while: what was kept back goes to the device.
  virtual void handOver() {}

  virtual void wait(Ticket ticket) = 0;
  virtual bool done(Ticket ticket) const = 0;
  /// A ticket for all commands so far.
  virtual Ticket last() const = 0;
  virtual std::optional<DeviceStop> stopped() const = 0;
  /// Whether it knows when its commands are done, and tells by `trace`.
  virtual bool hasTimes() const { return false; }
  /// Adds what it did since `begin`; it is at rest.
  virtual void trace(CallTrace&) {}
  /// Bytes of the planned arena up to the last that was used since `begin`; 0 where that is not known.
  virtual uint64_t touched() const { return 0; }
  /// Since `begin`.
  virtual LaunchCounts launched() const { return {}; }
};

/// What a stream is opened for.
struct StreamSetup {
  const LoadedProgram* program = nullptr;  ///< outlives the stream
  uint32_t device = 0;                     ///< index into Program::devices
  /// By buffer: where it is already, in memory that the host can write too. Null: the stream takes memory itself.
  const std::vector<std::byte*>* addresses = nullptr;
};

/// Why a stream cannot be had.
struct OpenFailure {
  std::string text;         ///< a sentence
  bool outOfMemory = true;  ///< else the device cannot be used at all
  uint64_t available = 0;   ///< bytes that it could have given; 0: not known
};

class Device {
 public:
  virtual ~Device() = default;
  /// As programs call it: "cuda:0".
  virtual const std::string& name() const = 0;
  /// Whether kernels can work on memory of the host, so that it may be handed to streams (StreamSetup::addresses).
  virtual bool worksOnHostMemory() const = 0;
  /// Whether nobody on the host may touch the host's memory while a kernel runs, not even another thread: how a device
  /// with checks finds what touches the memory of another.
  virtual bool closesHost() const { return false; }
  /// Whether its streams can run this kernel: code for the host, for a device, or a routine.
  virtual bool canRun(const abi::Kernel& kernel) const = 0;
  /// From any thread. Null, with the reason in `failure`, when the memory cannot be had, or the device not be used.
  virtual std::unique_ptr<Stream> open(const StreamSetup& setup, OpenFailure& failure) = 0;
};

}  // namespace tenc::rt
