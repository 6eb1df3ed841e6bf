#include "tools/repl/AskTerminal.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tenc::repl {
namespace {

/// While alive, what the terminal sends comes at once, and is not shown.
class RawInput {
 public:
  RawInput() {
    isSet_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    if (!isSet_) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  ~RawInput() {
    if (isSet_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  RawInput(const RawInput&) = delete;
  RawInput& operator=(const RawInput&) = delete;

 private:
  termios before_{};
  bool isSet_ = false;
};

/// Escape sequences that came, in one row, and what was typed meanwhile.
struct Answer {
  std::string told, typed;
};

/// "\x1b_...\x1b\\" and "\x1b[...c" are told by the terminal.
Answer sorted(std::string_view came) {
  Answer answer;
  while (!came.empty()) {
    size_t length = 0;
    if (came.starts_with("\x1b_")) {
      length = came.find("\x1b\\");
      if (length != std::string_view::npos) length += 2;
    } else if (came.starts_with("\x1b[?")) {
      length = came.find_first_not_of("0123456789;", 3);
      if (length != std::string_view::npos) length += 1;
    }
    length = std::min(length, came.size());
    (length > 0 ? answer.told : answer.typed) += came.substr(0, std::max<size_t>(length, 1));
    came.remove_prefix(std::max<size_t>(length, 1));
  }
  return answer;
}

/// The answer up to its last letter, `c`: every terminal tells what it is. One that does not is waited for no longer
/// when somebody types.
Answer answerTo(std::string_view question) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kWait{300};
  const RawInput raw;
  std::string came;
  if (::write(STDOUT_FILENO, question.data(), question.size()) != static_cast<ssize_t>(question.size())) return {};
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  for (const auto end = Clock::now() + kWait; !sorted(came).told.ends_with('c');) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0 || poll(&wait, 1, static_cast<int>(left.count())) != 1) break;
    char c = 0;
    if (::read(STDIN_FILENO, &c, 1) != 1) break;
    came += c;
  }
  return sorted(came);
}

/// Whether a terminal says of itself that it shows sixels: attribute 4 of "\x1b[?62;4;22c".
bool tellsOfSixels(std::string_view answer) {
  const size_t begin = answer.rfind("\x1b[?");
  if (begin == std::string_view::npos) return false;
  std::string_view list = answer.substr(begin + 3);
  for (bool first = true; !list.empty(); first = false) {
    const size_t end = std::min(list.find_first_of(";c"), list.size());
    if (!first && list.substr(0, end) == "4") return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

Graphics graphicsOfTerminal(std::string& typed) {
  if (variable("TERM") == "dumb" || variable("TERM").empty()) return Graphics::Text;
  const Answer came = answerTo("\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c");
  typed = came.typed;
  const std::string& answer = came.told;
  if (answer.find("\x1b_Gi=31;OK") != std::string::npos) return Graphics::Kitty;
  if (tellsOfSixels(answer)) return Graphics::Sixel;
  const std::string_view colours = variable("COLORTERM");
  if (colours == "truecolor" || colours == "24bit") return Graphics::TrueColour;
  return Graphics::Colours256;
}

}  // namespace tenc::repl
