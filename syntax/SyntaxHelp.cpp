#include "syntax/SyntaxHelp.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "support/Text.h"
#include "syntax/ComprehensionHelp.h"
#include "syntax/Familiar.h"
#include "syntax/ReservedNames.h"
#include "syntax/StatementHelp.h"
#include "syntax/SyntaxView.h"

namespace tenc::syntax {

using antlr4::Token;
using T = TLParser;

bool isKeyword(const Token& t) {
  const std::string s = t.getText();
  return t.getType() != T::NAME && !s.empty() && s.front() >= 'a' && s.front() <= 'z' && t.getType() != T::DEVICE_LIT;
}

bool startsStatement(const Token* before) {
  return !before || before->getType() == T::NL || before->getType() == T::LBRACE;
}

namespace {

/// The helps for one place: each function tells whether it had something to say.
class Helper : private SyntaxView {
 public:
  Helper(Diagnostics::Builder& d, const SyntaxPlace& place) : SyntaxView(place), d_(d) {}

  void add() {
    if (auto help = statementHelp(p_)) return void(say(std::move(help->text), std::move(help->edits)));
    if (strings() || blocks() || comments() || patterns() || ranges() || literals() || types() || structs()) return;
    tokens();
  }

 private:
  bool say(Form form, std::vector<Edit> edits = {}) { return say(std::string(formHelp(form)), std::move(edits)); }
  bool say(std::string help, std::vector<Edit> edits = {}) {
    d_.help(Help{std::move(help), std::move(edits)});
    return true;
  }

  /// `a if c else b`; a line that names a device takes devices alone.
  bool choice() {
    const Token* otherwise =
        outside(2, [](size_t type) { return type == T::ELSE || type == T::COMMA || type == T::IF; });
    if (!otherwise || otherwise->getType() != T::ELSE) return say(Form::Choice);
    ssize_t n = 2;
    while (ahead(n) != otherwise) ++n;
    const auto ends = [](size_t type) {
      return type == T::COMMA || type == T::IF || type == T::FOR || type == T::ELSE;
    };
    const Token* end = outside(n + 1, ends);
    if (end && end->getType() == T::IF) {
      if (auto devices = deviceChain()) return say(Form::DeviceChoice, *devices);
      // `a if c else b if d else e`: the rest is a choice of its own.
      end = outside(n + 1, [](size_t type) { return type == T::COMMA || type == T::FOR; });
    }
    const size_t begin = operandBegin();
    const bool isElement =
        begin > 0 && std::string_view("[(").find(p_.reporter.text()[begin - 1]) != std::string_view::npos;
    if (end && ((end->getType() == T::FOR && !isElement) || end->getType() == T::ELSE)) return say(Form::Choice);
    const size_t stop = end ? span(*end).begin : p_.reporter.text().size();
    const std::string a = between(begin, span().begin), b = between(span(*otherwise).end, stop);
    const std::string c = between(span().end, span(*otherwise).begin);
    const size_t first = p_.reporter.text().find(a, begin);
    if (auto devices = deviceChoice(a, b, c)) return say(Form::DeviceChoice, *devices);
    if (starts(T::DEVICE)) return say(Form::DeviceChoice);
    if (a.empty() || b.empty() || c.empty()) return say(Form::Choice);
    const size_t last = p_.reporter.text().rfind(b, stop - b.size()) + b.size();
    return say(Form::Choice, {{position(first, last), "if " + c + " { " + a + " } else { " + b + " }"}});
  }

  static bool isDevice(const std::string& device) {
    const std::string kind = device.substr(0, device.find(':'));
    const bool letters = kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos && !kind.empty();
    return letters && (kind == device || device.find_first_not_of("0123456789", kind.size() + 1) == std::string::npos);
  }
  static std::string withoutQuotes(std::string text) {
    std::erase_if(text, [](char c) { return c == '"' || c == '\''; });
    return text;
  }

  /// `device = torch.device("gpu" if available() else "cpu")`, `device d = gpu if available() else cpu`: the
  /// statement as a device line; nothing for another choice.
  std::optional<std::vector<Edit>> deviceChoice(const std::string& a, const std::string& b,
                                                const std::string& c) const {
    const std::string first = withoutQuotes(a), second = withoutQuotes(b);
    const bool asks = c.find("available") != std::string::npos;
    if ((first != "cpu" && second != "cpu") || !asks || !isDevice(first) || !isDevice(second)) return std::nullopt;
    return deviceLine(first + " or " + second, 2);
  }

  /// `"gpu" if available() else "tpu" if there() else "cpu"`.
  std::optional<std::vector<Edit>> deviceChain() const {
    std::string line = withoutQuotes(between(operandBegin(), span().begin));
    if (!isDevice(line)) return std::nullopt;
    ssize_t n = 1;  // an `if`
    for (const Token* otherwise = &p_.at;;) {
      otherwise = outside(n + 1, [](size_t type) { return type == T::ELSE || type == T::COMMA; });
      if (!otherwise || otherwise->getType() != T::ELSE) return std::nullopt;
      while (ahead(n) != otherwise) ++n;
      const Token* end = outside(n + 1, [](size_t type) { return type == T::IF; });
      const size_t stop = end ? span(*end).begin : p_.reporter.text().size();
      const std::string device = withoutQuotes(between(span(*otherwise).end, stop));
      if (!isDevice(device)) return std::nullopt;
      line += " or " + device;
      if (!end || end->getType() != T::IF) return device == "cpu" ? deviceLine(line, n + 1) : std::nullopt;
      while (ahead(n) != end) ++n;
    }
  }

  /// The statement as a device line, where it binds a name to a choice whose last device is the `n`th token.
  std::optional<std::vector<Edit>> deviceLine(const std::string& devices, ssize_t n) const {
    if (!p_.first) return std::nullopt;
    const ssize_t first =
        static_cast<ssize_t>(p_.first->getTokenIndex()) - static_cast<ssize_t>(p_.at.getTokenIndex()) + 1;
    const bool declares = starts(T::DEVICE);
    const ssize_t at = declares || starts(T::LET) || starts(T::VAR) ? first + 1 : first;
    const Token* name = ahead(at);
    const Token* sign = ahead(at + 1);
    if (!name || !sign || name->getType() != T::NAME || sign->getType() != T::ASSIGN) return std::nullopt;
    const Token* end = outside(n, [](size_t) { return false; });
    if (end && end->getType() == T::RPAREN && !declares) {  // of `torch.device(`
      while (ahead(n) != end) ++n;
      end = outside(n + 1, [](size_t) { return false; });
    }
    size_t stop = end ? span(*end).begin : p_.reporter.text().size();
    while (stop > 0 && std::isspace(static_cast<unsigned char>(p_.reporter.text()[stop - 1])) != 0) --stop;
    return std::vector<Edit>{{position(span(*p_.first).begin, stop), "device " + name->getText() + " = " + devices}};
  }

  /// Whether the groups in parentheses at both sides of the sign are the whole operands of an expression, so that it
  /// makes no difference how tightly it binds.
  bool betweenGroups() const {
    if (!prior(T::RPAREN) || !next(T::LPAREN)) return false;
    const Token* end = outside(4, [](size_t) { return false; });
    ssize_t n = 2;
    while (end && ahead(n) != end) ++n;
    const auto isWhole = [](const Token* t) {
      return !t || t->getType() == T::RPAREN || t->getType() == T::COMMA || t->getType() == T::NL ||
             t->getType() == T::LPAREN || t->getType() == T::ASSIGN;
    };
    size_t m = 1;
    for (int depth = 0; back(m); ++m) {
      depth += back(m)->getType() == T::RPAREN ? 1 : back(m)->getType() == T::LPAREN ? -1 : 0;
      if (depth == 0) break;
    }
    const bool group = end && end->getType() == T::RPAREN && back(m);
    return group && isWhole(ahead(n + 1)) && isWhole(back(m + 1));
  }

  /// Whether the rest of a line has a backslash.
  bool holdsBackslash(uint32_t from) const {
    const std::string_view rest = std::string_view(p_.reporter.text()).substr(from);
    return rest.substr(0, rest.find('\n')).find('\\') != std::string_view::npos;
  }

  bool strings() {
    const bool string = at_ == T::STRING || at_ == T::STR_OPEN;
    if (string && prior(T::NAME) && p_.before->getStopIndex() + 1 == p_.at.getStartIndex() &&
        p_.before->getText().size() <= 2) {
      // What a backslash is in a raw string it is nowhere else.
      const bool raw = p_.before->getText().find_first_of("rR") != std::string::npos && holdsBackslash(span().begin);
      return say(Form::StringPrefix, raw ? std::vector<Edit>() : std::vector<Edit>{{span(*p_.before), ""}});
    }
    return false;
  }

  bool blocks() {
    if (!may(T::LBRACE)) return false;
    if (at_ == T::NL && may(T::ARROW) && next(T::ARROW)) {
      p_.reporter.mark(span(*next()).begin);
      return say(Form::ArrowOnNextLine);
    }
    const bool header = starts(T::IF) || starts(T::FOR) || starts(T::WHILE) || starts(T::FN) || prior(T::ELSE) ||
                        starts(T::TEST) || starts(T::BENCH) || starts(T::ELSE) || starts(T::STRUCT);
    if (!header) return false;
    if (at_ == T::NL && next(T::LBRACE)) return say(Form::BraceOnNextLine);
    const std::string word = p_.at.getText();
    const bool body = next() && (isKeyword(*next()) || isStatementCall());
    if (at_ == T::COLON && starts(T::FN) && may(T::ARROW) && !endsLine() && !body)
      return say(Form::ResultBehindColon, {{span(), " ->"}});
    if (at_ == T::COLON && endsLine()) {
      p_.reporter.loseBlock();
      return say(Form::Block, {{span(), " {"}, {position(lastEnd(true)), " }"}});
    }
    if (at_ == T::COLON && may(T::ASSIGN) && !body) return say(Form::FunctionValue, {{span(), " ="}});
    if (at_ == T::COLON || word == "then")
      return say(Form::Block, {{span(), at_ == T::COLON ? " {" : "{"}, {position(lastEnd(false)), " }"}});
    if (at_ == T::NAME && !starts(T::FN))
      return say(Form::Block, {{before(span()), "{ "}, {position(lastEnd(false)), " }"}});
    return false;
  }

  /// Whether a call stands behind the error: no type.
  bool isStatementCall() const {
    const Token* bracket = ahead(3);
    return next(T::NAME) && bracket && bracket->getType() == T::LPAREN;
  }

  bool comments() {
    const Token* t = p_.before;
    if (at_ == T::SLASHSLASH && startsStatement(p_.before)) return say(Form::Comment, {{span(), "#"}});
    if (at_ == T::SLASH && (next(T::STAR) || next(T::STARSTAR))) return say(Form::CommentBlock);
    if (at_ == T::MINUS && next(T::MINUS) && startsStatement(p_.before))
      return say(Form::Comment, {{{span().file, span().begin, span(*next()).end}, "#"}});
    if (!p_.complete || at_ != T::NAME) return false;
    for (size_t n = 1; t && t->getType() != T::NL && n < 64; t = back(++n)) {
      if (t->getType() == T::SLASHSLASH) return say(Form::CommentBehind, {{span(*t), "#"}});
    }
    return false;
  }

  /// `= 1, 2` after several names: a tuple too, where no bracket is open.
  void addTuple(const Token* assign, std::vector<Edit>& edits) const {
    if (!assign || assign->getType() != T::ASSIGN) return;
    const Token *first = nullptr, *last = nullptr;
    bool several = false;
    int depth = 0;
    for (ssize_t i = 1; i < 256; ++i) {
      const Token* t = p_.parser.getTokenStream()->LT(i);
      if (!t || t->getTokenIndex() <= assign->getTokenIndex()) continue;
      const size_t type = t->getType();
      if (type == antlr4::Token::EOF || (depth == 0 && (type == T::NL || type == T::SEMI))) break;
      depth += opens(type);
      depth -= type == T::RPAREN || type == T::RBRACK || type == T::RBRACE;
      several = several || (type == T::COMMA && depth == 0);
      if (!first) first = t;
      last = t;
    }
    if (several) edits.insert(edits.end(), {{before(span(*first)), "("}, {behind(span(*last)), ")"}});
  }

  bool patterns() {
    const bool binds = starts(T::LET) || starts(T::VAR);
    if (at_ == T::COMMA && prior(T::NAME) && ((may(T::IN) && starts(T::FOR)) || (binds && may(T::ASSIGN)))) {
      const Token* last = p_.before;
      const Token* t = &p_.at;  // a, b, (c, d)
      int depth = 0;
      for (ssize_t i = 2; t; t = p_.parser.getTokenStream()->LT(i++)) {
        const size_t type = t->getType();
        depth += type == T::LPAREN ? 1 : type == T::RPAREN ? -1 : 0;
        if (depth < 0 || (type != T::COMMA && type != T::NAME && type != T::LPAREN && type != T::RPAREN)) break;
        if (type != T::COMMA) last = t;
      }
      std::vector<Edit> edits = {{before(span(*p_.before)), "("}, {behind(span(*last)), ")"}};
      addTuple(t, edits);
      return say(Form::SeveralNames, std::move(edits));
    }
    if (at_ == T::COMMA && starts(T::IMPORT) && !may(T::COMMA))
      return say(Form::SeveralModules, {{span(), "; import"}});
    if (at_ == T::COMMA && p_.complete && p_.first == p_.before && prior(T::NAME)) return say(Form::SeveralAssigned);
    if (at_ == T::STAR && starts(T::IMPORT)) {
      const bool alone = prior(T::COLON) && endsLine();
      return say(Form::NamesOfModule,
                 alone ? std::vector<Edit>{{position(span(*p_.before).begin, span().end), ""}} : std::vector<Edit>{});
    }
    if (at_ == T::LBRACK && (prior(T::LET) || prior(T::VAR))) return say(Form::PatternInBrackets);
    const bool changes = at_ == T::ADD_EQ || at_ == T::SUB_EQ || at_ == T::MUL_EQ || at_ == T::DIV_EQ;
    if (changes && binds && p_.first)
      return say(Form::LetChanges, {{{span().file, span(*p_.first).begin, span(*p_.before).begin}, ""}});
    return false;
  }

  bool ranges() {
    if (at_ == T::ASSIGN && prior(T::DOTS)) return say(Form::InclusiveRange);
    if (at_ == T::DOTS && may(T::BY)) return say(Form::RangeStep, {{span(), " by "}});
    if (at_ == T::ASSIGN && starts(T::FOR) && back(2, T::LPAREN) && back(3, T::FOR)) return say(Form::CountingLoop);
    if (at_ == T::DOTS && starts(T::FN) && (prior(T::LBRACK) || prior(T::COMMA))) return say(Form::DimsOfAnyNumber);
    if (at_ == T::DOTS && (prior(T::LBRACK) || may(T::RBRACK))) return say(Form::SliceByDots, {{span(), ":"}});
    return false;
  }

  bool literals() {
    if (at_ == T::FOR && (may(T::RBRACK) || may(T::RPAREN))) {
      Help help = comprehensionHelp(p_);
      return say(std::move(help.text), std::move(help.edits));
    }
    const bool key = prior(T::STRING) || (prior(T::NAME) && back(2, T::LBRACE) && back(3, T::ASSIGN));
    if (at_ == T::COLON && key && p_.complete) return say(Form::Dictionary);
    if (at_ == T::COMMA && p_.complete && back(2, T::LBRACE)) return say(Form::ValuesInBraces);
    if (prior(T::DOT) && back(2, T::INT)) return say(Form::TrailingDot);
    if (at_ == T::STRING && prior(T::ASSIGN) && starts(T::DEVICE)) {
      const std::string text = p_.at.getText();
      const bool name = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789:\"") == std::string::npos;
      const std::string device = text.substr(1, text.size() - 2);
      const bool numbered = device == "cpu" || device.find(':') != std::string::npos;
      return say(Form::DeviceText, name && numbered ? std::vector<Edit>{{span(), device}} : std::vector<Edit>{});
    }
    if (at_ == T::NEW && next(T::NAME)) return say(Form::NewStruct);
    return false;
  }

  bool types() {
    const bool binds = starts(T::LET) || starts(T::VAR);
    if (at_ == T::LBRACK && prior(T::RBRACK) && binds && may(T::ASSIGN))
      return say(Form::DimsApart, {{{span().file, span(*p_.before).begin, span().end}, ", "}});
    if (at_ == T::LPAREN && prior(T::NAME) && binds && may(T::ASSIGN)) return say(Form::DimsInParentheses);
    if (at_ == T::RBRACK && may(T::SEMI) && !may(T::NL)) return say(Form::ListWithoutLength);
    if (at_ == T::COLON && starts(T::FN) && (prior(T::LBRACK) || (prior(T::COMMA) && may(T::INT))))
      return say(Form::DimByColon);
    if (at_ == T::LPAREN && prior(T::NAME) && starts(T::FN) && may(T::RBRACK)) return say(Form::DimByCall);
    if (at_ == T::GT && prior(T::ASSIGN) && starts(T::FN)) return say(Form::FunctionValue, {{span(), ""}});
    const bool marks = at_ == T::STAR || at_ == T::STARSTAR || at_ == T::SLASH;
    if (starts(T::FN) && marks && (prior(T::LPAREN) || prior(T::COMMA))) return say(Form::StarParameter, withoutMark());
    return false;
  }

  /// `*` and `/` alone among parameters, all of which may be given by name and by place.
  std::vector<Edit> withoutMark() const {
    if (at_ == T::STARSTAR || !next()) return {};
    if (next(T::COMMA) && ahead(3)) return {{position(span().begin, span(*ahead(3)).begin), ""}};
    if (next(T::RPAREN) && prior(T::COMMA)) return {{position(span(*p_.before).begin, span().end), ""}};
    return {};
  }

  bool structs() {
    if (at_ == T::COLON && prior(T::NAME) && back(2, T::LBRACE) && back(3, T::NAME) &&
        std::isupper(static_cast<unsigned char>(back(3)->getText().front()))) {
      p_.reporter.mark(span(*back(3)).begin);  // the condition that is left is no error of its own
      return say(Form::StructInCondition);
    }
    const bool declares = inStruct();
    if (declares && at_ == T::FN) return say(Form::MethodInStruct);
    if (at_ == T::ASSIGN && may(T::COLON) && !may(T::ASSIGN) && !may(T::RPAREN)) {
      if (declares) return say(Form::FieldDefault);
      return say(Form::FieldEquals, {{span(), ":"}});
    }
    if (at_ == T::LPAREN && may(T::COLON) && prior(T::NAME) && !binds()) return say(Form::FieldsNamed);
    return false;
  }
  bool binds() const { return may(T::ASSIGN); }

  /// Whether the innermost open brace is that of a struct's declaration.
  bool inStruct() const {
    int depth = 0;
    for (size_t n = 1; const Token* t = back(n); ++n) {
      if (t->getType() == T::RBRACE) ++depth;
      if (t->getType() != T::LBRACE || depth-- > 0) continue;
      for (t = back(++n); t && t->getType() != T::NL; t = back(++n)) {
        if (t->getType() == T::STRUCT) return true;
      }
      return false;
    }
    return false;
  }

  /// Two names at the start of a statement, the first nearly a keyword that one may follow.
  void misspeltKeyword() {
    static constexpr std::string_view kKeywords[] = {"let",    "var",    "const",  "struct", "type",  "while",
                                                     "import", "return", "assert", "param",  "device"};
    const Token* first = back(1);
    if (first == nullptr || first->getType() != T::NAME || (back(2) && !startsStatement(back(2)))) return;
    const std::string word = first->getText();
    NearestName near(word);
    for (const std::string_view keyword : kKeywords) near.consider(keyword);
    if (!near.best().empty()) say("did you mean `" + near.best() + "`?", {{span(*first), near.best()}});
  }

  /// The first token of the statement that ends before the `n`th token back.
  const Token* statementBefore(size_t n) const {
    const Token* first = nullptr;
    for (int depth = 0; const Token* t = back(n); ++n) {
      const size_t type = t->getType();
      const bool opens = type == T::LPAREN || type == T::LBRACK || type == T::LBRACE;
      if (depth == 0 && (opens || type == T::NL)) break;
      depth += opens ? -1 : type == T::RPAREN || type == T::RBRACK || type == T::RBRACE ? 1 : 0;
      first = t;
    }
    return first;
  }

  /// Parentheses around what starts with the minus, where it cannot go on with the statement before: behind a block, or
  /// as the value of a block, which does not end with a declaration.
  std::vector<Edit> negated() const {
    size_t n = 1;
    while (back(n) && back(n)->getType() == T::NL) ++n;
    const Token* stop = outside(2, [](size_t) { return false; });
    const Token* last = nullptr;
    ssize_t k = 2;
    for (; ahead(k) != stop; ++k) last = ahead(k);
    while (ahead(k) && ahead(k)->getType() == T::NL) ++k;
    const Token* first = statementBefore(n);
    const bool isValue = ahead(k) && ahead(k)->getType() == T::RBRACE && first &&
                         (first->getType() == T::LET || first->getType() == T::VAR);
    if (last == nullptr || (!isValue && !back(n, T::RBRACE))) return {};
    return {{before(span()), "("}, {behind(span(*last)), ")"}};
  }

  bool sayReserved(const Token& word) {
    return say("`" + word.getText() + "` is a reserved word: choose another name", renamedReserved(p_, word));
  }

  /// `fn f(var x: f32) { ... }`
  bool parameterWord() {
    const bool word = at_ == T::VAR || at_ == T::CONST || at_ == T::LET;
    if (!word || !next(T::NAME) || !(prior(T::LPAREN) || prior(T::COMMA)) || !starts(T::FN)) return false;
    const Token& name = *ahead(2);
    std::vector<Edit> edits{{position(span().begin, span(name).begin), ""}};
    int depth = 1;
    ssize_t n = 3;
    for (; depth > 0 && ahead(n); ++n) {
      const size_t type = ahead(n)->getType();
      depth += type == T::LPAREN || type == T::LBRACK ? 1 : type == T::RPAREN || type == T::RBRACK ? -1 : 0;
    }
    while (ahead(n) && ahead(n)->getType() != T::LBRACE && ahead(n)->getType() != T::NL) ++n;
    const bool block = ahead(n) && ahead(n)->getType() == T::LBRACE;
    if (at_ == T::VAR && block)
      edits.push_back({behind(span(*ahead(n))), " var " + name.getText() + " = " + name.getText() + ";"});
    return say(Form::ParameterWord, std::move(edits));
  }

  /// `let y = @gpu ones([2])`: the value goes into braces.
  bool annotatedValue() {
    size_t n = 1;
    if (back(n, T::RPAREN) || back(n, T::RBRACK)) {
      const size_t opens = back(n, T::RPAREN) ? T::LPAREN : T::LBRACK;
      while (back(n) && !back(n, opens)) ++n;
      ++n;
    } else if (back(n, T::INT) && back(n + 1, T::COLON)) {
      n += 2;
    }
    while (back(n, T::NAME) && back(n + 1, T::DOT)) n += 2;
    if (!back(n + 1, T::AT) || !back(n + 2, T::ASSIGN)) return false;
    const Token* end = outside(1, [](size_t type) { return type == T::SEMI; });
    const Token* last = nullptr;
    for (ssize_t k = 1; ahead(k) && ahead(k) != end; ++k) last = ahead(k);
    if (!last) return say(Form::AnnotationPlace);
    return say(Form::AnnotationPlace, {{before(span()), "{ "}, {behind(span(*last)), " }"}});
  }

  /// What depends on the token alone.
  void tokens() {
    if (parameterWord() || annotatedValue()) return;
    if (at_ == T::TYPE && next(T::LPAREN)) {
      say("types are known at compile time: `x.dtype == f32`");
      return;
    }
    if (isKeyword(p_.at) && (next(T::ASSIGN) || next(T::COMMA)) && startsStatement(p_.before)) {
      sayReserved(p_.at);
      return;
    }
    if (at_ == T::ASSIGN && p_.before && isKeyword(*p_.before) && startsStatement(back(2))) {
      sayReserved(*p_.before);
      return;
    }
    switch (at_) {
      case T::MINUS:
        if (startsStatement(p_.before)) say(Form::LeadingMinus, negated());
        break;
      case T::PLUS:
        if (prior(T::PLUS)) {
          const bool statement = back(2, T::NAME) && startsStatement(back(3)) && endsLine();
          const Span signs{span().file, span(*p_.before).begin, span().end};
          say(Form::Increment, statement ? std::vector<Edit>{{signs, " += 1"}} : std::vector<Edit>{});
          break;
        }
        [[fallthrough]];
      case T::STAR:
      case T::SLASH:
      case T::PERCENT:
      case T::STARSTAR:
      case T::AND:
      case T::OR:
        if (startsStatement(p_.before)) { say(Form::LeadingOperator); }
        break;
      case T::LT:
      case T::GT:
        if (prior(at_) && p_.before->getStopIndex() + 1 == p_.at.getStartIndex())
          say(at_ == T::LT ? Form::ShiftLeft : Form::ShiftRight);
        break;
      case T::COMMA:
        if (starts(T::RETURN) && p_.first) {
          const Token* first = p_.first;
          for (size_t n = 1; back(n) && back(n) != p_.first; ++n) first = back(n);
          const Token* end = outside(2, [](size_t) { return false; });
          const size_t last = end ? span(*end).begin : p_.reporter.text().size();
          const std::string rest = between(span().end, last);
          const size_t stop = p_.reporter.text().find(rest, span().end) + rest.size();
          say(Form::ReturnSeveral, {{before(span(*first)), "("}, {position(stop), ")"}});
        }
        break;
      case T::COLON:
        if (p_.before && isKeyword(*p_.before))
          say("`" + p_.before->getText() + "` is a reserved word");
        else if (endsLine())
          say(Form::Block);
        else if (next(T::ASSIGN))
          say(Form::NameBound, p_.before && p_.first == p_.before
                                   ? std::vector<Edit>{{before(span(*p_.before)), "let "},
                                                       {{span().file, span().begin, span(*next()).end}, "="}}
                                   : std::vector<Edit>{});
        break;
      case T::ASSIGN:
        if (next(T::GT)) {
          say(Form::LambdaArrow);
        } else if (prior(T::EQ) || prior(T::ASSIGN)) {
          say(Form::Equality);
        } else if (may(T::LBRACE)) {
          say(Form::Equality, {{span(), "=="}});
        }
        break;
      case T::EQ:
        if (may(T::ASSIGN)) say(Form::BindEquals, {{span(), "="}});
        break;
      case T::BARBAR: say(Form::Or, {{span(), "or"}}); break;
      case T::BAR:
        if (betweenGroups()) {
          say(Form::Either, {{span(), "or"}});
          break;
        }
        if (prior(T::PIPE)) say(Form::PipedLambda);
        if (startsStatement(p_.before)) say(Form::LambdaValue);
        break;
      case T::DOT:
        if (prior(T::COLON) && back(2, T::NAME) && (back(3, T::LPAREN) || back(3, T::COMMA))) {  // print(x:.3f)
          const Token* end = outside(2, [](size_t type) { return type == T::COMMA; });
          const Span value = position(span(*back(2)).begin, end ? span(*end).begin : span().end);
          say(Form::FormatOutside, {{value, "\"{" + between(value.begin, value.end) + "}\""}});
          break;
        }
        if (next(T::INT)) say(Form::LeadingDot, {{before(span()), "0"}});
        break;
      case T::IF: choice(); break;
      case T::NAME: misspeltKeyword(); break;
      case T::ELSE: say(Form::LoopElse); break;
      default:
        if (may(T::AT) && !may(T::NAME)) { say(Form::AnnotationPlace); }
        // Where a value is expected, only the words that others use as names of values are told.
        if (isKeyword(p_.at) && may(T::NAME) && (!may(T::INT) || isNameElsewhere(p_.at))) sayReserved(p_.at);
        if (prior(T::NAME) && p_.before->getText() == "print" && startsStatement(back(2)))
          say(Form::PrintStatement,
              {{{span().file, span(*p_.before).end, span().begin}, "("}, {position(lastEnd(false)), ")"}});
        break;
    }
  }

  Diagnostics::Builder& d_;
};

}  // namespace

void addSyntaxHelp(Diagnostics::Builder& d, const SyntaxPlace& place) { Helper(d, place).add(); }

}  // namespace tenc::syntax
