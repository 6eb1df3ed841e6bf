// A device with memory of its own, that works through a queue of commands: what the executor sees of virtual devices
// and of any other accelerator. Calls return before the work is done; `wait` waits for it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/LoadedProgram.h"
#include "runtime/abi/Program.h"

namespace tenc::rt {

/// Commands of one device are done in the order of their tickets, which begin with 1. Ticket 0 is always done.
using Ticket = uint64_t;

/// Bytes of a buffer of this program. Loops exchange what two buffers are, so it is looked up at each step.
struct Place {
  abi::BufferId buffer = abi::kNoBuffer;
  uint64_t offset = 0;
};

/// Why a device does no more work. Of several devices' stops the one with the smallest `order` is the program's.
struct DeviceStop {
  uint64_t order = 0;      ///< the number of the step in program order
  uint32_t site = 0;       ///< index into Program::sites
  std::string bug;         ///< not empty: an error of the compiler, in words
  abi::BadIndex bad = {};  ///< of an index
};

struct DeviceArg {
  uint32_t device = 0;  ///< whose memory it is, as an index into Program::devices
  Place at;
  abi::Access access = abi::Access::Read;
};

class Device {
 public:
  virtual ~Device() = default;

  /// Lays out the memory that device `index` of the program needs. `error` says why it cannot.
  virtual bool begin(const LoadedProgram& p, uint32_t index, std::string& error) = 0;
  /// Waits for all work and gives the memory of the program back.
  virtual void end() = 0;

  // ---- commands; `order` is the step's number, for DeviceStop
  virtual void launch(const LoadedKernel& kernel, const std::vector<DeviceArg>& args, std::vector<uint64_t> scalars,
                      uint64_t order) = 0;
  virtual void copy(Place to, Place from, uint64_t bytes, uint64_t order) = 0;
  /// The host bytes must not change before the ticket is done.
  virtual Ticket copyIn(Place to, const void* from, uint64_t bytes, uint64_t order) = 0;
  /// The host bytes are undefined before the ticket is done.
  virtual Ticket copyOut(void* to, Place from, uint64_t bytes, uint64_t order) = 0;
  /// From another device: after what it has been given so far, and before what it is given later.
  virtual void receive(Place to, Device& other, Place from, uint64_t bytes, uint64_t order) = 0;

  virtual void wait(Ticket ticket) = 0;
  virtual bool done(Ticket ticket) const = 0;
  /// The ticket of the last command.
  virtual Ticket last() const = 0;
  virtual std::optional<DeviceStop> stopped() const = 0;
  /// Ends the kernel that runs, and all that wait. For signal handlers.
  virtual void interrupt() = 0;
};

}  // namespace tenc::rt
