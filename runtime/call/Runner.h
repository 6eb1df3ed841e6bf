// Walks the steps of a program, once.
#pragma once
#include "runtime/call/Buffers.h"
#include "runtime/call/Effects.h"
#include "runtime/call/Ending.h"
#include "runtime/call/Launcher.h"
#include "runtime/call/Rows.h"

namespace tenc::rt {

class Machine;

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
  bool traced(const abi::Step& s);
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
  bool measure(const abi::Block& body, int runs, double& ms);

  const abi::Program& p_;
  Workspace& workspace_;
  const CallOptions& options_;
  CallResult result_;
  Ending ending_;
  Buffers buffers_;
  Launcher launcher_;
  ReadAhead ahead_;
  Rows rows_;
  Effects effects_;
};

}  // namespace tenc::rt
