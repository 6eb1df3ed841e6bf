#include "tools/tenc/Progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace tenc::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kShownAfter = 2.0;  // seconds
constexpr auto kTick = std::chrono::milliseconds(100);
constexpr std::string_view kErase = "\r\x1b[K";

bool terminalErases() {
  static const bool kErases = [] {
    const char* term = std::getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && term && *term && std::string_view(term) != "dumb";
  }();
  return kErases;
}

size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void writeAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

/// Trips done and to do (0: not known) of the loop of a kernel; nothing when it runs none that tells.
std::optional<std::pair<uint64_t, uint64_t>> tripsOf(const abi::KernelState& k) {
  const auto word = [](const int64_t& w) { return __atomic_load_n(&w, __ATOMIC_RELAXED); };
  const int64_t step = word(k.step), first = word(k.first), end = word(k.end), at = word(k.at);
  if (step == 0) return std::nullopt;
  // The words may be of two loops, one after the other: then they make no sense, or soon they do.
  const auto count = [&](int64_t to) {
    const double trips = (static_cast<double>(to) - static_cast<double>(first)) / static_cast<double>(step);
    return static_cast<uint64_t>(std::clamp(std::ceil(trips), 0.0, 9e18));
  };
  const uint64_t trips = count(end);
  return std::pair{trips == 0 ? count(at) : std::min(count(at), trips), trips};
}

std::string duration(double seconds) {
  const auto s = static_cast<long long>(std::min(seconds + 0.5, 1e15));
  if (s < 60) return std::to_string(s) + " s";
  if (s < 3600) return std::to_string(s / 60) + " min " + std::to_string(s % 60) + " s";
  return std::to_string(s / 3600) + " h " + std::to_string(s % 3600 / 60) + " min";
}

double secondsSince(int64_t start) {
  const auto now = std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
  return static_cast<double>(now - start) * 1e-9;
}

}  // namespace

std::string progressText(uint64_t trip, uint64_t trips, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(trip) / seconds : 0;
  std::string text = "trip " + std::to_string(trip);
  if (trips > 0) {
    const double share = static_cast<double>(trip) / static_cast<double>(trips);
    text += " of " + std::to_string(trips) + " (" + std::to_string(static_cast<int>(100 * share)) + " %)";
  }
  char number[32];
  std::snprintf(number, sizeof number, rate < 10 ? ", %.2f a second, " : ", %.0f a second, ", rate);
  text += number;
  if (trips > 0 && trip > 0) return text + duration(static_cast<double>(trips - trip) / rate) + " left";
  return text + duration(seconds) + " so far";
}

ProgressLine::ProgressLine(bool wanted, rt::CallOptions& options, std::string what) : what_(std::move(what)) {
  if (!wanted || !terminalErases()) return;
  options.progress = &loop_;
  options.print = [this, outer = std::move(options.print)](std::string_view text) {
    const std::lock_guard lock(terminal_);
    const bool stood = visible_;
    erase();
    if (outer) return outer(text);
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (stood) std::fflush(stdout);  // before the line stands there again
  };
  try {
    thread_ = std::thread([this] {
      try {
        watch();
      } catch (const std::bad_alloc&) {
        // It is not shown any more.
      }
    });
  } catch (const std::system_error&) {
    // Without a thread nothing is shown.
  } catch (const std::bad_alloc&) {
    // Nor without memory for one.
  }
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(terminal_);
    ended_ = true;
  }
  ends_.notify_one();
  thread_.join();
  erase();
}

void ProgressLine::watch() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the thread that runs
  const int64_t begun = std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
  std::unique_lock lock(terminal_);
  while (!ends_.wait_for(lock, kTick, [this] { return ended_; })) {
    const int64_t start = loop_.start.load();
    const double seconds = secondsSince(start != 0 ? start : begun);
    if (seconds < kShownAfter) {
      erase();
      continue;
    }
    const abi::KernelState* kernel = loop_.kernel.load();
    const auto inKernel = kernel ? tripsOf(*kernel) : std::nullopt;
    if (inKernel)
      show(progressText(inKernel->first, inKernel->second, seconds));
    else if (start != 0 && !kernel)
      show(progressText(loop_.trip.load(), loop_.trips.load(), seconds));
    else
      show("running for " + duration(seconds));
  }
}

void ProgressLine::show(const std::string& text) {
  visible_ = true;
  const std::string line = what_.empty() ? text : what_ + ": " + text;
  writeAll(std::string(kErase) + line.substr(0, columns() - 1));
}

void ProgressLine::erase() {
  if (!visible_) return;
  writeAll(kErase);
  visible_ = false;
}

void findTerminal() { terminalErases(); }

void eraseLine() {
  if (terminalErases()) writeAll(kErase);
}

}  // namespace tenc::tool
