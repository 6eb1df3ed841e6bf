// Kernels of one call, on the host or given to devices.
#pragma once
#include <vector>

#include "runtime/call/Buffers.h"

namespace tenc::rt {

class ThreadPool;

class Launcher {
 public:
  Launcher(const LoadedProgram& program, const Workspace& workspace, ThreadPool& pool, CallControl& control,
           LoopProgress* progress, Buffers& buffers, Ending& ending)
      : program_(program),
        workspace_(workspace),
        pool_(pool),
        control_(control),
        progress_(progress),
        buffers_(buffers),
        ending_(ending) {}

  /// False when the call is over.
  bool launch(const abi::Launch& s);

 private:
  bool onHost(const LoadedKernel& k, const abi::Launch& s);
  void onDevice(Stream& stream, const LoadedKernel& k, const abi::Launch& s);
  void onThreads(const LoadedKernel& k, const LoadedKernel::Phase& phase, uint64_t fileBytes, uint32_t* fault);

  const LoadedProgram& program_;
  const Workspace& workspace_;
  ThreadPool& pool_;
  CallControl& control_;
  LoopProgress* progress_;
  Buffers& buffers_;
  Ending& ending_;
  std::vector<void*> args_;
  std::vector<uint64_t> scalars_;
  std::vector<DeviceArg> deviceArgs_;
};

}  // namespace tenc::rt
