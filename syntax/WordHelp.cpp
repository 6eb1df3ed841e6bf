// Statements of other languages that are known by a word: `lambda x: x`, `raise ValueError("...")`, `with no_grad():`.
#include <algorithm>
#include <initializer_list>
#include <string>

#include "syntax/ForeignImports.h"
#include "syntax/StatementHelp.h"
#include "syntax/SyntaxView.h"

namespace tenc::syntax {

namespace {

class WordHelper : private SyntaxView {
 public:
  WordHelper(const SyntaxPlace& place, const antlr4::Token& word)
      : SyntaxView(place),
        word_(word),
        at0_(static_cast<ssize_t>(word.getTokenIndex()) - static_cast<ssize_t>(place.at.getTokenIndex()) + 1) {}

  std::vector<Edit> edits(std::string_view word) const {
    if (word == "lambda") return lambda();
    if (word == "mut") return mutableName();
    if (word == "as") return importedAs();
    if (word == "from") return importedFrom();
    if (word == "is") return identity();
    if (word == "raise" || word == "throw") return raised();
    if (word == "with") return context();
    if (word == "del" || word == "pass") return gone();
    return {};
  }

 private:
  /// The `n`th token behind the word; null behind the last.
  const Token* behindWord(ssize_t n) const { return ahead(at0_ + n); }
  bool is(ssize_t n, size_t type) const { return behindWord(n) && behindWord(n)->getType() == type; }
  Span wordSpan() const { return span(word_); }

  /// `lambda a, b: e` is `|a, b| e`.
  std::vector<Edit> lambda() const {
    ssize_t n = 1;
    while (is(n, T::NAME) || is(n, T::COMMA)) ++n;
    if (!is(n, T::COLON)) return {};
    if (n == 1) return {{position(wordSpan().begin, span(*behindWord(1)).end), "||"}};
    return {{position(wordSpan().begin, span(*behindWord(1)).begin), "|"}, {span(*behindWord(n)), "|"}};
  }

  std::vector<Edit> mutableName() const {
    const Token* let = behindWord(-1);
    if (!let || let->getType() != T::LET) return {};
    return {{position(span(*let).begin, wordSpan().end), "var"}};
  }

  /// A path of names and points from the `n`th token behind the word on; `n` is then behind it.
  std::string path(ssize_t& n) const {
    std::string text;
    while (behindWord(n) && behindWord(n)->getType() != T::IMPORT &&
           (is(n, T::DOT) || behindWord(n)->getType() == T::NAME || isKeyword(*behindWord(n))))
      text += behindWord(n++)->getText();
    return text;
  }

  std::vector<Edit> replacedBy(Span statement, const std::string& text) const {
    if (text.empty()) return {removed(p_.reporter.sources(), statement)};
    return {{statement, text}};
  }

  /// `import numpy as np`; what is read through the other name is read through the module's own.
  std::vector<Edit> importedAs() const {
    if (!starts(T::IMPORT) || !p_.before || !is(1, T::NAME)) return {};
    const Span whole = position(span(*p_.first).begin, span(*behindWord(1)).end);
    const std::string from = between(span(*p_.first).end, wordSpan().begin);
    if (const auto instead = importedInstead(from, {})) return replacedBy(whole, *instead);
    std::vector<Edit> edits = {{position(span(*p_.before).end, span(*behindWord(1)).end), ""}};
    const std::string other = behindWord(1)->getText(), name = p_.before->getText();
    for (ssize_t n = 2; behindWord(n); ++n) {
      if (is(n, T::NAME) && is(n + 1, T::DOT) && !is(n - 1, T::DOT) && behindWord(n)->getText() == other)
        edits.push_back({span(*behindWord(n)), name});
    }
    return edits;
  }

  /// `from torch import nn`, `from nn import linear`
  std::vector<Edit> importedFrom() const {
    ssize_t n = 1;
    const std::string module = path(n);
    if (module.empty() || !is(n, T::IMPORT)) return {};
    std::vector<std::string> names;
    size_t end = span(*behindWord(n)).end;
    bool renamed = false, all = false;
    for (++n; behindWord(n) && !is(n, T::NL) && !all; ++n) {
      const std::string text = behindWord(n)->getText();
      renamed = renamed || text == "as";
      all = is(n, T::STAR);  // which the line seems to go on from
      if (is(n, T::NAME) && text != "as" && !(is(n - 1, T::NAME) && behindWord(n - 1)->getText() == "as"))
        names.push_back(text);
      end = span(*behindWord(n)).end;
    }
    const Span whole = position(wordSpan().begin, end);
    if (const auto instead = importedInstead(module, names)) {
      std::vector<Edit> edits = replacedBy(whole, *instead);
      // What is drawn by it depends on the library.
      const bool draws = std::ranges::find(names, "random") != names.end();
      for (ssize_t m = n; draws && !renamed && behindWord(m); ++m) {
        if (is(m, T::NAME) && is(m + 1, T::DOT) && !is(m - 1, T::DOT) && behindWord(m)->getText() == "random")
          edits.push_back({span(*behindWord(m)), module + ".random"});
      }
      return edits;
    }
    if (all && names.empty()) return {{whole, "import " + module}};
    if (renamed || names.empty()) return {};
    std::string text = "import " + module + ":";
    for (const std::string& name : names) text += (name == names.front() ? " " : ", ") + name;
    return {{whole, text}};
  }

  /// `x is None`: every name has a value.
  std::vector<Edit> identity() const {
    const bool negated = is(1, T::NOT);
    const ssize_t n = negated ? 2 : 1;
    const Token* left = behindWord(-1);
    const Token* before = behindWord(-2);
    const bool nothing = behindWord(n) && behindWord(n)->getText() == "None";
    const bool whole = left && left->getType() == T::NAME && (!before || before->getType() != T::DOT);
    if (nothing && whole) return {{position(span(*left).begin, span(*behindWord(n)).end), negated ? "true" : "false"}};
    if (negated) return {{position(wordSpan().begin, span(*behindWord(1)).end), "!="}};
    return {};
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
  /// not, an empty text for what is left out.
  std::optional<std::string> markOf(ssize_t end) const {
    std::string name, device;
    bool given = false, halves = false, off = false;
    for (ssize_t n = 1; n < end; ++n) {
      const std::string text = behindWord(n)->getText();
      given = given || is(n, T::LPAREN);
      if (!given && !is(n, T::DOT)) name = text;
      halves = halves || text == "float16" || text == "half";
      off = off || (text == "enabled" && behindWord(n + 2) && behindWord(n + 2)->getText() == "False");
      if (device.empty() && is(n, T::STRING)) device = text.substr(1, text.size() - 2);
      if (is(n, T::NAME) && text == "as") return std::nullopt;
    }
    if (off || std::ranges::find(kNothing, name) != std::end(kNothing)) return "";
    if (name == "autocast") return halves ? "@autocast(f16) " : "@autocast(bf16) ";
    return name == "device" && !device.empty() ? std::optional("@" + device + " ") : std::nullopt;
  }
  static constexpr std::string_view kNothing[] = {"no_grad",     "inference_mode", "set_grad_enabled",
                                                  "enable_grad", "detect_anomaly", "set_detect_anomaly",
                                                  "errstate",    "printoptions",   "catch_warnings"};

  /// `with torch.no_grad():`
  std::vector<Edit> context() const {
    ssize_t n = 1;
    int depth = 0;
    for (; behindWord(n) && !(depth == 0 && is(n, T::COLON)) && !is(n, T::NL); ++n)
      depth += is(n, T::LPAREN) ? 1 : is(n, T::RPAREN) ? -1 : 0;
    if (!is(n, T::COLON)) return {};
    const std::optional<std::string> mark = markOf(n);
    if (!mark) return {};
    p_.reporter.loseBlock();
    // What it holds stands where it stood, so that names go on to be seen.
    const std::string_view text = p_.reporter.text();
    const size_t end = lastEnd(true), line = text.rfind('\n', wordSpan().begin) + 1;  // npos + 1: the first
    size_t body = text.find_first_not_of(" \t", span(*behindWord(n)).end);
    if (body >= text.size() || text[body] != '\n')
      return {{position(wordSpan().begin, std::min(body, text.size())), *mark}};
    const size_t own = wordSpan().begin - line;
    std::vector<Edit> edits = {{position(line, ++body), ""}};
    size_t deeper = 0;
    int open = 0;
    for (size_t at = body; at < end; at = std::min(text.find('\n', at), text.size()) + 1) {
      const size_t indent = std::min(text.find_first_not_of(" \t", at), text.size()) - at;
      const std::string_view rest = text.substr(at + indent, text.find('\n', at) - at - indent);
      if (at == body) deeper = indent > own ? indent - own : 0;
      if (indent >= deeper && deeper > 0) edits.push_back({position(at, at + deeper), ""});
      if (indent == own + deeper && open == 0 && !mark->empty() && isStatement(rest))
        edits.push_back({position(at + indent, at + indent), *mark});
      for (const char c : rest.substr(0, rest.find('#'))) open += bracket(c);
    }
    return edits;
  }
  static int bracket(char c) {
    return c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
  }
  /// Whether a line begins a statement that may be marked.
  static bool isStatement(std::string_view line) {
    if (line.empty() || line[0] == '#') return false;
    const auto starts = [&](std::string_view word) { return line.starts_with(word); };
    return std::ranges::none_of(std::initializer_list<std::string_view>{"else", "elif", "except", "finally", "return",
                                                                        "break", "continue", "pass", "assert", "}"},
                                starts);
  }

  std::vector<Edit> gone() const {
    if (behindWord(-1) && !startsStatement(behindWord(-1))) return {};
    const Token* end = outside(at0_ + 1, [](size_t t) { return t == T::SEMI; });
    size_t stop = end ? span(*end).begin : p_.reporter.text().size();
    stop = std::max<size_t>(stop, wordSpan().end);
    return {removed(p_.reporter.sources(), position(wordSpan().begin, stop))};
  }

  const antlr4::Token& word_;
  const ssize_t at0_;  ///< of the word, as `ahead` counts
};

}  // namespace

std::vector<Edit> wordEdits(const Familiar& word, const antlr4::Token& at, const SyntaxPlace& place) {
  return WordHelper(place, at).edits(word.name);
}

}  // namespace tenc::syntax
