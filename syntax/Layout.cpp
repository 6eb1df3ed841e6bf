#include "syntax/Layout.h"

#include <algorithm>
#include <cctype>
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
        if (c == ':' && endsName(s, i)) out_ += ' ';
        if (std::string_view("()[]{}").find(c) != std::string_view::npos) brackets_ += c;
        ++i;
      }
    }
    noBlank();
    codeEnd_ = out_.size();
  }

  /// Whether the colon at `i` ends the name of a parameter, a field or an argument: `a:f32`. In brackets it is that of
  /// a slice, and `cuda:0` is one word.
  bool endsName(std::string_view s, size_t i) const {
    size_t last = brackets_.size();
    for (int depth = 0; last > 0; --last) {
      const bool opens = std::string_view("([{").find(brackets_[last - 1]) != std::string_view::npos;
      if (opens && depth == 0) break;
      depth += opens ? -1 : 1;
    }
    const bool slice = last > 0 && brackets_[last - 1] == '[';
    const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    return !slice && i > 0 && letter(s[i - 1]) && i + 1 < s.size() && letter(s[i + 1]) &&
           std::isdigit(static_cast<unsigned char>(s[i + 1])) == 0;
  }

  static size_t stringEnd(std::string_view s, size_t i) {
    for (++i; i < s.size() && s[i] != '"'; ++i)
      if (s[i] == '\\') ++i;
    return std::min(i + 1, s.size());
  }

  std::string out_, brackets_;
  size_t codeEnd_ = 0;
};

/// How many groups the brackets are of; those of one group are beside each other.
template <class Brackets>
size_t countGroups(Brackets begin, Brackets end) {
  size_t count = 0;
  for (auto b = begin; b != end; ++b) count += b == begin || *(b - 1) != *b ? 1 : 0;
  return count;
}

/// Whether each line goes on with the one above: a comment as the code below it does.
std::vector<bool> continuing(const std::vector<Line>& lines) {
  std::vector<bool> all(lines.size());
  bool below = false;
  for (size_t i = lines.size(); i-- > 0;) {
    if (!lines[i].empty() && !lines[i].startsWithComment()) below = lines[i].continues();
    all[i] = below;
  }
  return all;
}

}  // namespace

std::string layOut(std::string_view text) {
  std::string out;
  // The groups of the open brackets: those that one line opens indent once, and what is opened in place of one that
  // closes, as in `} else {`, belongs to the group of those that stay open from its line.
  std::vector<size_t> open;
  size_t groups = 0;
  bool goesOn = false, gap = false;
  std::vector<Line> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const std::vector<bool> continues = continuing(lines);
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (line.empty()) {
      gap = !out.empty();
      continue;
    }
    if (gap) out += '\n';
    gap = false;
    const size_t closers = std::min(line.leadingClosers(), open.size());
    const auto kept = open.end() - static_cast<std::ptrdiff_t>(closers);
    auto levels = countGroups(open.begin(), kept);
    if (closers > 0 && kept != open.begin() && *(kept - 1) == *kept) --levels;
    if (closers == 0 && (continues[i] || goesOn)) ++levels;
    out.append(kIndent * levels, ' ');
    out += line.text() + '\n';
    size_t least = open.size(), closed = 0;
    for (const char c : line.brackets()) {
      if (c == '(' || c == '[' || c == '{') {
        open.push_back(0);
      } else if (!open.empty()) {
        if (open.size() == least) {
          --least;
          closed = open.back();
        }
        open.pop_back();
      }
    }
    if (open.size() > least) {
      const bool inPlace = least > 0 && open[least - 1] == closed;
      std::fill(open.begin() + static_cast<std::ptrdiff_t>(least), open.end(), inPlace ? closed : ++groups);
    }
    if (!line.startsWithComment()) goesOn = line.goesOn();
  }
  return out;
}

}  // namespace tenc::syntax
