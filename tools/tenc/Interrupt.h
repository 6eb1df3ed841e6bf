// Ctrl-C, SIGTERM and SIGHUP: a running program ends at its next step; without one, at a second signal, and where that
// step takes two more seconds, the process ends at once. Its status is 128 and the number of the signal: 130, 143, 129.
// No temporary files of `save` are left.
#pragma once
#include "runtime/CallControl.h"

namespace tenc::tool {

/// Installs the handlers; call once at the start of the process.
void installInterruptHandler();

/// Of the process, after something was interrupted.
int interruptStatus();

/// While alive, a signal interrupts the call of `control`.
class InterruptScope {
 public:
  explicit InterruptScope(rt::CallControl& control);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
};

}  // namespace tenc::tool
