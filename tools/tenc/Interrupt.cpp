#include "tools/tenc/Interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "runtime/io/PartFile.h"
#include "tools/tenc/Progress.h"

namespace tenc::tool {
namespace {

constexpr unsigned kPatience = 2;  // seconds that an interrupted step may take

// A signal handler has no other way to find what runs.
constinit std::atomic<rt::CallControl*> running{nullptr};

void onEnd(int signal) {
  eraseLine();
  rt::removePartFiles();
  _exit(128 + signal);
}

// The signal that ended what ran.
constinit std::atomic<int> endedBy{SIGINT};
static_assert(std::atomic<int>::is_always_lock_free);

void onInterrupt(int signal) {
  rt::CallControl* control = running.load();
  // A second interrupt does not wait for the step to end.
  if (!control || control->interrupted()) onEnd(signal);
  endedBy = signal;
  control->interrupt();
  alarm(kPatience);
}

/// A step that does not look up is not waited for: a routine of LAPACK, a file on a slow disk.
void onPatienceEnds(int /*signal*/) { onEnd(endedBy); }

}  // namespace

void installInterruptHandler() {
  findTerminal();
  struct sigaction action{}, before{};
  action.sa_handler = onInterrupt;
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = onPatienceEnds;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = onInterrupt;  // what was printed is written before the end
  sigaction(SIGTERM, &action, nullptr);
  // `nohup` has it ignored.
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

int interruptStatus() { return 128 + endedBy; }

InterruptScope::InterruptScope(rt::CallControl& control) {
  control.reset();
  running = &control;
}

InterruptScope::~InterruptScope() {
  running = nullptr;
  alarm(0);
}

}  // namespace tenc::tool
