#include "tools/repl/Keys.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <vector>

namespace tenc::repl {
namespace {

constexpr std::wstring_view kPasteBegins = L"\x1b[200~";
constexpr std::wstring_view kPasteEnds = L"\x1b[201~";
constexpr wchar_t kLiteral = 0x16;  // Ctrl-V
constexpr size_t kTabWidth = 8;
constexpr int kWithinSequence = 25;  // ms

// A signal handler has no other way to tell.
constinit std::atomic<bool> resized{false};
constinit std::atomic<bool> resumed{false};

void onResize(int) { resized = true; }
void onResume(int) { resumed = true; }

}  // namespace

Keys::Keys() {
  struct sigaction action{};
  action.sa_flags = SA_RESTART;  // waiting for a key ends all the same
  action.sa_handler = onResize;
  sigaction(SIGWINCH, &action, nullptr);
  action.sa_handler = onResume;
  sigaction(SIGCONT, &action, nullptr);
}

Keys::Event Keys::next(wchar_t& c) {
  while (pending_.empty() || pasting_) {
    // A paste is read to its end first: between two lines the terminal would show what comes a second time.
    if (const Event event = fill(); event != Event::Character) return event;
    if (!pasting_ && bytes_.empty() && !more()) giveMark();
  }
  c = pending_.front();
  pending_.pop_front();
  return Event::Character;
}

void Keys::give(std::string_view bytes) {
  bytes_ += bytes;
  while (decode()) {}
  if (!pasting_ && bytes_.empty()) giveMark();
}

std::optional<std::string> Keys::nextLine() const {
  if (pending_.empty()) return std::nullopt;
  std::string line;
  for (const wchar_t c : pending_) {
    if (c == L'\n' || c == L'\r') break;
    line += c < 0x80 ? static_cast<char>(c) : '?';
  }
  return line;
}

/// Whether more follows at once, as it does in the sequences that keys and pastes send.
bool Keys::more() {
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  return !mark_.empty() && poll(&wait, 1, kWithinSequence) == 1;
}

/// Reads what there is, at least a byte.
Keys::Event Keys::fill() {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  for (const int signal : {SIGINT, SIGWINCH, SIGCONT}) sigaddset(&blocked, signal);
  // The signals come only while poll waits, so that none is missed between the look at the flags and the wait.
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  Event event = Event::Character;
  if (resumed.exchange(false)) {
    event = Event::Resumed;
  } else if (resized.exchange(false)) {
    event = Event::Resized;
  } else {
    pollfd wait{STDIN_FILENO, POLLIN, 0};
    if (ppoll(&wait, 1, nullptr, &before) < 0)
      event = errno != EINTR ? Event::End : resumed.exchange(false) ? Event::Resumed : Event::Interrupt;
    if (event == Event::Interrupt && resized.exchange(false)) event = Event::Resized;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (event == Event::Interrupt) {
    bytes_.clear();
    mark_.clear();
    pending_.clear();
    pasting_ = false;
  }
  if (event != Event::Character) return event;
  char buffer[4096];
  const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
  if (n <= 0) return n < 0 && errno == EINTR ? Event::Interrupt : Event::End;
  bytes_.append(buffer, static_cast<size_t>(n));
  while (decode()) {}
  return Event::Character;
}

/// One character of the bytes read; false when there is none that is whole.
bool Keys::decode() {
  if (bytes_.empty()) return false;
  mbstate_t state{};
  wchar_t c = 0;
  const size_t n = std::mbrtowc(&c, bytes_.data(), bytes_.size(), &state);
  if (n == static_cast<size_t>(-2)) return false;
  const bool bad = n == static_cast<size_t>(-1);
  bytes_.erase(0, bad ? 1 : std::max<size_t>(n, 1));
  if (!bad) take(c);
  return true;
}

void Keys::take(wchar_t c) {
  const std::wstring_view mark = pasting_ ? kPasteEnds : kPasteBegins;
  mark_ += c;
  if (mark_ == mark) {
    pasting_ = !pasting_;
    mark_.clear();
  } else if (!mark.starts_with(mark_)) {
    // None; but its last character may begin one.
    const bool begins = mark_.size() > 1 && c == mark.front();
    if (begins) mark_.pop_back();
    giveMark();
    if (begins) mark_ = c;
  }
}

/// What looked like the beginning of a mark was typed.
void Keys::giveMark() {
  for (const wchar_t c : mark_) {
    if (pasting_ && c != L'\n' && c != L'\r' && (c < L' ' || c == 0x7f)) pending_.push_back(kLiteral);
    pending_.push_back(pasting_ && c == L'\r' ? L'\n' : c);
  }
  mark_.clear();
}

namespace {

size_t widthAt(wchar_t c, size_t column) {
  if (c == L'\t') return kTabWidth - column % kTabWidth;
  if (c < L' ' || c == 0x7f) return 2;  // ^A
  return static_cast<size_t>(std::max(wcwidth(c), 0));
}

/// The rows of a text, which the window breaks where the next character has no room.
std::vector<std::wstring> rowsOf(std::wstring_view text, size_t columns, std::vector<bool>& full) {
  std::vector<std::wstring> rows(1);
  size_t column = 0;
  full.clear();
  auto next = [&] {
    full.push_back(column >= columns);
    rows.emplace_back();
    column = 0;
  };
  for (const wchar_t c : text) {
    if (c == L'\n') {
      next();
      continue;
    }
    const size_t width = widthAt(c, column);
    if (column > 0 && column + width > columns) next();
    rows.back() += c;
    column += width;
  }
  if (column >= columns) next();  // the cursor goes on to the next row when one is full
  full.push_back(false);
  return rows;
}

}  // namespace

size_t rowAfterResize(std::wstring_view text, size_t before, size_t after) {
  std::vector<bool> full;
  std::vector<bool> ignored;
  const std::vector<std::wstring> rows = rowsOf(text, before, full);
  // The window joins a full row with the next one; where a wide character left a column empty the row has ended.
  size_t row = 0;
  std::wstring line;
  for (size_t i = 0; i < rows.size(); ++i) {
    line += rows[i];
    if (full[i]) continue;
    row += rowsOf(line, after, ignored).size();
    line.clear();
  }
  return row - 1;
}

}  // namespace tenc::repl
