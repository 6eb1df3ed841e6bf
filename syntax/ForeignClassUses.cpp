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
  Uses(const PythonClass& c, std::string_view text) : class_(c), text_(text) {}

  /// Whether a function outside of the class calls what changes an object: it would keep the change to itself.
  bool isChangedElsewhere() {
    if (!class_.network) tokens_ = tokens(text_);
    if (!class_.network && (!class_.changing.empty() || isSetElsewhere()) &&
        (class_.handsOnSelf || holdsTwice() || isShared()))
      return true;
    for (const std::string& method : class_.changing) {
      const std::string call = "." + method + "(";
      for (const PythonClass::Method& m : class_.methods)
        if (m.body.find("self" + call) != std::string::npos) return true;
      bool inFunction = false;
      for (size_t at = 0; at < text_.size(); at = std::min(text_.find('\n', at), text_.size()) + 1) {
        const std::string_view line = text_.substr(at, text_.find('\n', at) - at);
        if (at >= class_.begin && at < class_.end) continue;
        const bool outermost = !line.empty() && line[0] != ' ' && line[0] != '\t' && line[0] != '}';
        if (outermost) inFunction = line.starts_with("def ") || line.starts_with("fn ") || line.starts_with("class ");
        if (inFunction && line.find(call) != line.npos) return true;
      }
    }
    return false;
  }

 private:
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
    size_t close = at + class_.name.size();
    for (int depth = 0; close < text_.size(); ++close) {
      depth += text_[close] == '(' ? 1 : text_[close] == ')' ? -1 : 0;
      if (depth <= 0) break;
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
  /// Whether an object of the class may have two names, or be held by something else: a change is seen through both.
  bool isShared() const {
    std::vector<std::string_view> objects;
    for (const size_t at : places(class_.name)) {
      const std::string_view object = objectMade(at);
      if (object.empty()) return true;
      objects.push_back(object);
    }
    return std::ranges::any_of(objects, [&](std::string_view object) {
      return std::ranges::any_of(places(object), [&](size_t at) { return !isOwnUse(at, object); });
    });
  }
  /// Whether the name of an object is given it there, or read for a field or a call that is a statement.
  bool isOwnUse(size_t at, std::string_view object) const {
    const std::string_view line = onwards(at), left = before(at);
    if (left.ends_with('.')) return true;  // a member of something else
    const std::string_view rest = trimmed(line.substr(object.size()));
    if (rest.starts_with('=') && !rest.starts_with("==")) {
      const size_t value = static_cast<size_t>(trimmed(rest.substr(1)).data() - text_.data());
      return text_.substr(value).starts_with(class_.name) && objectMade(value) == object;
    }
    if (!rest.starts_with('.')) return false;
    const std::string_view member = wordAt(rest.substr(1)), behind = rest.substr(1 + member.size());
    const auto changes = [&](const std::string& method) { return method == member; };
    if (std::ranges::none_of(class_.changing, changes)) return true;
    return behind.starts_with('(') && (left.empty() || left.ends_with(':') || left.ends_with(';'));
  }
  /// Whether a field is set outside of the class.
  bool isSetElsewhere() const {
    return std::ranges::any_of(class_.fields, [&](const PythonClass::Field& f) {
      return std::ranges::any_of(places(f.name), [&](size_t at) {
        return before(at).ends_with('.') && setsField("self." + std::string(onwards(at)));
      });
    });
  }

  const PythonClass& class_;
  std::string_view text_;
  std::vector<TextToken> tokens_;  ///< of the whole text
};

}  // namespace

bool isChangedElsewhere(const PythonClass& c, std::string_view text) { return Uses(c, text).isChangedElsewhere(); }

}  // namespace tenc::syntax
