#include "syntax/DictionaryHelp.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "syntax/Familiar.h"
#include "syntax/SyntaxView.h"
#include "syntax/Tokens.h"

namespace tenc::syntax {

using antlr4::Token;
using T = TLParser;

namespace {

constexpr size_t kMostKeys = 26;

bool isReserved(std::string_view word) {
  const std::vector<std::string_view> all = keywords();
  return std::ranges::find(all, word) != all.end();
}

class Dictionaries : private SyntaxView {
 public:
  explicit Dictionaries(const SyntaxPlace& place) : SyntaxView(place), tokens_(*place.parser.getTokenStream()) {}

  std::optional<Help> help() const {
    size_t brace = p_.at.getTokenIndex() - 2;
    while (brace > 0 && typeOf(brace) == T::NL) --brace;
    const auto own = typeOf(brace) == T::LBRACE ? read(brace) : std::nullopt;
    if (!own || isWalked() || isCopied() || isFlattened(*own)) return std::nullopt;
    std::vector<std::string> keys = own->keys;
    std::ranges::sort(keys);
    std::vector<Dictionary> all;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      auto other = typeOf(i) == T::LBRACE ? read(i) : std::nullopt;
      if (!other) continue;
      std::vector<std::string> others = other->keys;
      std::ranges::sort(others);
      if (others == keys) all.push_back(std::move(*other));
    }
    if (all.empty()) return std::nullopt;
    std::vector<Edit> edits;
    const std::string name = declared(all[0], edits);
    if (name.empty()) return std::nullopt;
    for (const Dictionary& d : all) {
      const Span open = span(*tokens_.get(d.open));
      edits.push_back({position(open.begin, open.begin), name + " "});
      for (size_t k = 0; k < d.keys.size(); ++k) edits.push_back({span(*tokens_.get(d.places[k])), d.keys[k]});
    }
    return Help{std::string(formHelp(Form::Dictionary)), std::move(edits)};
  }

  /// `{k: e for k, v in d.items()}`, `{k: e for k in d}`
  std::optional<Help> byKeys() const {
    const size_t colon = p_.at.getTokenIndex();
    const std::string key = textOf(colon - 1);
    const auto outsideOf = [&](size_t from, size_t type) {
      int depth = 0;
      for (size_t i = from; i < tokens_.size(); ++i) {
        if (depth == 0 && (typeOf(i) == type || closes(*tokens_.get(i)) || typeOf(i) == T::IF)) return i;
        depth += opens(*tokens_.get(i)) ? 1 : closes(*tokens_.get(i)) ? -1 : 0;
      }
      return tokens_.size();
    };
    const size_t loop = outsideOf(colon + 1, T::FOR), in = outsideOf(loop + 1, T::IN),
                 end = outsideOf(in + 1, T::RBRACE);
    if (typeOf(loop) != T::FOR || typeOf(in) != T::IN || typeOf(end) != T::RBRACE || textOf(loop + 1) != key)
      return std::nullopt;
    const bool items = in == loop + 4 && typeOf(loop + 2) == T::COMMA && typeOf(loop + 3) == T::NAME && end == in + 6 &&
                       textOf(in + 3) == "items";
    const bool plain = in == loop + 2 && (end == in + 2 || (end == in + 6 && textOf(in + 3) == "keys"));
    if ((!items && !plain) || typeOf(in + 1) != T::NAME) return std::nullopt;
    std::vector<std::string> trees{textOf(in + 1)};
    std::vector<std::string> names{items ? textOf(loop + 3) : trees[0] + "_" + key};
    std::string body;
    size_t done = span(*tokens_.get(colon)).end;
    const std::string_view text = p_.reporter.text();
    for (size_t i = colon + 1; i < loop; ++i) {
      const bool isKey = typeOf(i) == T::NAME && textOf(i) == key && typeOf(i - 1) != T::DOT;
      if (isKey) return std::nullopt;
      const bool byKey = typeOf(i) == T::NAME && typeOf(i - 1) != T::DOT && isBracket(i + 1) && textOf(i + 2) == key &&
                         typeOf(i + 3) == T::RBRACK;
      if (!byKey) continue;
      const std::string tree = textOf(i);
      size_t k = 0;
      while (k < trees.size() && trees[k] != tree) ++k;
      if (k == trees.size()) {
        trees.push_back(tree);
        names.push_back(tree + "_" + key);
        if (hasWord(text, names.back())) return std::nullopt;
      }
      const size_t begin = span(*tokens_.get(i)).begin;
      body += std::string(text.substr(done, begin - done)) + names[k];
      done = span(*tokens_.get(i + 3)).end;
      i += 3;
    }
    body += text.substr(done, span(*tokens_.get(loop)).begin - done);
    const size_t first = body.find_first_not_of(" \n"), last = body.find_last_not_of(" \n");
    if (first == std::string::npos || (plain && hasWord(text, names[0]))) return std::nullopt;
    std::string made = "map_leaves(|";
    for (size_t k = 0; k < names.size(); ++k) made += (k ? ", " : "") + names[k];
    made += "| " + body.substr(first, last + 1 - first);
    for (const std::string& tree : trees) made += ", " + tree;
    const Span open = span(*tokens_.get(colon - 2));
    return Help{"what is done for each key is done for each leaf of a struct",
                {{position(open.begin, span(*tokens_.get(end)).end), made + ")"}}};
  }

 private:
  struct Dictionary {
    size_t open = 0;  ///< index of its brace
    std::vector<std::string> keys{};
    std::vector<size_t> places{};  ///< the tokens of the keys
  };
  size_t typeOf(size_t i) const { return i < tokens_.size() ? tokens_.get(i)->getType() : static_cast<size_t>(T::EOF); }
  bool isBracket(size_t i) const { return typeOf(i) == T::LBRACK || typeOf(i) == T::AT_LBRACK; }
  std::string textOf(size_t i) const { return i < tokens_.size() ? tokens_.get(i)->getText() : ""; }

  /// The dictionary whose brace that token is; nothing for other braces and other keys.
  std::optional<Dictionary> read(size_t open) const {
    Dictionary found{open};
    for (size_t i = open + 1;;) {
      while (typeOf(i) == T::NL) ++i;
      if (typeOf(i) == T::RBRACE && !found.keys.empty()) return found;
      const std::string quoted = textOf(i);
      if (typeOf(i) != T::STRING || typeOf(i + 1) != T::COLON || quoted.size() < 3 || found.keys.size() == kMostKeys)
        return std::nullopt;
      const std::string key = quoted.substr(1, quoted.size() - 2);
      const bool isName = std::isdigit(static_cast<unsigned char>(key[0])) == 0 && key != "_" &&
                          std::ranges::all_of(key, isWordPart) && !isReserved(key);
      if (!isName || std::ranges::find(found.keys, key) != found.keys.end()) return std::nullopt;
      found.keys.push_back(key);
      found.places.push_back(i);
      i += 2;
      const size_t value = i;
      for (int depth = 0; depth > 0 || (typeOf(i) != T::COMMA && typeOf(i) != T::RBRACE); ++i) {
        if (i >= tokens_.size() || typeOf(i) == static_cast<size_t>(T::EOF) || (depth == 0 && typeOf(i) == T::FOR))
          return std::nullopt;
        depth += opens(*tokens_.get(i)) ? 1 : closes(*tokens_.get(i)) ? -1 : 0;
        if (depth < 0) return std::nullopt;
      }
      if (i == value) return std::nullopt;
      if (typeOf(i) == T::COMMA) ++i;
    }
  }

  /// Keys come one by one where a dictionary is walked over; the leaves of a struct would.
  bool isWalked() const {
    for (size_t i = 0; i + 2 < tokens_.size(); ++i) {
      if (typeOf(i) != T::NAME) continue;
      const std::string word = textOf(i);
      const bool walks = word == "enumerate" || word == "zip" || word == "list" || word == "sorted" || word == "map";
      if (!walks || typeOf(i + 1) != T::LPAREN || (i > 0 && typeOf(i - 1) == T::DOT)) continue;  // `tree.map`
      int depth = 0;
      for (size_t n = i + 1; n < tokens_.size(); ++n) {
        depth += opens(*tokens_.get(n)) ? 1 : closes(*tokens_.get(n)) ? -1 : 0;
        if (depth == 0) break;
        const bool alone = depth == 1 && typeOf(n) == T::NAME &&
                           (typeOf(n - 1) == T::LPAREN || typeOf(n - 1) == T::COMMA) &&
                           (typeOf(n + 1) == T::RPAREN || typeOf(n + 1) == T::COMMA);
        if (alone && isBoundToOne(textOf(n))) return true;
      }
    }
    return false;
  }
  /// `q = p.copy()` has the same arrays: what changes them in place changes both.
  bool isCopied() const {
    for (size_t i = 2; i + 3 < tokens_.size(); ++i) {
      if (textOf(i) != "copy" || typeOf(i + 1) != T::LPAREN) continue;
      const bool method = typeOf(i - 1) == T::DOT && typeOf(i - 2) == T::NAME;
      const size_t from = method ? i - 2 : i;
      const std::string of = method && typeOf(i + 2) == T::RPAREN ? textOf(i - 2) : textOf(i + 2);
      const bool binds = from >= 2 && typeOf(from - 1) == T::ASSIGN && typeOf(from - 2) == T::NAME;
      if (isBoundToOne(of) || (binds && isBoundToOne(textOf(from - 2)))) return true;
    }
    return false;
  }
  /// Whether a name may be that of a dictionary: it is read by a key, bound to one, or a parameter.
  bool isBoundToOne(const std::string& name) const {
    for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (typeOf(i) != T::NAME || textOf(i) != name) continue;
      const bool byKey = isBracket(i + 1) && typeOf(i + 2) == T::STRING;
      const bool isBound = typeOf(i + 1) == T::ASSIGN && typeOf(i + 2) == T::LBRACE;
      if (byKey || isBound) return true;
    }
    return false;
  }

  /// JAX takes the leaves of a dictionary in the order of its keys, TL in that of the fields.
  bool isFlattened(const Dictionary& d) const {
    static constexpr std::string_view kInOrder[] = {"ravel_pytree", "tree_leaves", "leaves", "tree_flatten", "flatten"};
    if (std::ranges::is_sorted(d.keys)) return false;
    return std::ranges::any_of(kInOrder, [&](std::string_view word) { return hasWord(p_.reporter.text(), word); });
  }

  /// The name of the struct with these keys, which is declared before the statement of the script that has the
  /// dictionary in it, if it is not yet.
  std::string declared(const Dictionary& d, std::vector<Edit>& edits) const {
    std::string types, fields;
    for (size_t k = 0; k < d.keys.size(); ++k) {
      const std::string type(1, static_cast<char>('A' + k));
      types += (k ? ", " : "") + (type + ": tree");
      fields += (k ? ", " : "") + d.keys[k] + ": " + type;
    }
    const std::string_view text = p_.reporter.text();
    const std::string rest = "[" + types + "] { " + fields + " }";
    if (const size_t at = text.find(rest); at != std::string_view::npos) {
      const size_t head = text.rfind("struct ", at);
      if (head != std::string_view::npos) return std::string(text.substr(head + 7, at - head - 7));
    }
    const std::string wanted = nameFor(d.open);
    std::string name = wanted;
    for (int n = 2; hasWord(text, name); ++n) name = wanted + std::to_string(n);
    const std::optional<size_t> line = statementOfScript(d.open);
    if (!line) return "";
    edits.push_back({position(*line, *line), "struct " + name + rest + "\n"});
    return name;
  }

  /// After the variable, the key or the function that it is the value of.
  std::string nameFor(size_t open) const {
    std::string word = "fields";
    if (open >= 2 && typeOf(open - 1) == T::ASSIGN && typeOf(open - 2) == T::NAME) word = textOf(open - 2);
    if (open >= 2 && typeOf(open - 1) == T::COLON && typeOf(open - 2) == T::STRING)
      word = textOf(open - 2).substr(1, textOf(open - 2).size() - 2);
    if (open >= 1 && typeOf(open - 1) == T::RETURN)
      for (size_t i = open; i-- > 1;)
        if (typeOf(i) == T::NAME && (typeOf(i - 1) == T::FN || textOf(i - 1) == "def")) {
          word = textOf(i);
          break;
        }
    std::string name;
    bool upper = true;
    for (const char c : word) {
      if (c != '_') name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      upper = c == '_';
    }
    return name.empty() || name == word || std::isdigit(static_cast<unsigned char>(name[0])) != 0 ? name + "Fields"
                                                                                                  : name;
  }

  /// Where the statement of the script begins that has a token in it, with the marks before it.
  std::optional<size_t> statementOfScript(size_t token) const {
    const std::string_view text = p_.reporter.text();
    size_t at = text.rfind('\n', span(*tokens_.get(token)).begin) + 1;  // npos + 1: the first
    const auto isInner = [&](size_t line) {
      return line < text.size() && (std::isspace(static_cast<unsigned char>(text[line])) != 0 ||
                                    std::string_view(")]}#").find(text[line]) != std::string_view::npos);
    };
    const auto before = [&](size_t line) { return line < 2 ? 0 : text.rfind('\n', line - 2) + 1; };
    while (at > 0 && isInner(at)) at = before(at);
    while (at > 0 && text[before(at)] == '@') at = before(at);
    return isInner(at) || text.substr(at).starts_with("class ") ? std::nullopt : std::optional(at);
  }

  antlr4::TokenStream& tokens_;
};

}  // namespace

std::optional<Help> dictionaryAsStruct(const SyntaxPlace& place) { return Dictionaries(place).help(); }

std::optional<Help> dictionaryByKeys(const SyntaxPlace& place) { return Dictionaries(place).byKeys(); }

}  // namespace tenc::syntax
