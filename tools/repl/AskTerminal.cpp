#include "tools/repl/AskTerminal.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
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

/// The answer up to its last letter, `c`: every terminal tells what it is.
std::string answerTo(std::string_view question) {
  constexpr int kWait = 300;  // ms
  const RawInput raw;
  std::string answer;
  if (::write(STDOUT_FILENO, question.data(), question.size()) != static_cast<ssize_t>(question.size())) return answer;
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  while (!(answer.ends_with('c') && answer.find("\x1b[?") != std::string::npos) && poll(&wait, 1, kWait) == 1) {
    char c = 0;
    if (::read(STDIN_FILENO, &c, 1) != 1) break;
    answer += c;
  }
  return answer;
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

Graphics graphicsOfTerminal() {
  if (variable("TERM") == "dumb" || variable("TERM").empty()) return Graphics::Text;
  const std::string answer = answerTo("\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c");
  if (answer.find("\x1b_Gi=31;OK") != std::string::npos) return Graphics::Kitty;
  if (tellsOfSixels(answer)) return Graphics::Sixel;
  const std::string_view colours = variable("COLORTERM");
  if (colours == "truecolor" || colours == "24bit") return Graphics::TrueColour;
  return Graphics::Colours256;
}

}  // namespace tenc::repl
