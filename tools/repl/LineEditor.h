// Lines from a terminal, with editing, history and completion; from a pipe, as they are.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::repl {

/// Words that may stand for the last word of `line`.
using Completer = std::function<std::vector<std::string>(std::string_view line)>;

/// The line with colours; `cursor` is a place in its bytes, npos where the line is done.
using Painter = std::function<std::string(std::string_view line, size_t cursor)>;

class LineEditor {
 public:
  /// `historyFile` may be empty, and `painter`: then lines have no colours. Nothing of the terminal library is touched
  /// before the first line is read.
  LineEditor(std::string historyFile, Completer completer, Painter painter);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class Got : uint8_t { Line, End, Interrupt };
  /// Reads one line, without its newline. Interrupt: Ctrl-C was pressed, and what was typed is dropped.
  Got read(const std::string& prompt, std::string& line);
  /// The line that the next read gives where it is there already: the rest of a paste, or of what a pipe has sent.
  std::optional<std::string> peek();
  /// What another has read from the terminal, which the next read gives first.
  void typedBefore(std::string_view bytes);
  /// Adds an entry to the history; one of several lines is joined into one.
  void remember(const std::string& entry);
  bool interactive() const { return interactive_; }

 private:
  struct Terminal;
  void open();
  Got readPlain(std::string& line);
  bool fillPlain();

  std::string historyFile_;
  Completer completer_;
  Painter painter_;
  bool interactive_;
  std::string plain_;  ///< read from a pipe or a file, not given out yet
  std::unique_ptr<Terminal> terminal_;
};

/// The last word of a line, which completion replaces: letters, digits, `_`, `.` and a leading `:`.
std::string_view lastWord(std::string_view line);

/// Of the terminal; 80 where there is none.
size_t windowColumns();

/// $XDG_STATE_HOME/tenc/history, else ~/.local/state/tenc/history; empty without a home. Makes the folder.
std::string defaultHistoryFile();

}  // namespace tenc::repl
