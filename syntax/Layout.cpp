#include "syntax/Layout.h"

#include <algorithm>
#include <vector>

namespace tenc::syntax {
namespace {

constexpr size_t kIndent = 4;

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && isBlank(s.front())) s.remove_prefix(1);
  while (!s.empty() && isBlank(s.back())) s.remove_suffix(1);
  return s;
}

/// Pieces of one line: what stands between blanks is cut further at marks that want blanks around them.
class Line {
 public:
  explicit Line(std::string_view text) { read(trimmed(text)); }

  const std::string& text() const { return out_; }
  bool empty() const { return out_.empty(); }
  bool startsWithComment() const { return out_.starts_with('#'); }
  /// Brackets in order: `(`, `[`, `{` and what closes them.
  const std::string& brackets() const { return brackets_; }
  size_t leadingClosers() const { return std::min(out_.find_first_not_of(")]}"), out_.size()); }
  bool continues() const { return out_.starts_with("|>") || (out_.starts_with('.') && !out_.starts_with("...")); }
  /// Whether the line ends in what the next one goes on from.
  bool goesOn() const {
    const std::string_view code = trimmed(std::string_view(out_).substr(0, codeEnd_));
    if (code.empty()) return false;
    for (const std::string_view word : {" and", " or", " not"})
      if (code.ends_with(word)) return true;
    return std::string_view("+-*/%@=<>|").find(code.back()) != std::string_view::npos && !code.ends_with("||");
  }

 private:
  /// The length of the mark that `s` starts with and that wants blanks around it; 0: it starts with none.
  static size_t spacedMark(std::string_view s) {
    for (const std::string_view mark :
         {"**=", "//=", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "@=", "->", "|>", "="})
      if (s.starts_with(mark)) return mark.size();
    return 0;
  }

  void blank() {
    if (!out_.empty() && out_.back() != ' ') out_ += ' ';
  }
  void noBlank() {
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
  }

  void read(std::string_view s) {
    for (size_t i = 0; i < s.size();) {
      const char c = s[i];
      if (c == '#') {  // a comment keeps the distance that it has
        size_t before = i;
        while (before > 0 && isBlank(s[before - 1])) --before;
        noBlank();
        codeEnd_ = out_.size();
        if (!out_.empty()) out_.append(std::max<size_t>(1, i - before), ' ');
        out_ += s.substr(i);
        return;
      }
      if (c == '"') {
        const size_t end = stringEnd(s, i);
        out_ += s.substr(i, end - i);
        i = end;
      } else if (isBlank(c)) {
        const char last = out_.empty() ? ' ' : out_.back();
        if (last != '(' && last != '[') blank();
        ++i;
      } else if (const size_t length = spacedMark(s.substr(i)); length > 0) {
        blank();
        out_ += s.substr(i, length);
        out_ += ' ';
        i += length;
      } else {
        if (c == ',' || c == ')' || c == ']') noBlank();
        out_ += c;
        if (c == ',') out_ += ' ';
        if (std::string_view("()[]{}").find(c) != std::string_view::npos) brackets_ += c;
        ++i;
      }
    }
    noBlank();
    codeEnd_ = out_.size();
  }

  static size_t stringEnd(std::string_view s, size_t i) {
    for (++i; i < s.size() && s[i] != '"'; ++i)
      if (s[i] == '\\') ++i;
    return std::min(i + 1, s.size());
  }

  std::string out_, brackets_;
  size_t codeEnd_ = 0;
};

}  // namespace

std::string layOut(std::string_view text) {
  std::string out;
  // Open brackets; of those opened on one line only the first one that stays open indents.
  std::vector<bool> open;
  bool goesOn = false, gap = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const Line line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) {
      gap = !out.empty();
      continue;
    }
    if (gap) out += '\n';
    gap = false;
    const size_t closers = std::min(line.leadingClosers(), open.size());
    auto levels = std::count(open.begin(), open.end() - static_cast<std::ptrdiff_t>(closers), true);
    if (closers == 0 && (line.continues() || goesOn)) ++levels;
    out.append(kIndent * static_cast<size_t>(levels), ' ');
    out += line.text() + '\n';
    const size_t before = open.size();
    size_t least = before;
    for (const char c : line.brackets()) {
      if (c == '(' || c == '[' || c == '{') {
        open.push_back(false);
      } else if (!open.empty()) {
        open.pop_back();
        least = std::min(least, open.size());
      }
    }
    if (open.size() > least) open[least] = true;
    if (!line.startsWithComment()) goesOn = line.goesOn();
  }
  return out;
}

}  // namespace tenc::syntax
