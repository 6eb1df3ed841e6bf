// Numbers and places in tuples that the lexer cuts otherwise than they are meant: `5.`, `1.e3`, `t.0.1`.
#include "syntax/TokenFilter.h"

namespace tenc::syntax {

using antlr4::Token;

/// The point of `5.`: directly behind an integer that is no place in a tuple, and before neither a name nor a digit.
bool TokenFilter::endsNumber(const Token& dot) const {
  if (last_ != T::INT || typeBefore(2) == T::DOT || out_.back()->getStopIndex() + 1 != dot.getStartIndex())
    return false;
  const std::string_view text = stream_.text();
  if (text.substr(out_.back()->getStartIndex()).starts_with("0x")) return false;
  const size_t next = dot.getStopIndex() + 1;
  return next >= text.size() ||
         std::string_view(" \t\r\n#)]},;+-*/%@:=<>!|").find(text[next]) != std::string_view::npos;
}

/// Of `1.e3` and `2.e-1`: the lexer gives a point and a name, which is a member of a tuple's place alone.
bool TokenFilter::takeExponent(const Token& dot) {
  if (last_ != T::INT || typeBefore(2) == T::DOT || out_.back()->getStopIndex() + 1 != dot.getStartIndex())
    return false;
  const std::string_view text = stream_.text();
  const auto isDigit = [&](size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  const size_t begin = out_.back()->getStartIndex();
  size_t end = dot.getStopIndex() + 1;
  if (end >= text.size() || (text[end] != 'e' && text[end] != 'E') || text.substr(begin).starts_with("0x"))
    return false;
  ++end;
  if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
  if (!isDigit(end)) return false;
  while (isDigit(end)) ++end;
  size_t behind = next_;
  while (behind < tokens_.size() && tokens_[behind]->getStopIndex() < end) ++behind;
  if (behind < tokens_.size() && tokens_[behind]->getStartIndex() < end) return false;  // `1.e3x`
  next_ = behind;
  out_.pop_back();
  pushMade(T::FLOAT, begin, end);
  return true;
}

/// In `1.5.3` the 3 is not a tuple index.
bool TokenFilter::afterNumberDot() const {
  if (last_ != T::DOT) return false;
  return typeBefore(2) == T::FLOAT || (typeBefore(2) == T::INT && typeBefore(3) != T::DOT);
}

/// `t.0.1` is lexed as `t`, `.`, `0.1`.
void TokenFilter::splitPlaces(const Token& t) {
  const std::string s = t.getText();
  const size_t begin = t.getStartIndex();
  const size_t dot = s.find('.');
  if (dot == std::string::npos || s.find_first_of("eE_") != std::string::npos) {
    reporter_.report(Code::E0104, reporter_.span(t), "`" + s + "` is not a tuple index");
    pushMade(T::INT, begin, begin + s.size());
    return;
  }
  pushMade(T::INT, begin, begin + dot);
  pushMade(T::DOT, begin + dot, begin + dot + 1);
  pushMade(T::INT, begin + dot + 1, begin + s.size());
}

}  // namespace tenc::syntax
