#include "syntax/Layout.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>
#include <vector>

#include "syntax/Tokens.h"

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
      } else if (isWordPart(c)) {
        const size_t end = isDigit(c) ? numberEnd(s, i) : wordEnd(s, i);
        if (!out_.empty() && out_.back() == '}') blank();
        out_ += s.substr(i, end - i);
        i = end;
      } else if (const size_t length = spacedMark(s.substr(i)); length > 0) {
        spaced(s, i, length);
      } else if (const size_t sign = operatorAt(s.substr(i)); sign > 0 && endsOperand()) {
        spaced(s, i, sign);
      } else if (sign > 1) {
        out_ += s.substr(i, sign);
        i += sign;
      } else {
        mark(s, i++);
      }
    }
    noBlank();
    codeEnd_ = out_.size();
  }

  void spaced(std::string_view s, size_t& i, size_t length) {
    blank();
    out_ += s.substr(i, length);
    out_ += ' ';
    i += length;
  }

  /// A bracket or another mark of one character.
  void mark(std::string_view s, size_t i) {
    const char c = s[i];
    const char last = out_.empty() ? ' ' : out_.back();
    if (c == ',' || c == ')' || c == ']') noBlank();
    if (c == '{' && (isWordPart(last) || last == ')' || last == ']' || last == '"')) blank();
    if (c == '}' && last != '{') blank();
    out_ += c;
    const bool closesBar = c == '|' && std::exchange(inBars_, !inBars_);
    const bool opens = c == '{' && i + 1 < s.size() && s[i + 1] != '}';
    if (c == ',' || opens || closesBar || (c == ':' && endsName(s, i))) out_ += ' ';
    if (std::string_view("()[]{}").find(c) != std::string_view::npos) brackets_ += c;
  }

  /// Whether what stands there so far ends in an operand, so that an operator has two.
  bool endsOperand() const {
    const std::string_view code = trimmed(out_);
    if (code.empty() ||
        !(isWordPart(code.back()) || std::string_view(")]\"").find(code.back()) != std::string_view::npos))
      return false;
    size_t begin = code.size();
    while (begin > 0 && isWordPart(code[begin - 1])) --begin;
    static constexpr std::string_view kWords[] = {"return", "and",   "or",     "not",    "in",  "by",   "if",
                                                  "else",   "while", "assert", "static", "rev", "state"};
    return std::find(std::begin(kWords), std::end(kWords), code.substr(begin)) == std::end(kWords);
  }

  /// The length of the operator that `s` starts with, which may have one operand or two; `@` may begin an annotation.
  static size_t operatorAt(std::string_view s) {
    if (s.starts_with("**") || s.starts_with("//")) return 2;
    return std::string_view("+-*/%<>").find(s[0]) != std::string_view::npos ? 1 : 0;
  }

  static bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
  static size_t wordEnd(std::string_view s, size_t i) {
    while (i < s.size() && isWordPart(s[i])) ++i;
    return i;
  }
  /// With a fraction and an exponent, `1.5e-3`.
  static size_t numberEnd(std::string_view s, size_t i) {
    while (i < s.size() && (isDigit(s[i]) || s[i] == '_')) ++i;
    if (i + 1 < s.size() && s[i] == '.' && isDigit(s[i + 1])) {
      ++i;
      while (i < s.size() && (isDigit(s[i]) || s[i] == '_')) ++i;
    }
    const size_t sign = i + 1 < s.size() && (s[i + 1] == '-' || s[i + 1] == '+') ? 2 : 1;
    const bool exponent = i < s.size() && (s[i] == 'e' || s[i] == 'E') && i + sign < s.size() && isDigit(s[i + sign]);
    return wordEnd(s, exponent ? i + sign : i);
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
    if (slice || i == 0 || !isWordPart(s[i - 1]) || i + 1 >= s.size() || isBlank(s[i + 1])) return false;
    if (!isDigit(s[i + 1])) return true;
    size_t begin = i;
    while (begin > 0 && (isWordPart(s[begin - 1]) || s[begin - 1] == '.')) --begin;
    const bool places = (begin > 0 && s[begin - 1] == '@') || s.starts_with("device ");
    return !places && !isDevice(s.substr(begin, wordEnd(s, i + 1) - begin));
  }

  static bool isDevice(std::string_view text) { return tokens(text).size() == 1; }

  static size_t stringEnd(std::string_view s, size_t i) {
    for (++i; i < s.size() && s[i] != '"'; ++i)
      if (s[i] == '\\') ++i;
    return std::min(i + 1, s.size());
  }

  std::string out_, brackets_;
  bool inBars_ = false;  ///< between those around the parameters of a lambda
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
