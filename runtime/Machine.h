// What outlives programs: threads, memory of the host, and devices.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/Device.h"
#include "runtime/io/Io.h"

namespace tenc::rt {

class Arena;
class ThreadPool;

struct DeviceSpec;
struct DeviceSurroundings;
/// Null, with a sentence in `error`, when there is no such device.
using DeviceFactory = std::unique_ptr<Device> (*)(const DeviceSpec& spec, const DeviceSurroundings& surroundings,
                                                  std::string& error);

/// A device that a machine shall have.
struct DeviceSpec {
  std::string factory;                                          ///< what makes it (DeviceFactories.cpp): "virtual"
  std::string name;                                             ///< as programs call it: "cuda:0"
  uint64_t capacity = 0;                                        ///< bytes; 0: as many as it has
  std::vector<std::pair<std::string, std::string>> settings{};  ///< for the factory: {"order", "lazy"}
  DeviceFactory make = nullptr;                                 ///< the factory itself, where its name is not known
};

struct MachineOptions {
  int threads = 0;  ///< 0: as many as the process may use
  std::vector<DeviceSpec> devices{};
  FileAccess files{};  ///< where loads and saves may go
};

/// Thread-safe, but for its construction and destruction. Outlives the instances on it.
class Machine {
 public:
  /// A device of an unknown factory or setting is left out; `problem` says so.
  explicit Machine(const MachineOptions& options = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const MachineOptions& options() const { return options_; }
  /// What was wrong with the options, as a sentence; empty when nothing was.
  const std::string& problem() const { return problem_; }
  int threads() const;
  /// Adds a device, unless there is one of its name. False, with a sentence in `error`, when it cannot be had. No call
  /// may run meanwhile.
  bool add(const DeviceSpec& spec, std::string& error);
  /// By actual name; null for a device that this machine does not have.
  Device* device(const std::string& name) const;
  /// For signal handlers: what is known of a fault at `address`, as a line in `text`; false when it is not in memory of
  /// programs on this machine.
  bool describeFault(const void* address, char* text, size_t size) const;

  // ---- for instances
  ThreadPool& pool() { return *pool_; }
  /// Memory of the host for at least `bytes`, of another instance before or new; null when there is no more.
  std::unique_ptr<Arena> takeArena(uint64_t bytes);
  void giveBack(std::unique_ptr<Arena> arena);

 private:
  struct Memory;
  MachineOptions options_;
  std::string problem_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<std::unique_ptr<Device>> devices_;
};

/// Processors that this process may use.
int processorCount();

}  // namespace tenc::rt
