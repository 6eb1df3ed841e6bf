#include "tools/tenc/Interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "tools/tenc/Progress.h"

namespace tenc::tool {
namespace {

// A signal handler has no other way to find the machine.
constinit std::atomic<rt::Machine*> runningMachine{nullptr};

void onInterrupt(int) {
  rt::Machine* machine = runningMachine.load();
  // A second interrupt does not wait for the step to end.
  if (!machine || machine->interrupted.load()) {
    eraseLine();
    _exit(130);
  }
  machine->interrupt();
}

}  // namespace

void installInterruptHandler() {
  findTerminal();
  struct sigaction action{};
  action.sa_handler = onInterrupt;
  sigaction(SIGINT, &action, nullptr);
}

InterruptScope::InterruptScope(rt::Machine& machine) {
  machine.interrupted = false;
  runningMachine = &machine;
}

InterruptScope::~InterruptScope() { runningMachine = nullptr; }

}  // namespace tenc::tool
