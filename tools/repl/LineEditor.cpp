#include "tools/repl/LineEditor.h"

#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <filesystem>
#include <system_error>

#include "tools/repl/Keys.h"
#include "tools/repl/Words.h"

namespace tenc::repl {

namespace {

constexpr int kHistorySize = 2000;

std::string commonPrefix(const std::vector<std::string>& words) {
  std::string prefix = words[0];
  for (const std::string& w : words) {
    const auto [a, b] = std::mismatch(prefix.begin(), prefix.end(), w.begin(), w.end());
    prefix.erase(a, prefix.end());
  }
  return prefix;
}

/// A line without its comment and without blanks around it.
std::string trimmedCode(const std::string& line) {
  bool inString = false;
  size_t end = 0;
  for (; end < line.size() && (inString || line[end] != '#'); ++end) {
    if (inString && line[end] == '\\')
      ++end;
    else if (line[end] == '"')
      inString = !inString;
  }
  const std::string code = line.substr(0, end);
  const size_t first = code.find_first_not_of(" \t");
  return first == std::string::npos ? "" : code.substr(first, code.find_last_not_of(" \t") + 1 - first);
}

/// Bracketed pastes: the terminal marks where one begins and ends.
constexpr const char* kMarkPastes = "\x1b[?2004h";
constexpr const char* kPlainPastes = "\x1b[?2004l";

/// The columns for which the editor draws: what the window had when it last asked.
size_t editorColumns(EditLine* line) {
  char name[] = "co";
  int columns = 0;
  el_get(line, EL_GETTC, name, &columns);
  return static_cast<size_t>(std::max(columns, 1));
}

/// Takes over the new size of the window and draws the line again, from the row where it begins now: all terminals but
/// one break the rows anew by themselves.
void redrawResized(EditLine* line, const std::string& prompt, size_t before) {
  const bool cuts = std::getenv("XTERM_VERSION") != nullptr;
  const LineInfoW* info = el_wline(line);
  std::wstring text(prompt.begin(), prompt.end());
  text.append(info->buffer, info->cursor);
  const size_t rows = rowAfterResize(text, before, cuts ? before : windowColumns());
  el_resize(line);
  std::fputc('\r', stdout);
  if (rows > 0) std::fprintf(stdout, "\x1b[%zuA", rows);
  // Some terminals keep what is erased from the top left corner on: not from there, then.
  std::fputs(" \x1b[J\r", stdout);
  el_set(line, EL_REFRESH);
}

/// Below the line; what all have up to their last dot is left out.
void listInColumns(const std::vector<std::string>& words) {
  const size_t base = words[0].rfind('.') + 1;  // npos + 1 is 0
  size_t widest = 0;
  for (const std::string& w : words) widest = std::max(widest, w.size() - std::min(base, w.size()));
  const size_t columns = std::max<size_t>(1, windowColumns() / (widest + 2));
  const size_t rows = (words.size() + columns - 1) / columns;
  std::fputc('\n', stdout);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = r; i < words.size(); i += rows)
      std::fprintf(stdout, "%-*s", i + rows < words.size() ? static_cast<int>(widest + 2) : 0,
                   words[i].c_str() + std::min(base, words[i].size()));
    std::fputc('\n', stdout);
  }
}

}  // namespace

/// Whether the line is shown as it is: a search below it, and characters such as ^A, are not painted over.
bool isPlain(std::wstring_view text) {
  return std::all_of(text.begin(), text.end(), [](wchar_t c) { return c >= L' ' && c != 0x7f; });
}

std::string narrow(std::wstring_view text) {
  std::string out;
  char bytes[MB_LEN_MAX];
  mbstate_t state{};
  for (const wchar_t c : text) {
    const size_t n = std::wcrtomb(bytes, c, &state);
    if (n != static_cast<size_t>(-1)) out.append(bytes, n);
  }
  return out;
}

struct LineEditor::Terminal {
  EditLine* line = nullptr;
  History* history = nullptr;
  std::string prompt;
  Completer* completer = nullptr;
  const Painter* painter = nullptr;
  std::string painted;      ///< what stands there with colours
  bool hadColours = false;  ///< of what stands there
  Keys keys;
  size_t columns = windowColumns();  ///< for which the line was drawn

  /// Writes the line once more where the editor has drawn it, with colours. `done`: no bracket is marked any more.
  void paint(bool done) {
    if (!*painter) return;
    const LineInfoW* info = el_wline(line);
    const std::wstring_view text(info->buffer, static_cast<size_t>(info->lastchar - info->buffer));
    const std::wstring_view before = text.substr(0, static_cast<size_t>(info->cursor - info->buffer));
    const std::string plain = narrow(text);
    if (text.empty() || !isPlain(text)) return painted.clear();
    const std::string colours = (*painter)(plain, done ? std::string::npos : narrow(before).size());
    // The editor writes what it changes without colours.
    const bool same = done ? colours == painted : colours == plain && !hadColours;
    painted = colours;
    hadColours = colours != plain;
    if (same) return;
    const std::wstring wide(prompt.begin(), prompt.end());
    const size_t row = rowAfterResize(wide + std::wstring(before), columns, columns);
    std::fputs(
        "\x1b"
        "7\r",
        stdout);
    if (row > 0) std::fprintf(stdout, "\x1b[%zuA", row);
    std::fprintf(stdout,
                 "%s%s\x1b"
                 "8",
                 prompt.c_str(), colours.c_str());
    std::fflush(stdout);
  }

  /// A character for the editor: 1, or 0 at the end, -1 at an interrupt.
  int next(wchar_t* c) {
    if (!keys.hasMore()) paint(false);
    while (true) {
      switch (keys.next(*c)) {
        case Keys::Event::Character:
          if (*c == L'\n' || *c == L'\r') paint(true);
          return 1;
        case Keys::Event::End: return 0;
        case Keys::Event::Interrupt: errno = EINTR; return -1;
        case Keys::Event::Resized:
          redrawResized(line, prompt, columns);
          columns = editorColumns(line);
          paint(false);
          break;
        case Keys::Event::Resumed:
          // The shell has set the terminal to its own ways meanwhile.
          el_set(line, EL_PREP_TERM, 0);
          el_set(line, EL_PREP_TERM, 1);
          std::fputs(kMarkPastes, stdout);
          el_set(line, EL_REFRESH);
          paint(false);
          break;
      }
    }
  }

  ~Terminal() {
    if (line) el_end(line);
    if (history) history_end(history);
  }
};

size_t windowColumns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string_view lastWord(std::string_view line) {
  // Behind a command that takes a file the word is a path.
  for (const std::string_view command : {":load ", ":save "})
    if (line.starts_with(command)) return line.substr(std::min(line.find_last_of(' ') + 1, line.size()));
  size_t start = line.size();
  auto isWord = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  while (start > 0 && isWord(line[start - 1])) --start;
  if (start == 1 && line[0] == ':') start = 0;
  return line.substr(start);
}

std::string defaultHistoryFile() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (state && *state)
    folder = state;
  else if (home && *home)
    folder = std::filesystem::path(home) / ".local" / "state";
  else
    return "";
  folder /= "tenc";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? "" : (folder / "history").string();
}

LineEditor::LineEditor(std::string historyFile, Completer completer, Painter painter)
    : historyFile_(std::move(historyFile)),
      completer_(std::move(completer)),
      painter_(std::move(painter)),
      interactive_(isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) {}

LineEditor::~LineEditor() {
  if (!terminal_ || historyFile_.empty()) return;
  HistEvent event;
  history(terminal_->history, &event, H_SAVE, historyFile_.c_str());
}

void LineEditor::open() {
  // Letters beyond ASCII are letters only in a locale that has them.
  const char* locale = std::setlocale(LC_CTYPE, "");
  if (!locale || std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
  terminal_ = std::make_unique<Terminal>();
  Terminal& t = *terminal_;
  t.completer = &completer_;
  t.painter = &painter_;
  t.history = history_init();
  HistEvent event;
  history(t.history, &event, H_SETSIZE, kHistorySize);
  history(t.history, &event, H_SETUNIQUE, 1);
  if (!historyFile_.empty()) history(t.history, &event, H_LOAD, historyFile_.c_str());
  t.line = el_init("tenc", stdin, stdout, stderr);
  el_set(t.line, EL_CLIENTDATA, &t);
  using PromptFn = const char* (*)(EditLine*);
  const PromptFn prompt = [](EditLine* line) {
    void* data = nullptr;
    el_get(line, EL_CLIENTDATA, &data);
    return const_cast<const char*>(static_cast<Terminal*>(data)->prompt.c_str());
  };
  el_set(t.line, EL_PROMPT, prompt);
  el_set(t.line, EL_EDITOR, "emacs");
  el_set(t.line, EL_HIST, history, t.history);
  using KeyFn = int (*)(EditLine*, wchar_t*);
  const KeyFn key = [](EditLine* line, wchar_t* c) -> int {
    void* data = nullptr;
    el_get(line, EL_CLIENTDATA, &data);
    return static_cast<Terminal*>(data)->next(c);
  };
  el_wset(t.line, EL_GETCFN, key);
  using CommandFn = unsigned char (*)(EditLine*, wint_t);
  const CommandFn complete = [](EditLine* line, wint_t) -> unsigned char {
    void* data = nullptr;
    el_get(line, EL_CLIENTDATA, &data);
    const LineInfo* info = el_line(line);
    const std::string_view before(info->buffer, static_cast<size_t>(info->cursor - info->buffer));
    const auto words = (*static_cast<Terminal*>(data)->completer)(before);
    if (words.empty()) return CC_REFRESH_BEEP;
    const std::string_view word = lastWord(before);
    const std::string prefix = commonPrefix(words);
    if (prefix.size() > word.size()) {
      el_insertstr(line, prefix.substr(word.size()).c_str());
      return CC_REFRESH;
    }
    if (words.size() == 1) return CC_REFRESH;
    listInColumns(words);
    return CC_REDISPLAY;
  };
  // The narrow call copies both strings and never frees them.
  el_wset(t.line, EL_ADDFN, L"tenc-complete", L"completes a name", complete);
  el_set(t.line, EL_BIND, "^I", "tenc-complete", nullptr);
  el_set(t.line, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(t.line, nullptr);  // the user's ~/.editrc
}

namespace {
/// A line of a file whose lines end as on Windows.
std::string withoutReturn(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  return line;
}
}  // namespace

/// Takes what a pipe or file has; false at its end.
bool LineEditor::fillPlain() {
  char buffer[4096];
  const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
  if (n > 0) plain_.append(buffer, static_cast<size_t>(n));
  return n > 0;
}

LineEditor::Got LineEditor::readPlain(std::string& line) {
  while (plain_.find('\n') == std::string::npos && fillPlain()) {}
  if (plain_.empty()) return Got::End;
  const size_t end = plain_.find('\n');
  line = withoutReturn(plain_.substr(0, end));
  plain_.erase(0, end == std::string::npos ? end : end + 1);
  return Got::Line;
}

std::optional<std::string> LineEditor::peek() {
  if (interactive_) return terminal_ ? terminal_->keys.nextLine() : std::nullopt;
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  while (plain_.find('\n') == std::string::npos && poll(&wait, 1, 0) == 1 && fillPlain()) {}
  if (plain_.empty()) return std::nullopt;
  return withoutReturn(plain_.substr(0, plain_.find('\n')));
}

void LineEditor::typedBefore(std::string_view bytes) {
  if (terminal_) terminal_->keys.give(bytes);
}

LineEditor::Got LineEditor::read(const std::string& prompt, std::string& line) {
  line.clear();
  if (!interactive_) return readPlain(line);
  if (!terminal_) open();
  terminal_->prompt = prompt;
  terminal_->painted.clear();
  terminal_->hadColours = false;
  if (windowColumns() != terminal_->columns) el_resize(terminal_->line);
  terminal_->columns = editorColumns(terminal_->line);
  std::fputs(kMarkPastes, stdout);
  int count = 0;
  errno = 0;
  const char* text = el_gets(terminal_->line, &count);
  const int error = errno;
  std::fputs(kPlainPastes, stdout);
  if (!text || count <= 0) {
    std::fputc('\n', stdout);
    if (error != EINTR) return Got::End;
    el_reset(terminal_->line);
    return Got::Interrupt;
  }
  line.assign(text, static_cast<size_t>(count));
  if (!line.empty() && line.back() == '\n') line.pop_back();
  return Got::Line;
}

void LineEditor::remember(const std::string& entry) {
  if (!terminal_ || entry.find_first_not_of(" \t\n") == std::string::npos) return;
  HistEvent event;
  if (entry.find('\n') == std::string::npos) {
    history(terminal_->history, &event, H_ENTER, entry.c_str());
    return;
  }
  // The history has one line an entry: a newline that ended a statement becomes a `;`, and comments are left out, which
  // would swallow what is joined behind them.
  std::string joined;
  for (size_t begin = 0; begin <= entry.size();) {
    const size_t end = std::min(entry.find('\n', begin), entry.size());
    const std::string part = trimmedCode(entry.substr(begin, end - begin));
    begin = end + 1;
    if (part.empty()) continue;
    const bool ends = !joined.empty() && std::string_view("{([,=+-*/|").find(joined.back()) == std::string_view::npos &&
                      std::string_view(")]}").find(part.front()) == std::string_view::npos && !continuesLine(part);
    joined += (joined.empty() ? "" : ends ? "; " : " ") + part;
  }
  if (!joined.empty()) history(terminal_->history, &event, H_ENTER, joined.c_str());
}

}  // namespace tenc::repl
