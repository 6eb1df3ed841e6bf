// Whether what a class becomes keeps the meaning of the script that uses it: an object of Python is seen through all
// its names.
#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "syntax/ForeignClassParts.h"
#include "syntax/Tokens.h"

namespace tenc::syntax {

namespace {

class Uses {
 public:
  Uses(PythonClass& c, std::string_view text) : class_(c), text_(text) {}

  std::optional<ClassProblem> changedElsewhere() {
    if (class_.network) return std::nullopt;
    tokens_ = tokens(text_);
    const auto set = setElsewhere();
    if (set && !class_.unfilled.empty())
      return problem(*set,
                     "a field of a class in which fields begin with `None` is set here: give the fields their values "
                     "where the object is made");
    if (!class_.changes() && !set) return std::nullopt;
    if (class_.handsOnSelf || class_.sharesFields || holdsTwice()) return ClassProblem{};
    if (const auto at = shared()) return problem(*at, kTwoNames);
    if (const auto at = changedByFunction()) return problem(*at, kByFunction);
    return std::nullopt;
  }

 private:
  static constexpr std::string_view kTwoNames =
      "the object may have two names here, or change within an expression, and an object of TL is a value";
  static constexpr std::string_view kByFunction =
      "the method changes its object, and in a function a change ends with it";
  ClassProblem problem(size_t at, std::string_view why) const {
    return {at, at + wordAt(text_.substr(at)).size(), why};
  }
  /// The whole words of that name outside of the class, of strings and of comments.
  std::vector<size_t> places(std::string_view name) const {
    std::vector<size_t> found;
    for (const TextToken& t : tokens_) {
      const bool is = t.kind == TextToken::Kind::Name && text_.substr(t.begin, t.end - t.begin) == name;
      if (is && (t.begin < class_.begin || t.begin >= class_.end)) found.push_back(t.begin);
    }
    return found;
  }
  size_t lineBegin(size_t at) const { return text_.substr(0, at).rfind('\n') + 1; }  // npos + 1: the first line
  /// What stands on the line before a place, and from it on, without the comment.
  std::string_view before(size_t at) const { return trimmed(text_.substr(lineBegin(at), at - lineBegin(at))); }
  std::string_view onwards(size_t at) const {
    return withoutComment(text_.substr(at, std::min(text_.find('\n', at), text_.size()) - at));
  }
  /// The name alone that `Class(...)` is given to; empty where it is not the whole of one assignment.
  std::string_view objectMade(size_t at) const {
    std::string_view target = before(at);
    if (!target.ends_with('=')) return "";
    target = trimmed(target.substr(0, target.size() - 1));
    for (const std::string_view word : {"let ", "var "})
      if (target.starts_with(word)) target = trimmed(target.substr(4));
    size_t close = closeOf(at);
    // `Model().fit(x)`, which gives the object
    while (close + 1 < text_.size() && text_[close + 1] == '.') {
      const PythonClass::Method* m = class_.changing(wordAt(text_.substr(close + 2)));
      if (!m || !m->givesSelf) break;
      close = closeOf(close + 1);
    }
    const bool whole = close < text_.size() && text_[close] == ')' && trimmed(onwards(close)) == ")";
    return whole && !target.empty() && wordAt(target) == target ? target : "";
  }
  /// Whether two fields begin as one parameter, which may be an array.
  bool holdsTwice() const {
    std::set<std::string_view> seen;
    return std::ranges::any_of(class_.fields, [&](const PythonClass::Field& f) {
      const bool named = std::isalpha(static_cast<unsigned char>(f.value.empty() ? '0' : f.value[0])) != 0;
      return named && wordAt(f.value) == f.value && f.value != "true" && f.value != "false" && f.value != "True" &&
             f.value != "False" && !seen.insert(f.value).second;
    });
  }
  /// Where an object of the class may have two names, or be held by something else: a change is seen through both.
  std::optional<size_t> shared() {
    for (const size_t at : places(class_.name)) {
      const std::string_view object = objectMade(at);
      if (object.empty()) return at;
      made_.push_back({object, at});
    }
    for (const Made& m : made_)
      for (const size_t at : places(m.name))
        if (!isOwnUse(at, m.name)) return at;
    return std::nullopt;
  }
  /// Where a function calls what changes an object that it did not make.
  std::optional<size_t> changedByFunction() const {
    for (const PythonClass::Method& m : class_.methods)
      for (const size_t at : m.changes ? places(m.name) : std::vector<size_t>()) {
        const std::string_view left = before(at);
        if (!left.ends_with('.') || text_[at + m.name.size()] != '(' || functionAround(at) == 0) continue;
        size_t begin = at - 1;
        while (begin > 0 && isWordPart(text_[begin - 1])) --begin;
        const std::string_view object = text_.substr(begin, at - 1 - begin);
        if (std::ranges::none_of(made_, [&](const Made& o) { return o.name == object; })) return at;
      }
    return std::nullopt;
  }
  /// Where the function around a place begins, that of the script for none.
  size_t functionAround(size_t at) const {
    for (size_t begin = lineBegin(at); begin > 0;) {
      begin = lineBegin(begin - 1);
      const std::string_view line = text_.substr(begin, text_.find('\n', begin) - begin);
      if (line.empty() || line[0] == ' ' || line[0] == '\t' || line[0] == '}' || line[0] == '#') continue;
      return line.starts_with("def ") || line.starts_with("fn ") ? begin + 1 : 0;
    }
    return 0;
  }
  size_t indentOf(size_t at) const {
    const std::string_view line = text_.substr(lineBegin(at));
    return std::min(line.find_first_not_of(" \t"), line.size());
  }
  /// Whether the name of an object is given it there, or read for a field or a call that is a statement.
  bool isOwnUse(size_t at, std::string_view object) {
    const std::string_view line = onwards(at), left = before(at);
    if (left.ends_with('.')) return true;  // a member of something else
    const std::string_view rest = trimmed(line.substr(object.size()));
    if (rest.starts_with('=') && !rest.starts_with("==")) {
      const size_t value = static_cast<size_t>(trimmed(rest.substr(1)).data() - text_.data());
      return text_.substr(value).starts_with(class_.name) && objectMade(value) == object;
    }
    if (const PythonClass::Method* called = class_.changing("call"); called && rest.starts_with('('))
      return isStatement(at, object, *called, ".call");
    if (!rest.starts_with('.')) return false;
    const std::string_view member = wordAt(rest.substr(1)), behind = rest.substr(1 + member.size());
    const PythonClass::Method* method = class_.changing(member);
    return !method || (behind.starts_with('(') && isStatement(at, object, *method));
  }
  /// Whether a call that changes an object is a statement, or its values are given names: notes what stands for it.
  bool isStatement(size_t at, std::string_view object, const PythonClass::Method& m, const std::string& member = "") {
    std::string_view left = before(at);
    if (const size_t other = left.rfind(';'); other != left.npos) left = trimmed(left.substr(other + 1));
    if (left.ends_with(':')) left = "";  // `if c: p.step()`
    const bool isWhole = trimmed(onwards(closeOf(at))) == ")" || onwards(closeOf(at)).starts_with(");");
    const size_t function = functionAround(at);
    const auto home = std::ranges::find_if(
        made_, [&](const Made& o) { return o.name == object && functionAround(o.at) == function; });
    if (!isWhole || home == made_.end()) return false;
    // What fills fields changes the type of the object: a name of its own, where it was made.
    const bool anew = m.fills && indentOf(at) == indentOf(home->at);
    const std::string called = std::string(object) + member;
    if (m.values == 0) {
      if (!left.empty()) return false;
      if (anew && before(at).empty()) class_.uses.push_back({at, at + object.size(), "let " + called + " = " + called});
      if (!anew && !member.empty())
        class_.uses.push_back({at, at + object.size(), std::string(object) + " = " + called});
      return true;
    }
    std::string names(object);
    size_t begin = at;
    if (left.empty()) {
      for (size_t i = 0; i < m.values; ++i) names += ", _";
    } else {
      const bool isNew = left.starts_with("let ");
      const std::string_view target = trimmed(left.substr(isNew ? 4 : 0, left.size() - 1 - (isNew ? 4 : 0)));
      const bool plain = left.ends_with('=') &&
                         std::ranges::all_of(target, [](char c) { return isWordPart(c) || c == ',' || c == ' '; });
      if (!plain || listed(target).size() != m.values || mentions(target, object)) return false;
      names += ", " + std::string(target);
      begin = static_cast<size_t>(left.data() - text_.data());
    }
    class_.uses.push_back({begin, at + object.size(), (anew ? "let (" + names + ")" : names) + " = " + called});
    return true;
  }
  /// The bracket that closes the first one behind a place.
  size_t closeOf(size_t at) const {
    for (int depth = 0; at < text_.size(); ++at) {
      const int opens = openBrackets(text_.substr(at, 1));
      depth += opens;
      if (opens < 0 && depth == 0) break;
    }
    return at;
  }
  /// Where a field is set outside of the class.
  std::optional<size_t> setElsewhere() const {
    for (const PythonClass::Field& f : class_.fields)
      for (const size_t at : places(f.name))
        if (before(at).ends_with('.') && setsField("self." + std::string(onwards(at)))) return at;
    return std::nullopt;
  }

  PythonClass& class_;
  std::string_view text_;
  struct Made {
    std::string_view name;
    size_t at;  ///< of the class
  };
  std::vector<Made> made_;
  std::vector<TextToken> tokens_;  ///< of the whole text
};

}  // namespace

std::optional<ClassProblem> changedElsewhere(PythonClass& c, std::string_view text) {
  return Uses(c, text).changedElsewhere();
}

}  // namespace tenc::syntax
