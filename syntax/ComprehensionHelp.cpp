#include "syntax/ComprehensionHelp.h"

#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "syntax/Familiar.h"
#include "syntax/SyntaxView.h"

namespace tenc::syntax {

using antlr4::Token;
using T = TLParser;

namespace {

class Comprehension : private SyntaxView {
 public:
  explicit Comprehension(const SyntaxPlace& place) : SyntaxView(place) {}

  /// `[e for x in xs]`, `sum(e for x, y in zip(a, b))`
  Help help() const {
    const auto isIn = [](size_t type) { return type == T::IN; };
    const Token* in = outside(2, isIn);
    if (!in || in->getType() != T::IN) return words(Form::Comprehension);
    const ssize_t behindIn = static_cast<ssize_t>(in->getTokenIndex() - p_.at.getTokenIndex()) + 2;
    const Token* end =
        outside(behindIn, [](size_t type) { return type == T::IF || type == T::FOR || type == T::COMMA; });
    size_t n = 1;
    for (int depth = 0; back(n); ++n) {
      const size_t type = back(n)->getType();
      if (depth == 0 && (type == T::LBRACK || type == T::LPAREN || type == T::NL)) break;
      depth += closes(*back(n)) ? 1 : opens(*back(n)) ? -1 : 0;
    }
    const bool argument = back(n, T::LPAREN) && back(n + 1, T::NAME);  // `sum(e for x in xs)`
    if (!end || !(back(n, T::LBRACK) || argument)) return words(Form::Comprehension);
    const std::string body = between(span(*back(n)).end, span().begin);
    std::string names = between(span().end, span(*in).begin);
    const std::string over = between(span(*in).end, span(*end).begin);
    const bool grouped = names.starts_with('(') && names.find(')') == names.size() - 1;
    if (grouped) names = names.substr(1, names.size() - 2);
    if (end->getType() == T::IF) return chosen(names, body, over, n);
    if (end->getType() == T::FOR) return nested(names, body, over, n, argument, end);
    if (end->getType() != (argument ? T::RPAREN : T::RBRACK)) return words(Form::Comprehension);
    if (const auto counted = numbersOfModel(names, body, over, n, end)) return Help{kCounted, *counted};
    const Span at =
        argument ? position(span(*back(n)).end, span(*end).begin) : position(span(*back(n)).begin, span(*end).end);
    const std::string lambda = "|" + names + "| " + body;
    const auto made = [&](const std::string& text) { return words(Form::Comprehension, {{at, text}}); };
    const bool several = names.find(',') != std::string::npos;
    if (several && names.find('(') == std::string::npos && over.starts_with("zip(") && over.ends_with(')'))
      return made("vmap(" + lambda + ")" + over.substr(3));
    if (several) return words(Form::Comprehension);
    const bool range =
        over.starts_with("range(") && over.back() == ')' && over.find_first_of(",(", 6) == std::string::npos;
    const std::string count = range ? over.substr(6, over.size() - 7)
                              : over.starts_with("0..") && over.find(" by ") == over.npos ? over.substr(3)
                                                                                          : "";
    // Structs are no elements of tensors.
    constexpr std::string_view kWord = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    if (body.empty()) return words(Form::Comprehension);
    const size_t word = body.find_first_not_of(kWord);
    const bool capital = std::isupper(static_cast<unsigned char>(body.front())) != 0;
    const bool layers = body.starts_with("nn.") || (capital && word != std::string::npos && body[word] == '(');
    if (const std::string table = count.empty() ? "" : tableOf(count, names, body); !table.empty()) return made(table);
    if (!count.empty())
      return made(layers ? "list(" + count + ", " + lambda + ")" : "tabulate([" + count + "], " + lambda + ")");
    if (layers) return words(Form::Comprehension);
    if (over.starts_with("range(") && over.back() == ')')
      return made("map(" + lambda + ", arange(" + over.substr(6) + ")");
    if (over.find("range(") != std::string::npos || over.find("..") != std::string::npos)
      return words(Form::Comprehension);
    return made("map(" + lambda + ", " + over + ")");
  }

 private:
  /// Rows that are counted, too, `tabulate([n], |j| e)`, as a table of both dims; empty for other rows.
  static std::string tableOf(const std::string& count, const std::string& name, const std::string& body) {
    constexpr std::string_view kHead = "tabulate([", kNames = "], |";
    const size_t names = body.find(kNames),
                 behind = names == body.npos ? names : body.find("| ", names + kNames.size());
    if (!body.starts_with(kHead) || behind == body.npos || body.find(']') != names) return "";
    int depth = 0;  // nothing stands behind the call
    for (size_t i = 0; i < body.size(); ++i) {
      depth += body[i] == '(' ? 1 : body[i] == ')' ? -1 : 0;
      if (depth == 0 && body[i] == ')' && i + 1 < body.size()) return "";
    }
    const std::string dims = body.substr(kHead.size(), names - kHead.size());
    const std::string inner = body.substr(names + kNames.size(), behind - names - kNames.size());
    const auto isPart = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (size_t at = dims.find(name); at != dims.npos; at = dims.find(name, at + 1)) {
      const bool word =
          (at == 0 || !isPart(dims[at - 1])) && (at + name.size() == dims.size() || !isPart(dims[at + name.size()]));
      if (word) return "";  // rows of unlike lengths
    }
    if (inner == name) return "";
    const std::string outer = name == "_" ? "i_" : name, own = inner == "_" ? "j_" : inner;
    return "tabulate([" + count + ", " + dims + "], |" + outer + ", " + own + "| " + body.substr(behind + 2);
  }

  /// `[e for x in xs for y in ys]`: the parts of all rows, one behind the other.
  Help nested(const std::string& names, const std::string& body, const std::string& over, size_t n, bool argument,
              const Token* inner) const {
    const ssize_t from = static_cast<ssize_t>(inner->getTokenIndex() - p_.at.getTokenIndex()) + 2;
    const Token* in = outside(from, [](size_t type) { return type == T::IN; });
    if (!in || in->getType() != T::IN) return words(Form::Comprehension);
    const ssize_t behindIn = static_cast<ssize_t>(in->getTokenIndex() - p_.at.getTokenIndex()) + 2;
    const Token* end =
        outside(behindIn, [](size_t type) { return type == T::IF || type == T::FOR || type == T::COMMA; });
    if (!end || end->getType() != (argument ? T::RPAREN : T::RBRACK)) return words(Form::Comprehension);
    const std::string second = between(span(*inner).end, span(*in).begin);
    const std::string rows = rowsOf(over), others = rowsOf(between(span(*in).end, span(*end).begin));
    const bool several = names.find(',') != std::string::npos || second.find(',') != std::string::npos;
    if (several || rows.empty() || others.empty() || body.empty() || body.starts_with("nn."))
      return words(Form::Comprehension);
    const Span at =
        argument ? position(span(*back(n)).end, span(*end).begin) : position(span(*back(n)).begin, span(*end).end);
    const std::string inside = "map(|" + second + "| " + body + ", " + others + ")";
    return words(Form::Comprehension, {{at, "flatten(map(|" + names + "| " + inside + ", " + rows + "), end: 1)"}});
  }
  /// What a comprehension walks over, as rows of a tensor; empty where that is not known.
  static std::string rowsOf(const std::string& over) {
    const bool range = over.starts_with("range(") && over.back() == ')';
    if (range) return "arange" + over.substr(5);
    return over.find("range(") == std::string::npos && over.find("..") == std::string::npos ? over : "";
  }

  static constexpr const char* kCounted = "`nn.size` counts the numbers of a model";

  /// `sum(p.numel() for p in m.parameters())`, in brackets too, whose first is the `n`th token back.
  std::optional<std::vector<Edit>> numbersOfModel(const std::string& names, const std::string& body,
                                                  const std::string& over, size_t n, const Token* end) const {
    const bool counts =
        (body == names + ".numel()" || body == names + ".nelement()") && over.ends_with(".parameters()");
    if (back(n, T::LBRACK)) ++n;
    const bool inside = back(n, T::LPAREN) && back(n + 1, T::NAME) && back(n + 1)->getText() == "sum";
    if (!counts || !inside) return std::nullopt;
    if (end->getType() == T::RBRACK)
      end = ahead(static_cast<ssize_t>(end->getTokenIndex() - p_.at.getTokenIndex()) + 2);
    if (!end || end->getType() != T::RPAREN) return std::nullopt;
    return std::vector<Edit>{
        {position(span(*back(n + 1)).begin, span(*end).end),
         "nn.size(" + over.substr(0, over.size() - std::string_view(".parameters()").size()) + ")"}};
  }

  /// `[x for x in xs if x > 0]`, whose size only the run knows.
  Help chosen(const std::string& names, const std::string& body, const std::string& over, size_t n) const {
    const ssize_t condition = [&] {
      ssize_t k = 2;
      while (ahead(k)->getType() != T::IF) ++k;
      return k + 1;
    }();
    const Token* end = outside(condition, [](size_t type) { return type == T::IF || type == T::FOR; });
    const bool trained = end && ahead(condition)->getText() == names &&
                         between(span(*ahead(condition)).begin, span(*end).begin) == names + ".requires_grad";
    if (trained)
      if (const auto counted = numbersOfModel(names, body, over, n, end)) return Help{kCounted, *counted};
    // What is left out counts nothing in a sum, and decides nothing.
    const std::string reduction = back(n, T::LPAREN) && back(n + 1, T::NAME) ? back(n + 1)->getText() : "";
    const std::string_view none = reduction == "sum"   ? "0"
                                  : reduction == "any" ? "false"
                                  : reduction == "all" ? "true"
                                                       : "";
    const std::string rows = end && end->getType() == T::RPAREN ? rowsOf(over) : "";
    if (!none.empty() && !rows.empty() && !body.empty() && names.find(',') == std::string::npos) {
      const std::string kept = between(span(*ahead(condition)).begin, span(*end).begin);
      const std::string text =
          "map(|" + names + "| if " + kept + " { " + body + " } else { " + std::string(none) + " }, " + rows + ")";
      return words(Form::Comprehension, {{position(span(*back(n)).end, span(*end).begin), text}});
    }
    return Help{
        "how many elements are chosen is no size: `where(x > 0.0, x, 0.0)` keeps the shape, and "
        "`sum(where(x > 0.0, x, 0.0))` adds what is chosen",
        {}};
  }

  static Help words(Form form, std::vector<Edit> edits = {}) {
    return Help{std::string(formHelp(form)), std::move(edits)};
  }
};

}  // namespace

Help comprehensionHelp(const SyntaxPlace& place) { return Comprehension(place).help(); }

}  // namespace tenc::syntax
