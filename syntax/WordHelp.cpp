// Statements of other languages that are known by a word: `lambda x: x`, `raise ValueError("...")`, `with no_grad():`.
#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>

#include "syntax/StatementHelp.h"
#include "syntax/WordView.h"

namespace tenc::syntax {

namespace {

class WordHelper : private WordView {
 public:
  using WordView::WordView;

  std::vector<Edit> edits(std::string_view word) const {
    if (word == "lambda") return lambda();
    if (word == "mut") return mutableName();
    if (word == "as" || word == "from") return importEdits(word == "from", word_, p_);
    if (word == "is") return identity();
    if (word == "raise" || word == "throw") return raised();
    if (word == "with") return context();
    if (word == "del" || word == "pass") return gone();
    return {};
  }

 private:
  /// `lambda a, b: e` is `|a, b| e`.
  std::vector<Edit> lambda() const {
    ssize_t n = 1;
    while (is(n, T::NAME) || is(n, T::COMMA)) ++n;
    if (is(n, T::ASSIGN)) return withDefaults();
    if (!is(n, T::COLON)) return {};
    if (n == 1) return {{position(wordSpan().begin, span(*behindWord(1)).end), "||"}};
    return {{position(wordSpan().begin, span(*behindWord(1)).begin), "|"}, {span(*behindWord(n)), "|"}};
  }

  /// `f = lambda x, y=2: e` of the script is `fn f(x, y = 2) = e`.
  std::vector<Edit> withDefaults() const {
    const bool named = is(-1, T::ASSIGN) && is(-2, T::NAME) && (!behindWord(-3) || is(-3, T::NL));
    if (!named || p_.reporter.position(span(*behindWord(-2)).begin).column != 1) return {};
    const Token* colon = outside(at0_ + 1, [](size_t type) { return type == T::COLON; });
    if (!colon || colon->getType() != T::COLON) return {};
    const std::string parameters = between(wordSpan().end, span(*colon).begin);
    return {{position(span(*behindWord(-2)).begin, span(*colon).end), "fn " + textOf(-2) + "(" + parameters + ") ="}};
  }

  std::vector<Edit> mutableName() const {
    const Token* let = behindWord(-1);
    if (!let || let->getType() != T::LET) return {};
    return {{position(span(*let).begin, wordSpan().end), "var"}};
  }

  /// `x is None`: every name has a value.
  std::vector<Edit> identity() const {
    const bool negated = is(1, T::NOT);
    const ssize_t n = negated ? 2 : 1;
    const Token* left = behindWord(-1);
    const Token* before = behindWord(-2);
    const bool nothing = behindWord(n) && behindWord(n)->getText() == "None";
    const bool whole = left && left->getType() == T::NAME && (!before || before->getType() != T::DOT);
    // What is without a value until a loop gives it one is asked for that, but for `best is None or x < best`.
    const bool guards = !negated && is(n + 1, T::OR);
    const bool known = !guards && nothing && whole && startsFromNone(left->getText());
    const bool same = nothing && left && left->getText() == "None";  // `None is None`
    if (nothing && whole && !known)
      return {{position(span(*left).begin, span(*behindWord(n)).end), negated != same ? "true" : "false"}};
    // Whether two names stand for one object is no question here; of tensors `==` would give bools.
    const bool value = nothing || is(n, T::INT) || textOf(n) == "True" || textOf(n) == "False";
    if (!value) return {};
    return {negated ? Edit{position(wordSpan().begin, span(*behindWord(1)).end), "!="} : Edit{wordSpan(), "=="}};
  }

  /// Whether a statement gives the name `None`, or a parameter has that for a default.
  bool startsFromNone(std::string_view name) const {
    for (ssize_t n = -1; behindWord(n); --n) {
      const Token* before = behindWord(n - 1);
      const bool begins = syntax::startsStatement(before) || before->getType() == T::LET ||
                          before->getType() == T::VAR || before->getType() == T::COMMA ||
                          before->getType() == T::LPAREN;
      if (textOf(n) == name && begins && is(n + 1, T::ASSIGN) && textOf(n + 2) == "None") return true;
    }
    return false;
  }

  /// `raise ValueError("...")`
  std::vector<Edit> raised() const {
    if (!behindWord(1) || is(1, T::NL) || is(1, T::RBRACE)) return {{wordSpan(), "assert false, \"stopped\""}};
    if (!is(1, T::NAME)) return {};
    if (!is(2, T::LPAREN))
      return {
          {position(wordSpan().begin, span(*behindWord(1)).end), "assert false, \"" + behindWord(1)->getText() + "\""}};
    const Token* close = outside(at0_ + 3, [](size_t) { return false; });
    if (!close || close->getType() != T::RPAREN) return {};
    const ssize_t message = is(3, T::NAME) ? 4 : 3;  // the prefix of a string
    const bool text = is(message, T::STRING) || is(message, T::STR_OPEN);
    std::string said = text ? between(span(*behindWord(message)).begin, span(*close).begin) : "";
    if (said.empty() && is(3, T::RPAREN)) said = "\"" + behindWord(1)->getText() + "\"";
    if (said.empty()) return {};
    return {{position(wordSpan().begin, span(*close).end), "assert false, " + said}};
  }

  /// What each statement of the block of `with torch.autocast("cuda"):` is marked with; nothing for a mode that TL has
  /// not, an empty text for what is left out. The context stands between two tokens behind the word.
  std::optional<std::string> markOf(ssize_t begin, ssize_t end) const {
    std::string name, device;
    bool given = false, halves = false, off = false;
    for (ssize_t n = begin; n < end; ++n) {
      const std::string text = behindWord(n)->getText();
      given = given || is(n, T::LPAREN);
      if (!given && !is(n, T::DOT)) name = text;
      const std::string value = n + 2 < end && is(n + 1, T::ASSIGN) ? textOf(n + 2) : "";
      if (text == "enabled" && value != "True" && value != "False") return std::nullopt;
      if (text == "dtype" && value != "torch" && !is16(value)) return std::nullopt;
      if (text == "torch" && given && is(n + 1, T::DOT) && !is16(textOf(n + 2))) return std::nullopt;
      halves = halves || text == "float16" || text == "half";
      off = off || (text == "enabled" && value == "False");
      if (device.empty() && is(n, T::STRING)) device = text.substr(1, text.size() - 2);
      if (is(n, T::NAME) && text == "as") return std::nullopt;
    }
    // Within the block of another one it would say something.
    if (off && name == "autocast" && namedBefore(name)) return std::nullopt;
    if (off || std::ranges::find(kNothing, name) != std::end(kNothing)) return "";
    if (name == "autocast") return halves ? "@autocast(f16) " : "@autocast(bf16) ";
    return name == "device" && isDevice(device) ? std::optional("@" + device + " ") : std::nullopt;
  }
  static constexpr std::string_view kNothing[] = {"no_grad",     "inference_mode", "set_grad_enabled",
                                                  "enable_grad", "detect_anomaly", "set_detect_anomaly",
                                                  "errstate",    "printoptions",   "catch_warnings"};
  /// `cuda`, `cuda:1`
  static bool isDevice(std::string_view text) {
    const auto isLetter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
    const auto isDigit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    const size_t colon = std::min(text.find(':'), text.size());
    const std::string_view kind = text.substr(0, colon), number = text.substr(std::min(colon + 1, text.size()));
    return !kind.empty() && std::ranges::all_of(kind, isLetter) && std::ranges::all_of(number, isDigit) &&
           (colon == text.size() || !number.empty());
  }
  static bool is16(std::string_view dtype) { return dtype == "float16" || dtype == "half" || dtype == "bfloat16"; }
  bool namedBefore(std::string_view name) const {
    for (ssize_t n = -1; behindWord(n); --n)
      if (textOf(n) == name) return true;
    return false;
  }

  /// The marks of all contexts up to a token: `with torch.no_grad(), torch.autocast("cuda"):`.
  std::optional<std::string> marksOf(ssize_t end) const {
    std::string marks;
    int depth = 0;
    for (ssize_t begin = 1, n = 1; n <= end; ++n) {
      depth += bracket(n);
      if (n < end && (depth > 0 || !is(n, T::COMMA))) continue;
      const auto mark = markOf(begin, n);
      if (!mark) return std::nullopt;
      if (marks.find(*mark) == std::string::npos) marks += *mark;
      begin = n + 1;
    }
    return marks;
  }
  int bracket(ssize_t n) const {
    if (behindWord(n) && opens(*behindWord(n))) return 1;
    return is(n, T::RPAREN) || is(n, T::RBRACK) || is(n, T::RBRACE) ? -1 : 0;
  }

  /// `with torch.no_grad():`
  std::vector<Edit> context() const {
    ssize_t n = 1;
    for (int depth = 0; behindWord(n) && !(depth == 0 && is(n, T::COLON)) && !is(n, T::NL); ++n) depth += bracket(n);
    if (!is(n, T::COLON)) return {};
    const std::optional<std::string> mark = marksOf(n);
    const std::string_view text = p_.reporter.text();
    const size_t line = text.rfind('\n', wordSpan().begin) + 1;  // npos + 1: the first
    const size_t own = wordSpan().begin - line;
    const bool alone = text.substr(line, own).find_first_not_of(" \t") == std::string_view::npos;
    if (!mark || !alone) return {};
    const auto marked = markedStatements(n + 1, own, *mark);
    if (!marked) return {};
    p_.reporter.loseBlock();
    const size_t colon = span(*behindWord(n)).end, lineEnd = std::min(text.find('\n', colon), text.size());
    const size_t body = std::min(text.find_first_not_of(" \t\r", colon), text.size());
    if (body < lineEnd && text[body] != '#') return {{position(wordSpan().begin, body), *mark}};
    // What it holds stands where it stood, so that names go on to be seen.
    std::vector<Edit> edits;
    if (body < lineEnd)
      edits.push_back({position(wordSpan().begin, body), ""});  // a comment
    else
      edits.push_back({position(line, std::min(lineEnd + 1, text.size())), ""});
    edits.insert(edits.end(), marked->begin(), marked->end());
    return edits;
  }
  /// Moves what stands in the block, from the `n`th token behind the word on, to where its head stood, and marks each
  /// statement; nothing where that would not do the same.
  std::optional<std::vector<Edit>> markedStatements(ssize_t n, size_t own, const std::string& mark) const {
    const std::string_view text = p_.reporter.text();
    const auto lineEnd = [&](size_t at) { return std::min(text.find('\n', at), text.size()); };
    const size_t end = lastEnd(true);
    const bool cuts = cutsGradients(own, end);
    size_t behind = lineEnd(wordSpan().begin), deeper = 0;  // the end of the line of the token before
    int open = 0;
    std::vector<Edit> edits;
    for (; behindWord(n) && span(*behindWord(n)).begin < end; ++n) {
      if (is(n, T::NL)) continue;
      const Span at = span(*behindWord(n));
      const bool first = at.begin > behind;
      if (!first && open == 0 && is(n - 1, T::NL) && !mark.empty()) return std::nullopt;  // behind a `;`
      const size_t column = at.begin - (text.rfind('\n', at.begin) + 1);
      if (first && deeper == 0) deeper = column > own ? column - own : 0;
      // Comments have no tokens; what else has none belongs to a string.
      for (size_t line = behind + 1; deeper > 0 && line <= at.begin; line = lineEnd(line) + 1) {
        const size_t content = std::min(text.find_first_not_of(" \t", line), text.size());
        if (content - line >= deeper && (content == at.begin || text[content] == '#'))
          edits.push_back({position(line, line + deeper), ""});
      }
      if (first && open == 0 && cuts && valueOf(n) > 0) cutGradient(n, edits);
      if (first && column == own + deeper && open == 0 && !mark.empty() && beginsMarked(behindWord(n - 1), n)) {
        if (textOf(n) == "with") return std::nullopt;  // which is mended before this one
        markStatement(n, mark, edits);
      }
      open += bracket(n);
      behind = lineEnd(at.end);
    }
    return edits;
  }
  /// Whether the block is one without gradients, and a gradient is taken behind it, or in another trip of a loop around
  /// it: what it binds is cut off there.
  bool cutsGradients(size_t own, size_t end) const {
    bool without = false;
    for (ssize_t k = 1; behindWord(k) && !is(k, T::COLON) && !is(k, T::NL); ++k)
      without = without || textOf(k) == "no_grad" || textOf(k) == "inference_mode" ||
                (textOf(k) == "set_grad_enabled" && is(k + 1, T::LPAREN) && textOf(k + 2) == "False");
    const std::string_view text = p_.reporter.text();
    const size_t from = own > 0 ? 0 : std::min(end, text.size());
    return without && (text.find(".backward(", from) != text.npos || text.find(".grad(", from) != text.npos);
  }
  /// Where the value of an assignment with `=` begins, as `behindWord` counts; 0 for another statement.
  ssize_t valueOf(ssize_t n) const {
    for (int open = 0; behindWord(n) && (open > 0 || (!is(n, T::NL) && !is(n, T::COLON))); ++n) {
      if (open == 0 && is(n, T::ASSIGN)) return n + 1;
      open += bracket(n);
    }
    return 0;
  }
  void cutGradient(ssize_t n, std::vector<Edit>& edits) const {
    const ssize_t value = valueOf(n);
    ssize_t end = value;
    // The brace of a block that an edit has closed ends it, too.
    for (int open = 0; behindWord(end) && (open > 0 || (!is(end, T::NL) && !is(end, T::SEMI) && bracket(end) >= 0));
         ++end)
      open += bracket(end);
    if (!behindWord(value) || end == value || textOf(value) == "None") return;  // `w.grad = None`
    const size_t first = span(*behindWord(value)).begin, last = span(*behindWord(end - 1)).end;
    edits.push_back({position(first, first), "stop_gradient("});
    edits.push_back({position(last, last), ")"});
  }
  bool beginsMarked(const Token* before, ssize_t n) const {
    static constexpr std::string_view kOthers[] = {"else",  "elif",     "except", "finally",
                                                   "break", "continue", "pass",   "assert"};
    const bool starts = syntax::startsStatement(before) || before->getType() == T::COLON;
    return starts && std::ranges::find(kOthers, textOf(n)) == std::end(kOthers);
  }
  void markStatement(ssize_t n, const std::string& mark, std::vector<Edit>& edits) const {
    const Span at = span(*behindWord(n));
    if (!is(n, T::RETURN)) return void(edits.push_back({position(at.begin, at.begin), mark}));
    // An exit has no mark, but what it calculates.
    bool calculates = false;
    ssize_t end = n + 1;
    for (int open = 0; behindWord(end) && (open > 0 || !is(end, T::NL)) && open + bracket(end) >= 0; ++end) {
      calculates = calculates || is(end, T::LPAREN) || is(end, T::AT);
      open += bracket(end);
    }
    if (!calculates) return;
    const Span first = span(*behindWord(n + 1)), last = span(*behindWord(end - 1));
    edits.push_back({position(first.begin, first.begin), mark + "{ "});
    edits.push_back({position(last.end, last.end), " }"});
  }

  std::vector<Edit> gone() const {
    if (behindWord(-1) && !startsStatement(behindWord(-1))) return {};
    if (is(2, T::LBRACK) || is(2, T::DOT)) return {};  // `del x[0]` changes `x`
    const Token* end = outside(at0_ + 1, [](size_t t) { return t == T::SEMI; });
    size_t stop = end ? span(*end).begin : p_.reporter.text().size();
    stop = std::max<size_t>(stop, wordSpan().end);
    return {removed(p_.reporter.sources(), position(wordSpan().begin, stop))};
  }
};

}  // namespace

std::vector<Edit> wordEdits(const Familiar& word, const antlr4::Token& at, const SyntaxPlace& place) {
  return WordHelper(place, at).edits(word.name);
}

}  // namespace tenc::syntax
