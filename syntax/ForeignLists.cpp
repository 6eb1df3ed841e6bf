#include "syntax/ForeignLists.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "syntax/Tokens.h"

namespace tenc::syntax {

namespace {

using Kind = TextToken::Kind;
using Range = std::pair<size_t, size_t>;  ///< of tokens, the end not in it

class Function {
 public:
  Function(std::string_view text, size_t def) : text_(text), tokens_(tokens(text)) {
    while (def_ < tokens_.size() && tokens_[def_].begin < def) ++def_;
    if (is(def_, "lambda"))
      readLambda();
    else
      readFunction();
  }

  bool computesWithLists() {
    for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
      const bool called = (i < def_ || i >= end_) && is(i, word(name_)) && isOpen(i + 1, '(');
      if (called) addCall(partsIn(i + 1));
    }
    for (const Range& parameter : head_)  // `def f(x, w=[1, 2]):`
      if (is(parameter.first + 1, "=")) addCall({parameter});
    for (size_t i = def_; i < end_; ++i)
      if (tokens_[i].kind == Kind::Operator && (joins(i) || joinsWritten(i))) return true;
    return false;
  }

 private:
  void readFunction() {
    name_ = def_ + 1;
    if (isOpen(def_ + 2, '(')) head_ = partsIn(def_ + 2);
    const size_t column = columnOf(def_);
    for (end_ = def_ + 1; end_ < tokens_.size() && (!beginsLine(end_) || columnOf(end_) > column);) ++end_;
  }
  /// `f = lambda a, b: a + b`
  void readLambda() {
    if (def_ < 2 || !is(def_ - 1, "=")) {
      end_ = def_;
      return;
    }
    name_ = def_ - 2;
    size_t colon = def_ + 1;
    while (colon < tokens_.size() && !is(colon, ":")) ++colon;
    for (size_t i = def_ + 1; i < colon; ++i)
      if (tokens_[i].kind == Kind::Name) head_.emplace_back(i, i + 1);
    for (end_ = colon + 1; end_ < tokens_.size() && !beginsLine(end_);) ++end_;
  }
  std::string_view word(size_t i) const {
    return i < tokens_.size() ? text_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin) : "";
  }
  bool is(size_t i, std::string_view w) const { return word(i) == w && !w.empty(); }
  bool isOpen(size_t i, char c) const {
    return i < tokens_.size() && tokens_[i].kind == Kind::Open && word(i).front() == c;
  }
  size_t columnOf(size_t i) const {
    return i < tokens_.size() ? tokens_[i].begin - (text_.substr(0, tokens_[i].begin).rfind('\n') + 1) : 0;
  }
  bool beginsLine(size_t i) const {
    return i > 0 && text_.substr(tokens_[i - 1].end, tokens_[i].begin - tokens_[i - 1].end).find('\n') != text_.npos;
  }
  /// Whether a statement begins there, behind the word of a declaration too.
  bool begins(size_t i) const { return beginsLine(i) || is(i - 1, "let") || is(i - 1, "var"); }
  size_t closeOf(size_t open) const {
    int depth = 0;
    for (size_t i = open; i < tokens_.size(); ++i) {
      depth += tokens_[i].kind == Kind::Open ? 1 : tokens_[i].kind == Kind::Close ? -1 : 0;
      if (depth == 0) return i;
    }
    return tokens_.size();
  }
  /// The parts between commas in a bracket.
  std::vector<Range> partsIn(size_t open) const {
    std::vector<Range> parts;
    const size_t close = closeOf(open);
    size_t begin = open + 1;
    for (size_t i = begin; i <= close; ++i) {
      if (i < close && tokens_[i].kind == Kind::Open) i = closeOf(i);
      if (i < close && !is(i, ",")) continue;
      if (i > begin) parts.emplace_back(begin, std::min(i, tokens_.size()));
      begin = i + 1;
    }
    return parts;
  }

  /// Whether a part is a list in brackets, or a name that is given one.
  bool isList(Range part) const {
    if (isOpen(part.first, '[')) return closeOf(part.first) + 1 == part.second;
    return part.second == part.first + 1 && isGiven(part.first, [&](size_t value) { return isOpen(value, '['); });
  }
  bool isInteger(Range part) const {
    const auto isNumber = [&](size_t i) {
      return i < tokens_.size() && tokens_[i].kind == Kind::Number && word(i).find('.') == std::string_view::npos;
    };
    if (part.second != part.first + 1) return false;
    return isNumber(part.first) || isGiven(part.first, isNumber);
  }
  template <class Wanted>
  bool isGiven(size_t name, const Wanted& wanted) const {
    if (tokens_[name].kind != Kind::Name) return false;
    for (size_t i = 0; i + 2 < tokens_.size(); ++i)
      if (is(i, word(name)) && is(i + 1, "=") && wanted(i + 2) && (i == 0 || begins(i))) return true;
    return false;
  }

  void addCall(const std::vector<Range>& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      Range value = arguments[i];
      std::string_view parameter = i < head_.size() ? word(head_[i].first) : "";
      if (is(value.first + 1, "=") || is(value.first + 1, ":")) {
        parameter = word(value.first);
        value.first += 2;
      }
      if (isList(value)) lists_.insert(parameter);
      if (isInteger(value)) integers_.insert(parameter);
    }
  }
  bool isListOperand(size_t i, bool ahead) const {
    if (tokens_[i].kind == Kind::Name) return lists_.contains(word(i)) && !is(ahead ? i + 1 : i - 1, ".");
    return ahead ? isOpen(i, '[') : is(i, "]");
  }
  bool joins(size_t i) const {
    constexpr std::array kWhole = std::to_array<std::string_view>({"+", "+=", "==", "!=", "<", ">", "<=", ">="});
    if (i == 0 || i + 1 >= tokens_.size()) return false;
    const bool left = isListOperand(i - 1, false), right = isListOperand(i + 1, true);
    const bool named = (left && tokens_[i - 1].kind == Kind::Name) || (right && tokens_[i + 1].kind == Kind::Name);
    if (std::ranges::find(kWhole, word(i)) != kWhole.end()) return left && right && named;
    const auto isCount = [&](size_t k) { return isInteger({k, k + 1}) || integers_.contains(word(k)); };
    return named && (is(i, "*") || is(i, "*=")) && ((left && isCount(i + 1)) || (right && isCount(i - 1)));
  }

  size_t openOf(size_t close) const {
    int depth = 0;
    for (size_t i = close + 1; i-- > 0;) {
      depth += tokens_[i].kind == Kind::Close ? 1 : tokens_[i].kind == Kind::Open ? -1 : 0;
      if (depth == 0) return i;
    }
    return 0;
  }
  /// Whether a list is written before the operator, and no index.
  bool endsList(size_t i) const {
    const size_t open = is(i - 1, "]") ? openOf(i - 1) : 0;
    if (open == 0 || beginsLine(open)) return open != 0;
    const TextToken& before = tokens_[open - 1];
    return before.kind == Kind::Operator || before.kind == Kind::Open || is(open - 1, ",") || is(open - 1, "return");
  }
  /// `return [h] * n`, `[2] + [h]`; what an assignment makes of `a = [0] * n` is known.
  bool joinsWritten(size_t i) const {
    if (i == 0 || i + 1 >= end_) return false;
    const bool left = endsList(i), right = isOpen(i + 1, '[');
    if (!left && !right) return false;
    if (is((left ? openOf(i - 1) : i - 1) - 1, "=")) return false;
    if (is(i, "+")) return left && right;
    const auto isCount = [&](size_t k) { return isInteger({k, k + 1}) || integers_.contains(word(k)); };
    return is(i, "*") && ((left && isCount(i + 1)) || (right && isCount(i - 1)));
  }

  std::string_view text_;
  std::vector<TextToken> tokens_;
  size_t def_ = 0, name_ = 0, end_ = 0;
  std::vector<Range> head_;
  std::set<std::string_view> lists_, integers_;  ///< parameters
};

}  // namespace

bool computesWithLists(std::string_view text, size_t def) { return Function(text, def).computesWithLists(); }

}  // namespace tenc::syntax
