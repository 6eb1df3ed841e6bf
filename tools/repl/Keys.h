// What is typed at a terminal, character by character: pastes whole, and a word when the window or the job changed.
#pragma once
#include <cwchar>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace tenc::repl {

/// Reads standard input, which is a terminal, for a line editor.
class Keys {
 public:
  /// Catches the signals that tell of a new window size and of a job that goes on.
  Keys();

  enum class Event : uint8_t { Character, End, Interrupt, Resized, Resumed };
  /// Waits for the next character. Interrupt: a signal other than those of Resized and Resumed came. What is between
  /// the marks of a bracketed paste comes as it is: a control character of it behind a Ctrl-V, which takes it
  /// literally.
  Event next(wchar_t& c);
  /// Whether characters are read and not given out yet.
  bool hasMore() const { return !pending_.empty(); }
  /// Bytes that were read elsewhere; they come first.
  void give(std::string_view bytes);
  /// The line, of ASCII where it matters, that begins what is read and not given out yet; nothing where that is empty.
  std::optional<std::string> nextLine() const;

 private:
  Event fill();
  bool more();
  bool decode();
  void take(wchar_t c);
  void giveMark();

  std::string bytes_;            ///< read, not decoded yet
  std::wstring mark_;            ///< the beginning of what may be a mark of a paste
  std::deque<wchar_t> pending_;  ///< decoded, not given out yet
  bool pasting_ = false;
};

/// The row, from 0, on which the end of `text` stands when a window of `before` columns that it was written into has
/// `after` columns now, and has broken its rows anew.
size_t rowAfterResize(std::wstring_view text, size_t before, size_t after);

}  // namespace tenc::repl
