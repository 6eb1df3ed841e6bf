// The memory of one call at a time: an arena of the host with the program's constants, streams of its devices with
// theirs, and scratch memory. Made once and used for one call after the other.
#pragma once
#include <memory>
#include <vector>

#include "runtime/Call.h"
#include "runtime/Device.h"
#include "runtime/cpu/Arena.h"
#include "runtime/cpu/Scratch.h"

namespace tenc::rt {

class Machine;

class Workspace {
 public:
  /// Null, with how the call ends in `ended`, when memory cannot be had, or a device that runs the program's kernels.
  static std::unique_ptr<Workspace> open(const LoadedProgram& program, Machine& machine, CallResult& ended);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// A call begins. `call.host` is set here.
  void begin(StreamCall call);
  /// The call is over: all streams come to rest.
  void end();
  /// Fills the memory of the host with a pattern, around the constants.
  void fill();
  /// Bytes of each device's arena up to the last that was touched since then.
  std::vector<uint64_t> touched() const;

  /// Where each buffer is, on whichever device.
  const std::vector<std::byte*>& addresses() const { return addresses_; }
  /// By device of the program; null for the host.
  Stream* stream(uint32_t device) const { return streams_[device].get(); }
  /// What Stream's functions of these names say, of all streams.
  void seam() const {
    for (const auto& s : streams_)
      if (s) s->seam();
  }
  void handOver() const {
    for (const auto& s : streams_)
      if (s) s->handOver();
  }
  void* scratch(int thread) const { return scratch_.of(thread); }
  void* shared() const { return scratch_.shared(); }

 private:
  Workspace(const LoadedProgram& program, Machine& machine);
  void putConstants(bool onHostOnly);

  const LoadedProgram& program_;
  Machine& machine_;
  std::unique_ptr<Arena> host_;
  Arena files_;  // addresses of buffers that stay in files
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::byte*> addresses_;
  Scratch scratch_;
  CallControl setup_;  // of the copies of constants
};

}  // namespace tenc::rt
