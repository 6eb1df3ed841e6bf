// Ctrl-C: a running program ends at its next step; without one the process ends at once with status 130.
#pragma once
#include "runtime/CallControl.h"

namespace tenc::tool {

/// Installs the handler; call once at the start of the process.
void installInterruptHandler();

/// While alive, an interrupt asks `machine` to stop.
class InterruptScope {
 public:
  explicit InterruptScope(rt::CallControl& control);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
};

}  // namespace tenc::tool
