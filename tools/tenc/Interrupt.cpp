#include "tools/tenc/Interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "tools/tenc/Progress.h"

namespace tenc::tool {
namespace {

// A signal handler has no other way to find what runs.
constinit std::atomic<rt::CallControl*> running{nullptr};

void onInterrupt(int) {
  rt::CallControl* control = running.load();
  // A second interrupt does not wait for the step to end.
  if (!control || control->interrupted()) {
    eraseLine();
    _exit(130);
  }
  control->interrupt();
}

}  // namespace

void installInterruptHandler() {
  findTerminal();
  struct sigaction action{};
  action.sa_handler = onInterrupt;
  sigaction(SIGINT, &action, nullptr);
}

InterruptScope::InterruptScope(rt::CallControl& control) {
  control.reset();
  running = &control;
}

InterruptScope::~InterruptScope() { running = nullptr; }

}  // namespace tenc::tool
