// Walks the steps of a program, once.
#pragma once
#include <set>

#include "runtime/call/Buffers.h"
#include "runtime/call/Effects.h"
#include "runtime/call/Ending.h"
#include "runtime/call/Launcher.h"
#include "runtime/call/Rows.h"

namespace tenc::rt {

class Machine;
class ThreadPool;

class Runner {
 public:
  /// The workspace is this call's alone.
  Runner(const LoadedProgram& program, Machine& machine, Workspace& workspace, const CallOptions& options,
         CallControl& control, RandomState& random);
  CallResult run();

 private:
  // Each is false when the call is over.
  bool steps(const abi::Block& block);
  bool step(const abi::Step& s);
  bool watched(const abi::Step& s);
  void note(const abi::Step& s, int64_t ns);
  void takeTimes();
  bool execute(const abi::Step& s);
  bool execute(const abi::Launch& s) { return launcher_.launch(s); }
  bool execute(const abi::Transfer& s);
  bool execute(const abi::Copy& s);
  bool execute(const abi::For& s);
  bool execute(const abi::While& s);
  bool execute(const abi::If& s);
  bool execute(const abi::Bench& s);
  bool execute(const abi::ReadRows& s) {
    workspace_.handOver();
    return rows_.run(s);
  }
  bool execute(const abi::BringIn& s) { return rows_.run(s); }
  bool execute(const abi::RngNext& s) { return effects_.run(s); }
  template <typename Effect>
  bool execute(const Effect& s) {
    workspace_.handOver();
    return effects_.run(s);
  }
  /// The stream that can decide by a byte; null where the host does, or the control was too long for it.
  Stream* deciderOf(abi::BufferId flag, const void* step);
  /// Tells the stream of a loop. False: it is too long, and `goesOn` says whether the call is over.
  bool tell(Stream& stream, const abi::While& s, bool& goesOn);
  bool tell(Stream& stream, const abi::If& s, bool& goesOn);
  /// In what a device decides, addresses are the same behind a loop as before it.
  void settleSwaps(const std::vector<abi::Swap>& swaps, uint64_t trips);
  bool measure(const abi::Block& body, int runs, double& ms);

  const abi::Program& p_;
  ThreadPool& pool_;
  Workspace& workspace_;
  const CallOptions& options_;
  CallResult result_;
  Ending ending_;
  Buffers buffers_;
  Launcher launcher_;
  ReadAhead ahead_;
  Rows rows_;
  Effects effects_;
  int64_t inner_ = 0;              ///< ns of the steps inside of the one that runs, under `profile`
  unsigned told_ = 0;              ///< how much control of a device the steps are inside of
  std::set<const void*> tooLong_;  ///< steps that the host decides for that
};

}  // namespace tenc::rt
