// How far a long run has come, in one line at the foot of a terminal: the trip of its outermost loop, the rate, and the
// time that is left. It stands on standard error, and is gone before anything else is written.
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/Call.h"

namespace tenc::tool {

/// What the line says of a loop in trip `trip` of `trips` (0: unknown) after `seconds`.
std::string progressText(uint64_t trip, uint64_t trips, double seconds);

/// Shows the progress of one run while alive, where standard error is a terminal that can erase a line.
class ProgressLine {
 public:
  /// `wanted` false shows nothing. `options` are the run's: what it prints goes through here from now on.
  /// `what` stands before it: "test relu clips".
  ProgressLine(bool wanted, rt::CallOptions& options, std::string what = "");
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void watch();
  void show(const std::string& text);
  void erase();

  std::string what_;
  rt::LoopProgress loop_;
  std::mutex terminal_;
  std::condition_variable ends_;
  bool ended_ = false, visible_ = false;
  std::thread thread_;
};

/// Erases the line of the cursor where standard error is such a terminal: a progress that stands there, or the `^C`
/// that the terminal showed. Signal handlers may call it after `findTerminal`.
void eraseLine();
/// Finds out whether there is such a terminal, before a handler asks.
void findTerminal();

}  // namespace tenc::tool
