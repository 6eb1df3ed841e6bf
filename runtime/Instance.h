// One loaded program on a machine: what several calls of it share.
//
//   Machine machine;
//   auto program = readProgram(bytes, error);
//   auto instance = Instance::create(LoadedProgram::load(program, error), machine);
//   CallResult r = instance->call({.inputs = {{x}}, .outputs = {{y}}});
#pragma once
#include <memory>

#include "runtime/Call.h"
#include "runtime/LoadedProgram.h"

namespace tenc::rt {

class Machine;

/// Memory is laid out at the first call, constants are put into it once, and later calls find it so; calls that run at
/// the same time have memory of their own each. The destructor gives it back; no call may run then.
class Instance {
 public:
  /// `machine` outlives the instance. Neither argument is null.
  static std::unique_ptr<Instance> create(std::shared_ptr<const LoadedProgram> program, Machine& machine);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// Runs the program once. Any number of threads may call at the same time: each call works on memory of its own, and
  /// gives the same bits as if it ran alone (but for what it reads from a shared RandomState, files and clocks). Throws
  /// nothing; how it ended is in the result.
  CallResult call(const CallOptions& options = {});

  const abi::Program& program() const;
  /// Of calls that bring none: draws go on from call to call.
  RandomState& random();

 private:
  struct Shared;
  explicit Instance(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace tenc::rt
