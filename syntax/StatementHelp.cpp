#include "syntax/StatementHelp.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "syntax/DictionaryHelp.h"
#include "syntax/ForeignOperators.h"
#include "syntax/SyntaxView.h"
#include "syntax/Tokens.h"

namespace tenc::syntax {

namespace {

constexpr size_t kWindow = 256;  ///< how many tokens are looked at on each side

class StatementHelper : private SyntaxView {
 public:
  explicit StatementHelper(const SyntaxPlace& place) : SyntaxView(place) {}

  std::optional<Help> help() {
    if (auto h = starred()) return h;
    if (auto h = assigned()) return h;
    if (auto h = typed()) return h;
    if (auto h = loops()) return h;
    if (auto h = operators()) return h;
    if (auto h = literals()) return h;
    return functions();
  }

 private:
  static Help made(Form form, std::vector<Edit> edits) { return {std::string(formHelp(form)), std::move(edits)}; }
  std::string textOf(size_t begin, size_t end) const { return between(begin, end); }
  size_t first() const { return span(*p_.first).begin; }

  /// The first token of a type from the `n`th on that stands outside of brackets in this statement.
  const Token* inStatement(ssize_t n, size_t type) const {
    const Token* t = outside(n, [&](size_t found) { return found == type || found == T::SEMI; });
    return t && t->getType() == type ? t : nullptr;
  }
  size_t statementEnd(ssize_t n) const {
    const Token* end = outside(n, [](size_t t) { return t == T::SEMI; });
    size_t stop = end ? span(*end).begin : p_.reporter.text().size();
    while (stop > 0 && std::isspace(static_cast<unsigned char>(p_.reporter.text()[stop - 1])) != 0) --stop;
    return stop;
  }
  ssize_t indexOf(const Token* t) const { return static_cast<ssize_t>(t->getTokenIndex() - p_.at.getTokenIndex()) + 1; }

  /// `first, *rest = xs`
  std::optional<Help> starred() const {
    const bool begins = at_ == T::STAR && next(T::NAME) && startsStatement(p_.before);
    if (!begins && (!p_.first || (at_ != T::COMMA && at_ != T::STAR))) return std::nullopt;
    ssize_t n = begins ? 1 : indexOf(p_.first);
    const bool binds = starts(T::LET) || starts(T::VAR);
    const std::string keyword = binds ? p_.first->getText() : "let";
    if (binds) ++n;
    std::vector<std::string> names;
    size_t stars = 0, starred = 0;
    for (;; ++n) {
      const Token* t = ahead(n);
      if (!t || names.size() > kWindow) return std::nullopt;
      const size_t type = t->getType();
      if (type == T::ASSIGN) break;
      if (type == T::NAME) names.push_back(t->getText());
      if (type == T::STAR) starred = names.size(), ++stars;
      if (type != T::NAME && type != T::STAR && type != T::COMMA && type != T::LPAREN && type != T::RPAREN)
        return std::nullopt;
    }
    if (stars != 1 || names.size() < 2) return std::nullopt;
    const Token* value = ahead(n + 1);
    const Token* end = value ? outside(n + 2, [](size_t t) { return t == T::SEMI; }) : nullptr;
    const bool plain = value && value->getType() == T::NAME && end == ahead(n + 2) && starred + 1 == names.size();
    if (!plain) return made(Form::StarredName, {});
    const std::string x = value->getText();
    std::string all, parts;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string comma = i == 0 ? "" : ", ";
      all += comma + names[i];
      parts += comma + x + "[" + std::to_string(i) + (i == starred ? ":]" : "]");
    }
    return made(Form::StarredName,
                {{position(first(), span(*value).end), keyword + " (" + all + ") = (" + parts + ")"}});
  }

  /// `a, b = b, a`, `a = b = 1`.
  std::optional<Help> assigned() const {
    if (!p_.first || !p_.complete || (at_ != T::COMMA && at_ != T::ASSIGN)) return std::nullopt;
    if (at_ == T::COMMA) {
      if (!starts(T::NAME)) return std::nullopt;
      const Token* equals = inStatement(2, T::ASSIGN);
      if (!equals) return std::nullopt;
      const Token* comma = inStatement(indexOf(equals) + 1, T::COMMA);
      std::vector<Edit> edits{{position(first()), "("}, {position(span(*back(equals)).end), ")"}};
      if (comma) {
        const Token* value = ahead(indexOf(equals) + 1);
        if (!value) return std::nullopt;
        edits.push_back({position(span(*value).begin), "("});
        edits.push_back({position(statementEnd(indexOf(equals) + 1)), ")"});
      }
      return made(Form::SeveralAssigned, std::move(edits));
    }
    // Names, or elements of them, and signs alone before the last value.
    std::vector<std::string> names;
    const Token* value = p_.first;
    while (value && value->getType() == T::NAME) {
      ssize_t n = indexOf(value) + 1;  // behind its index
      for (int depth = 0; const Token* t = ahead(n); ++n) {
        depth += t->getType() == T::LBRACK ? 1 : t->getType() == T::RBRACK ? -1 : 0;
        if (depth == 0 && t->getType() != T::RBRACK) break;
      }
      if (!ahead(n) || ahead(n)->getType() != T::ASSIGN) break;
      names.push_back(textOf(span(*value).begin, span(*ahead(n - 1)).end));
      value = ahead(n + 1);
    }
    if (names.size() < 2 || !value) return std::nullopt;
    const size_t end = statementEnd(indexOf(value));
    std::string text = names.back() + " = " + textOf(span(*value).begin, end);
    for (size_t i = names.size() - 1; i-- > 0;) text += "; " + names[i] + " = " + names.back();
    return made(Form::ChainedAssignment, {{position(first(), end), text}});
  }
  const Token* back(const Token* t) const { return ahead(indexOf(t) - 1); }
  using SyntaxView::back;

  /// `x: float = 1.0`, `float x = 1.0`.
  std::optional<Help> typed() const {
    if (!p_.first || p_.first != p_.before || !prior(T::NAME)) return std::nullopt;
    if (at_ == T::COLON && inStatement(2, T::ASSIGN) && !next(T::ASSIGN))
      return made(Form::TypeBehindName, {{position(first()), "let "}});
    static constexpr std::array<std::string_view, 12> kTypes = {"float", "double", "int", "long", "bool", "f32",
                                                                "f64",   "i32",    "i64", "u8",   "half", "auto"};
    const std::string word = p_.before->getText();
    if (at_ == T::NAME && next(T::ASSIGN) && std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end())
      return made(Form::TypeBehindName, {{position(first(), span().end), "let " + p_.at.getText() + ": " + word}});
    return std::nullopt;
  }

  /// The end of a range that TL leaves out, for one that others have in it.
  static std::string pastEnd(const std::string& text) {
    if (text.size() < 9 && !text.empty() &&
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
      return std::to_string(std::stol(text) + 1);
    return text + " + 1";
  }

  std::optional<Help> loops() const {
    const auto ends = [](size_t t) { return t == T::LBRACE || t == T::BY || t == T::COLON; };
    if (at_ == T::ASSIGN && prior(T::DOTS)) {
      const Token* end = outside(2, ends);
      if (!end || !next()) return std::nullopt;
      const size_t stop = span(*back(end)).end;
      const std::string last = textOf(span().end, stop);
      return made(Form::InclusiveRange, {{position(span().begin, stop), pastEnd(last)}});
    }
    // `for i in 1:3`
    if (at_ == T::COLON && starts(T::FOR) && prior(T::INT) && back(2, T::IN) && next()) {
      const Token* end = outside(2, ends);
      const size_t stop = end ? span(*back(end)).end : statementEnd(2);
      const std::string last = textOf(span().end, stop);
      if (last.empty()) return std::nullopt;
      return made(Form::InclusiveRange, {{position(span().begin, stop), ".." + pastEnd(last)}});
    }
    const bool counts = starts(T::FOR) && (at_ == T::NAME || at_ == T::ASSIGN);
    return counts ? countingLoop() : std::nullopt;
  }

  /// `for (int i = 0; i < 3; i++)`
  std::optional<Help> countingLoop() const {
    const Token* open = ahead(indexOf(p_.first) + 1);
    if (!open || open->getType() != T::LPAREN) return std::nullopt;
    ssize_t n = indexOf(open) + 1;
    const auto type = [&](ssize_t i) {
      const Token* t = ahead(i);
      return t ? t->getType() : static_cast<size_t>(Token::EOF);
    };
    const auto at = [&](ssize_t i) { return ahead(i); };
    if (type(n) == T::LET || type(n) == T::VAR) ++n;
    if (type(n) == T::NAME && type(n + 1) == T::NAME) ++n;
    if (type(n) != T::NAME || type(n + 1) != T::ASSIGN) return std::nullopt;
    const std::string name = at(n)->getText();
    const auto isSemi = [](size_t t) { return t == T::SEMI; };
    const Token* semi = outside(n + 2, isSemi);
    if (!semi || semi->getType() != T::SEMI) return std::nullopt;
    const ssize_t c = indexOf(semi) + 1;
    const Token* second = outside(c, isSemi);
    if (!second || second->getType() != T::SEMI || type(c) != T::NAME || at(c)->getText() != name) return std::nullopt;
    const ssize_t s = indexOf(second) + 1;
    const Token* close = outside(s, [](size_t) { return false; });
    if (!close || close->getType() != T::RPAREN || type(s) != T::NAME || at(s)->getText() != name) return std::nullopt;
    const std::string from = textOf(span(*at(n + 1)).end, span(*semi).begin);
    const std::string to = textOf(span(*at(c + 1)).end, span(*second).begin);
    const std::string step = textOf(span(*at(s)).end, span(*close).begin);
    const size_t sign = type(c + 1);
    std::string range;
    if (sign == T::LT || sign == T::LE) {
      range = from + ".." + (sign == T::LE ? pastEnd(to) : to);
      if (step.starts_with("+=")) range += " by " + step.substr(step.find_first_not_of(" =+"));
      if (step != "++" && !step.starts_with("+=")) return std::nullopt;
    } else if ((sign == T::GT || sign == T::GE) && step == "--") {
      range = "rev(" + (sign == T::GT ? pastEnd(to) : to) + ".." + pastEnd(from) + ")";
    } else {
      return std::nullopt;
    }
    return made(Form::CountingLoop, {{position(span(*open).begin, span(*close).end), name + " in " + range}});
  }

  std::vector<Piece> pieces() const {
    std::vector<Piece> list;
    const size_t at = p_.at.getTokenIndex();
    size_t first = 0;  // of the statement
    while (first < std::min(at, kWindow) && !back(first + 1, T::NL)) ++first;
    for (size_t n = first; n > 0; --n) add(list, back(n));
    for (ssize_t n = 1; n <= static_cast<ssize_t>(kWindow); ++n) {
      const Token* t = ahead(n);
      if (!t || t->getType() == T::NL) break;
      add(list, t);
    }
    const size_t begin = list.empty() ? 0 : list.front().begin, end = list.empty() ? 0 : list.back().end;
    for (const Span& s : p_.reporter.unread())
      if (begin <= s.begin && s.end <= end) list.push_back({T::BAD_CHAR, s.begin, s.end});
    std::ranges::sort(list, {}, &Piece::begin);
    return list;
  }
  void add(std::vector<Piece>& list, const Token* t) const {
    const Span s = span(*t);
    list.push_back({t->getType(), s.begin, s.end});
  }

  std::optional<Help> operators() const {
    const auto as = [&](Form form, const std::optional<Rewrite>& r) -> std::optional<Help> {
      if (!r) return std::nullopt;
      return made(form, {{position(r->begin, r->end), r->text}});
    };
    const bool shifts = (at_ == T::LT || at_ == T::GT) && prior(at_) && span(*p_.before).end == span().begin;
    if (shifts)
      return as(at_ == T::LT ? Form::ShiftLeft : Form::ShiftRight,
                ForeignOperators(pieces(), p_.reporter.text()).bits(span().begin));
    const bool updates = (at_ == T::LE && prior(T::LT)) || (at_ == T::GE && prior(T::GT));  // `x <<= 2`
    if (updates && span(*p_.before).end == span().begin)
      return as(at_ == T::LE ? Form::ShiftLeft : Form::ShiftRight,
                ForeignOperators(pieces(), p_.reporter.text()).bits(span(*p_.before).begin));
    if (at_ == T::BAR && p_.before && !startsStatement(p_.before) && !prior(T::PIPE)) {
      const ForeignOperators operators(pieces(), p_.reporter.text());
      if (operators.joinsComparisons(span().begin)) return made(Form::EitherCompared, {});
      return as(Form::Either, operators.bits(span().begin));
    }
    const bool in = at_ == T::IN && !starts(T::FOR);
    if (in || (at_ == T::NOT && next(T::IN)))
      return as(Form::Membership, ForeignOperators(pieces(), p_.reporter.text()).membership(span().begin));
    return std::nullopt;
  }

  std::optional<Help> literals() const {
    if (at_ == T::NEW && !prior(T::LET) && !prior(T::VAR) && next(T::NAME)) {
      const Token* brace = ahead(3);
      if (brace && brace->getType() == T::LBRACE)
        return made(Form::NewStruct, {{position(span().begin, span(*next()).begin), ""}});
    }
    if (at_ == T::COLON && prior(T::STRING) && (back(2, T::LBRACE) || back(2, T::NL))) {
      if (auto h = back(2, T::LBRACE) ? dictionary() : std::nullopt) return h;
      return dictionaryAsStruct(p_);
    }
    if (at_ == T::COLON && prior(T::NAME) && back(2, T::LBRACE) && !startsStatement(back(3)))
      return dictionaryByKeys(p_);
    return std::nullopt;
  }

  /// `let d = {"lr": 0.1, "steps": 3}`: a struct of its own, where every value is a literal.
  std::optional<Help> dictionary() const {
    if (!starts(T::LBRACE) && !back(3, T::ASSIGN)) return std::nullopt;
    const Token* brace = back(2);
    if (!back(3, T::ASSIGN) || !back(4, T::NAME)) return std::nullopt;
    const std::string name = back(4)->getText();
    size_t n = 5;
    if (back(n, T::LET) || back(n, T::VAR)) ++n;
    if (back(n) && !startsStatement(back(n))) return std::nullopt;
    const size_t statement = span(*back(n - 1)).begin;
    std::string type(1, static_cast<char>(std::toupper(static_cast<unsigned char>(name[0]))));
    type += name.substr(1);
    if (type == name) type += "Fields";
    std::vector<Entry> entries;
    const Token* close = nullptr;
    for (ssize_t k = 0;;) {  // of the key
      const Token* key = k == 0 ? back(1) : ahead(k);
      if (key && key->getType() == T::RBRACE && k > 0) {  // behind a comma
        close = key;
        break;
      }
      const bool negative = ahead(k + 2) && ahead(k + 2)->getType() == T::MINUS;
      const Token* value = ahead(k + (negative ? 3 : 2));
      const Token* behind = ahead(k + (negative ? 4 : 3));
      if (!key || !value || !behind || key->getType() != T::STRING) return std::nullopt;
      const std::string word = key->getText().substr(1, key->getText().size() - 2);
      const bool isName = !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0 &&
                          std::ranges::all_of(word, isWordPart);
      const size_t v = value->getType();
      const std::string dtype = v == T::FLOAT                   ? "f32"
                                : v == T::INT                   ? "i64"
                                : v == T::TRUE || v == T::FALSE ? "bool"
                                : v == T::STRING                ? "str"
                                                                : "";
      if (!isName || dtype.empty() || std::ranges::find(entries, word, &Entry::key) != entries.end())
        return std::nullopt;
      entries.push_back({word, dtype, (negative ? "-" : "") + value->getText()});
      if (behind->getType() == T::RBRACE) {
        close = behind;
        break;
      }
      if (behind->getType() != T::COMMA) return std::nullopt;
      k += negative ? 5 : 4;
    }
    const Span whole = position(statement, span(*close).end);
    if (auto constants = asConstants(name, entries, whole, indexOf(close) + 1))
      return made(Form::Dictionary, std::move(*constants));
    if (p_.reporter.position(statement).column != 1) return std::nullopt;  // a struct is declared by the script
    std::string declared, built;
    std::vector<std::string> keys;
    for (const Entry& e : entries) {
      if (e.type == "str") return std::nullopt;
      keys.push_back(e.key);
      declared += (declared.empty() ? "" : ", ") + e.key + ": " + e.type;
      built += (built.empty() ? "" : ", ") + e.key + ": " + e.value;
    }
    std::vector<Edit> edits{{position(statement), "struct " + type + " { " + declared + " }\n"},
                            {position(span(*brace).begin, span(*close).end), type + " { " + built + " }"}};
    read(name, keys, indexOf(close) + 1, edits);
    return made(Form::Dictionary, std::move(edits));
  }
  struct Entry {
    std::string key, type, value;
  };

  /// A constant for each value of a dictionary of the script that is read by its keys alone: a size may be one.
  std::optional<std::vector<Edit>> asConstants(const std::string& name, const std::vector<Entry>& entries, Span whole,
                                               ssize_t n) const {
    const std::string_view text = p_.reporter.text();
    if (p_.reporter.position(whole.begin).column != 1) return std::nullopt;
    const auto constant = [&](const std::string& key) {
      std::string word = name + "_" + key;
      std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      return word;
    };
    std::string declared;
    for (const Entry& e : entries) {
      if (countOf(text, constant(e.key)) > 0) return std::nullopt;
      declared += (declared.empty() ? "const " : "\nconst ") + constant(e.key) + " = " + e.value;
    }
    std::vector<Edit> edits{{whole, declared}};
    for (; const Token* t = ahead(n); ++n) {
      const Token* key = ahead(n + 2);
      const Token* behind = ahead(n + 4);
      if (t->getType() != T::NAME || t->getText() != name) continue;
      const bool reads = key && ahead(n + 3) && ahead(n + 1)->getType() == T::LBRACK && key->getType() == T::STRING &&
                         ahead(n + 3)->getType() == T::RBRACK && !(behind && assigns(behind->getText()));
      const std::string word = reads ? key->getText().substr(1, key->getText().size() - 2) : "";
      if (!reads || std::ranges::find(entries, word, &Entry::key) == entries.end()) return std::nullopt;
      edits.push_back({position(span(*t).begin, span(*ahead(n + 3)).end), constant(word)});
    }
    return countOf(text, name) == edits.size() ? std::optional(edits) : std::nullopt;  // with the one that binds it
  }
  static bool assigns(std::string_view sign) {
    return sign.ends_with('=') && sign != "==" && sign != "!=" && sign != "<=" && sign != ">=";
  }
  /// How often the word stands in the text, comments and strings included.
  static size_t countOf(std::string_view text, std::string_view word) {
    const auto isPart = [&](size_t at) { return at < text.size() && isWordPart(text[at]); };
    size_t count = 0;
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
      count += (at > 0 && isPart(at - 1)) || isPart(at + word.size()) ? 0 : 1;
    return count;
  }

  /// `name["key"]` of the text behind, as a field.
  void read(const std::string& name, const std::vector<std::string>& keys, ssize_t n, std::vector<Edit>& edits) const {
    for (; const Token* t = ahead(n); ++n) {
      const Token* bracket = ahead(n + 1);
      const Token* key = ahead(n + 2);
      const Token* close = ahead(n + 3);
      if (t->getType() != T::NAME || t->getText() != name || !close || bracket->getType() != T::LBRACK ||
          key->getType() != T::STRING || close->getType() != T::RBRACK)
        continue;
      const std::string field = key->getText().substr(1, key->getText().size() - 2);
      if (std::find(keys.begin(), keys.end(), field) != keys.end())
        edits.push_back({position(span(*bracket).begin, span(*close).end), "." + field});
    }
  }

  std::optional<Help> functions() const {
    if (at_ == T::ASSIGN && next(T::GT) && prior(T::RPAREN)) return arrow();
    if (at_ == T::STARSTAR && starts(T::FN) && (prior(T::LPAREN) || prior(T::COMMA)) && next(T::NAME))
      return keywords();
    return std::nullopt;
  }

  /// `(x, y) => x + y`
  std::optional<Help> arrow() const {
    size_t n = 2;
    while (back(n, T::NAME) || back(n, T::COMMA)) ++n;
    if (!back(n, T::LPAREN)) return std::nullopt;
    const std::string names = textOf(span(*back(n)).end, span(*p_.before).begin);
    size_t end = span(*next()).end;
    while (end < p_.reporter.text().size() && p_.reporter.text()[end] == ' ') ++end;
    return made(Form::LambdaArrow,
                {{position(span(*back(n)).begin, end), (names.empty() ? "||" : "|" + names + "|") + " "}});
  }

  /// `**kwargs` that no one reads.
  std::optional<Help> keywords() const {
    const std::string name = next()->getText();
    if (next() && p_.reporter.text().find(name) != p_.reporter.text().rfind(name)) return std::nullopt;
    const size_t begin = prior(T::COMMA) ? span(*p_.before).begin : span().begin;
    return made(Form::StarParameter, {{position(begin, span(*next()).end), ""}});
  }
};

}  // namespace

std::optional<Help> statementHelp(const SyntaxPlace& place) { return StatementHelper(place).help(); }

}  // namespace tenc::syntax
