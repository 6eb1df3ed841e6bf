// Ctrl-C: a running program ends at its next step; without one, at a second Ctrl-C, and where that step takes two more
// seconds, the process ends at once with status 130. SIGTERM and SIGHUP end it at once with 143 and 129. No temporary
// files of `save` are left.
#pragma once
#include "runtime/CallControl.h"

namespace tenc::tool {

/// Installs the handlers; call once at the start of the process.
void installInterruptHandler();

/// While alive, a signal interrupts the call of `control`.
class InterruptScope {
 public:
  explicit InterruptScope(rt::CallControl& control);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
};

}  // namespace tenc::tool
