#include "tools/tenc/Interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "runtime/io/Io.h"
#include "tools/tenc/Progress.h"

namespace tenc::tool {
namespace {

// A signal handler has no other way to find what runs.
constinit std::atomic<rt::CallControl*> running{nullptr};

void onEnd(int signal) {
  eraseLine();
  rt::removePartFiles();
  _exit(128 + signal);
}

void onInterrupt(int signal) {
  rt::CallControl* control = running.load();
  // A second interrupt does not wait for the step to end.
  if (!control || control->interrupted()) onEnd(signal);
  control->interrupt();
}

}  // namespace

void installInterruptHandler() {
  findTerminal();
  struct sigaction action{}, before{};
  action.sa_handler = onInterrupt;
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = onEnd;
  sigaction(SIGTERM, &action, nullptr);
  // `nohup` has it ignored.
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

InterruptScope::InterruptScope(rt::CallControl& control) {
  control.reset();
  running = &control;
}

InterruptScope::~InterruptScope() { running = nullptr; }

}  // namespace tenc::tool
