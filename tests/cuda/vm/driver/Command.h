// What a stream or a node of a graph does: values, so that a graph that was instantiated has commands of its own.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tests/cuda/vm/Machine.h"
#include "tests/cuda/vm/driver/Status.h"

namespace tenc::ptx::driver {

struct Stream;

/// A device, which an error in a launch spoils.
struct Device {
  explicit Device(uint32_t i, uint64_t bytes) : index(i), machine(bytes) {}
  uint32_t index;
  Machine machine;
  Status failed = Status::Success;
  bool busy = false;           // a kernel runs
  Stream* assigned = nullptr;  // whose next work the device's thread is to run
  uint64_t launches = 0, copies = 0, bytesCopied = 0, graphLaunches = 0, graphNodes = 0;
  std::set<Device*> peers;                                 // that it was given access to
  std::map<uint64_t, std::optional<uint32_t>> conditions;  // of the graph that runs, by handle: what they were set to
  uint64_t peerCopies = 0;                                 // among the copies: to it, from another device
  uint64_t copiesOut = 0;                                  // among the copies: to the host
};

struct Function {
  Device* device = nullptr;
  const Kernel* kernel = nullptr;
  std::optional<uint32_t> mostDynamicShared{};  // none: what every kernel may have
};

struct KernelCommand {
  Function* function = nullptr;
  LaunchShape shape;
  std::vector<uint8_t> parameters;
};
/// From one place to another, each of which is memory of the host where it has no device.
struct CopyCommand {
  Device *toDevice = nullptr, *fromDevice = nullptr;
  uint64_t to = 0, from = 0, bytes = 0;
  std::shared_ptr<std::vector<uint8_t>> staged;  // what pageable memory held when the copy was asked for
};
struct FillCommand {
  Device* device = nullptr;
  uint64_t to = 0, count = 0;
  uint32_t value = 0, width = 1;
};
struct HostCommand {
  std::function<void()> call;
};
struct EmptyCommand {};
/// What a library does on a device (Library.h).
struct LibraryCommand {
  Device* device = nullptr;
  std::function<Status(Device&)> call;
};

using Command = std::variant<EmptyCommand, KernelCommand, CopyCommand, FillCommand, HostCommand, LibraryCommand>;

/// Does it now.
Status execute(const Command& c);

}  // namespace tenc::ptx::driver
