#include "syntax/ForeignOperators.h"

#include <algorithm>
#include <utility>

#include "grammar/TLParser.h"

namespace tenc::syntax {

namespace {

using T = TLParser;

constexpr size_t kLambdaBar = static_cast<size_t>(-2);  ///< one of the two around the parameters of a lambda

// How tightly operators bind in Python, from the loosest; `&` and its like have no meaning in TL.
constexpr int kStop = 0, kOr = 1, kAnd = 2, kNot = 3, kCompare = 4, kEither = 5, kApart = 6, kBoth = 7, kShift = 8;
constexpr size_t kMostPieces = 256;  ///< of an expression that is written anew
constexpr int kSum = 9, kProduct = 10, kOperand = 100;

int levelOf(size_t type) {
  switch (type) {
    case T::OR: return kOr;
    case T::AND: return kAnd;
    case T::NOT: return kNot;
    case T::EQ:
    case T::NE:
    case T::LT:
    case T::LE:
    case T::GT:
    case T::GE:
    case T::IN: return kCompare;
    case T::BAR: return kEither;
    case T::PLUS:
    case T::MINUS: return kSum;
    case T::STAR:
    case T::SLASH:
    case T::SLASHSLASH:
    case T::PERCENT:
    case T::AT: return kProduct;
    case kLambdaBar:
    case T::COMMA:
    case T::COLON:
    case T::COLON_PLUS:
    case T::SEMI:
    case T::NL:
    case T::ASSIGN:
    case T::ADD_EQ:
    case T::SUB_EQ:
    case T::MUL_EQ:
    case T::DIV_EQ:
    case T::FLOOR_EQ:
    case T::MOD_EQ:
    case T::AT_EQ:
    case T::POW_EQ:
    case T::ARROW:
    case T::PIPE:
    case T::BARBAR:
    case T::DOTS:
    case T::BY:
    case T::IF:
    case T::ELSE:
    case T::FOR:
    case T::WHILE:
    case T::RETURN:
    case T::ASSERT:
    case T::LET:
    case T::VAR:
    case T::CONST:
    case T::STATIC:
    case T::HOLE_FORMAT:
    case T::LBRACE:
    case T::RBRACE: return kStop;
    default: return kOperand;
  }
}

bool endsOperand(size_t type) {
  return type == T::NAME || type == T::INT || type == T::FLOAT || type == T::STRING || type == T::RPAREN ||
         type == T::RBRACK || type == T::RBRACE || type == T::TRUE || type == T::FALSE || type == T::STR_CLOSE;
}

/// Without the ends of lines inside of brackets, and with the bars of lambdas told apart from those between operands.
std::vector<Piece> told(const std::vector<Piece>& pieces) {
  struct Level {
    bool lines = true, inParameters = false;
  };
  std::vector<Level> open{{}};
  std::vector<Piece> kept;
  for (Piece p : pieces) {
    if (p.type == T::NL && !open.back().lines) continue;
    if (p.type == T::LPAREN || p.type == T::LBRACK || p.type == T::AT_LBRACK) open.push_back({.lines = false});
    if (p.type == T::LBRACE) open.push_back({});
    const bool closes = p.type == T::RPAREN || p.type == T::RBRACK || p.type == T::RBRACE;
    if (closes && open.size() > 1) open.pop_back();
    if (p.type == T::BAR && (open.back().inParameters || kept.empty() || !endsOperand(kept.back().type))) {
      open.back().inParameters = !open.back().inParameters;
      p.type = kLambdaBar;
    }
    kept.push_back(p);
  }
  return kept;
}

std::string inParentheses(std::string text) { return "(" + std::move(text) + ")"; }

}  // namespace

ForeignOperators::ForeignOperators(const std::vector<Piece>& pieces, std::string_view text)
    : pieces_(told(pieces)), text_(text) {}

std::string ForeignOperators::source(Range r) const {
  if (r.first >= r.last) return "";
  return std::string(text_.substr(pieces_[r.first].begin, pieces_[r.last - 1].end - pieces_[r.first].begin));
}

int ForeignOperators::level(size_t i) const {
  const Piece& p = pieces_[i];
  const std::string_view s = textOf(p);
  if (s == "&&") return kAnd;
  if (s == "&") return kBoth;
  if (s == "^") return kApart;
  if (s == "?") return kStop;
  const auto beside = [&](size_t a, size_t b) {
    return b < pieces_.size() && pieces_[a].type == p.type && pieces_[b].type == p.type &&
           pieces_[a].end == pieces_[b].begin;
  };
  if ((p.type == T::LT || p.type == T::GT) && (beside(i, i + 1) || (i > 0 && beside(i - 1, i)))) return kShift;
  const int own = levelOf(p.type);
  if ((own == kSum || own == kProduct) && (i == 0 || !endsOperand(pieces_[i - 1].type))) return kOperand;  // unary
  return own;
}

bool ForeignOperators::opens(size_t i) const {
  const size_t t = pieces_[i].type;
  return t == T::LPAREN || t == T::LBRACK || t == T::AT_LBRACK || t == T::LBRACE || t == T::STR_OPEN ||
         t == T::HOLE_OPEN;
}

bool ForeignOperators::closes(size_t i) const {
  const size_t t = pieces_[i].type;
  return t == T::RPAREN || t == T::RBRACK || t == T::RBRACE || t == T::STR_CLOSE || t == T::HOLE_CLOSE;
}

/// The index behind the bracket that closes what opens at `open`.
size_t ForeignOperators::behindGroup(size_t open, size_t end) const {
  int depth = 0;
  for (size_t i = open; i < end; ++i) {
    depth += opens(i) ? 1 : closes(i) ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return end;
}

std::optional<size_t> ForeignOperators::find(size_t offset) const {
  const auto p =
      std::lower_bound(pieces_.begin(), pieces_.end(), offset, [](const Piece& x, size_t at) { return x.begin < at; });
  return p == pieces_.end() || p->begin != offset ? std::nullopt
                                                  : std::optional(static_cast<size_t>(p - pieces_.begin()));
}

ForeignOperators::Range ForeignOperators::around(size_t i, int loosest) const {
  Range r{i + 1, i};
  for (int depth = 0; r.first > 0 && i + 1 - r.first <= kMostPieces; --r.first) {
    const size_t p = r.first - 1;
    if (depth == 0 && (opens(p) || (!closes(p) && level(p) <= loosest))) break;
    if (depth == 0 && pieces_[p].type == T::RBRACE) break;  // a block before
    depth += closes(p) ? 1 : opens(p) ? -1 : 0;
  }
  for (int depth = 0; r.last < pieces_.size() && r.last - i <= kMostPieces; ++r.last) {
    const size_t p = r.last;
    if (depth == 0 && (closes(p) || pieces_[p].type == T::LBRACE || (!opens(p) && level(p) <= loosest))) break;
    depth += opens(p) ? 1 : closes(p) ? -1 : 0;
  }
  return r;
}

/// One pair of brackets, or one token.
bool ForeignOperators::isWhole(Range r) const {
  return r.last == r.first + 1 || (opens(r.first) && behindGroup(r.first, r.last) == r.last);
}

/// Whether an operand is written as something that is true or false.
bool ForeignOperators::isLogical(Range r) const {
  if (r.first >= r.last) return false;
  const size_t type = pieces_[r.first].type;
  if (r.last == r.first + 1) return type == T::TRUE || type == T::FALSE;
  if (textOf(pieces_[r.first]) == "~") return isLogical({r.first + 1, r.last});
  if (type != T::LPAREN || !isWhole(r)) return false;
  for (size_t i = r.first + 1; i + 1 < r.last; i = opens(i) ? behindGroup(i, r.last) : i + 1)
    if (level(i) >= kOr && level(i) <= kCompare) return true;
  for (size_t i = r.first + 1; i + 1 < r.last; i = opens(i) ? behindGroup(i, r.last) : i + 1)
    if (level(i) == kEither || level(i) == kBoth) return isLogical({r.first + 1, i});
  return isLogical({r.first + 1, r.last - 1});
}

ForeignOperators::Written ForeignOperators::expression(Range r) const {
  size_t at = r.last;
  for (size_t i = r.first; i < r.last; i = opens(i) ? behindGroup(i, r.last) : i + 1) {
    const int own = level(i);
    if (own >= kEither && own <= kShift && (at == r.last || own <= level(at))) at = i;
  }
  if (at == r.last) {
    std::string text;
    size_t done = pieces_[r.first].begin;
    int binds = kOperand;
    for (size_t i = r.first; i < r.last;) {
      text += text_.substr(done, pieces_[i].begin - done);
      done = pieces_[i].begin;
      if (textOf(pieces_[i]) == "~") {
        // What it binds: one operand with what stands behind it.
        size_t end = i + 1;
        while (end < r.last && level(end) == kOperand) end = opens(end) ? behindGroup(end, r.last) : end + 1;
        const Range operand{i + 1, end};
        const Written inner = operand.first < operand.last ? expression(operand) : Written{};
        const bool alone = i == r.first && end == r.last;
        if (isLogical(operand)) {
          text += alone ? "not " + inner.text : "(not " + inner.text + ")";
          if (alone) binds = kNot;
        } else {
          const bool group = isWhole(operand) && pieces_[operand.first].type == T::LPAREN;
          text += "bitwise_invert" + (group ? inner.text : inParentheses(inner.text));
        }
        done = pieces_[end - 1].end;
        i = end;
      } else if (opens(i) && pieces_[i].type != T::STR_OPEN) {
        const size_t end = behindGroup(i, r.last);
        const Range inside{i + 1, end - 1};
        text += textOf(pieces_[i]);
        text += text_.substr(pieces_[i].end, pieces_[inside.first].begin - pieces_[i].end);
        if (inside.first < inside.last) {
          text += content(inside);
          text += text_.substr(pieces_[inside.last - 1].end, pieces_[end - 1].end - pieces_[inside.last - 1].end);
        } else {
          text += textOf(pieces_[end - 1]);
        }
        done = pieces_[end - 1].end;
        i = end;
      } else {
        text += textOf(pieces_[i]);
        done = pieces_[i].end;
        ++i;
      }
    }
    return {text, binds};
  }
  const int own = level(at);
  const Range left{r.first, own == kShift && at > r.first && level(at - 1) == kShift ? at - 1 : at};
  const Range right{at + 1, r.last};
  if (left.first >= left.last || right.first >= right.last) return {source(r), kOperand};
  Written a = expression(left), b = expression(right);
  const bool logical = (isLogical(left) || isLogical(right)) && own != kShift;
  if (logical) {
    const int binds = own == kBoth ? kAnd : own == kEither ? kOr : kCompare;
    const char* word = own == kBoth ? " and " : own == kEither ? " or " : " != ";
    if (a.level < binds) a.text = inParentheses(a.text);
    if (b.level <= binds) b.text = inParentheses(b.text);
    return {a.text + word + b.text, binds};
  }
  return {bitsName(at) + ("(" + a.text) + ", " + b.text + ")", kOperand};
}

/// The function that an operator of bits is.
std::string ForeignOperators::bitsName(size_t i) const {
  const int own = level(i);
  if (own == kBoth) return "bitwise_and";
  if (own == kEither) return "bitwise_or";
  if (own == kApart) return "bitwise_xor";
  return pieces_[i].type == T::LT ? "bitwise_left_shift" : "bitwise_right_shift";
}

/// `x ^= a`, by the index of the operator's first piece.
std::optional<Rewrite> ForeignOperators::update(size_t i) const {
  const auto follows = [&](size_t n, size_t type) {
    return n + 1 < pieces_.size() && pieces_[n + 1].type == type && pieces_[n].end == pieces_[n + 1].begin;
  };
  const bool shifts =
      (pieces_[i].type == T::LT && follows(i, T::LE)) || (pieces_[i].type == T::GT && follows(i, T::GE));
  if (!shifts && !(level(i) >= kEither && level(i) <= kBoth && follows(i, T::ASSIGN))) return std::nullopt;
  const Range target{around(i, kStop).first, i}, value{i + 2, i + 2 < pieces_.size() ? around(i + 2, kStop).last : i};
  const auto isPath = [&](Range r) {
    for (size_t n = r.first; n < r.last; ++n)
      if (pieces_[n].type == T::LPAREN || pieces_[n].type == T::LBRACE) return false;
    return r.first < r.last && pieces_[r.first].type == T::NAME;
  };
  const bool ends = value.last == pieces_.size() || closes(value.last) || pieces_[value.last].type == T::NL ||
                    pieces_[value.last].type == T::SEMI;
  if (!isPath(target) || !ends || value.first >= value.last || value.last - target.first >= kMostPieces ||
      pieces_[value.first].type == T::LBRACE)
    return std::nullopt;
  const std::string x = source(target);
  return Rewrite{pieces_[target.first].begin, pieces_[value.last - 1].end,
                 x + " = " + bitsName(i) + "(" + x + ", " + expression(value).text + ")"};
}

/// What stands between brackets: expressions, and what keeps them apart.
std::string ForeignOperators::content(Range r) const {
  std::string text;
  size_t done = pieces_[r.first].begin;
  for (size_t i = r.first; i < r.last;) {
    text += text_.substr(done, pieces_[i].begin - done);
    size_t end = i;
    while (end < r.last && level(end) > kCompare) end = opens(end) ? behindGroup(end, r.last) : end + 1;
    if (end == i) {
      text += textOf(pieces_[i]);
      done = pieces_[i].end;
      ++i;
      continue;
    }
    const Written part = expression({i, end});
    const bool beside = (i > r.first && level(i - 1) > kStop) || (end < r.last && level(end) > kStop);
    text += beside && part.level <= kCompare ? inParentheses(part.text) : part.text;
    done = pieces_[end - 1].end;
    i = end;
  }
  return text;
}

bool ForeignOperators::joinsComparisons(size_t offset) const {
  const std::optional<size_t> i = find(offset);
  if (!i || (level(*i) != kBoth && level(*i) != kEither)) return false;
  const Range r = around(*i, kCompare);
  return r.first > 0 && r.last < pieces_.size() && level(r.first - 1) == kCompare && level(r.last) == kCompare;
}

std::optional<Rewrite> ForeignOperators::bits(size_t offset) const {
  const std::optional<size_t> i = find(offset);
  if (!i) return std::nullopt;
  if (const auto updated = update(*i)) return updated;
  const Range r = around(*i, kCompare);
  if (r.last - r.first >= kMostPieces) return std::nullopt;
  if (joinsComparisons(offset)) return std::nullopt;
  const Written w = expression(r);
  // `a ^ b` of numbers is a power to some and an exclusive or to others.
  if (w.text == source(r) || w.text.find("bitwise_xor(") != std::string::npos) return std::nullopt;
  const auto isTight = [&](size_t p) { return level(p) >= kOr && level(p) <= kCompare; };
  const bool beside = (r.first > 0 && isTight(r.first - 1)) || (r.last < pieces_.size() && isTight(r.last));
  return Rewrite{pieces_[r.first].begin, pieces_[r.last - 1].end,
                 beside && w.level < kOperand ? inParentheses(w.text) : w.text};
}

std::optional<Rewrite> ForeignOperators::choice(size_t offset) const {
  const std::optional<size_t> i = find(offset);
  if (!i || *i == 0) return std::nullopt;
  const Range c{around(*i - 1, kStop).first, *i};
  size_t colon = *i + 1;
  for (int nested = 0; colon < pieces_.size(); colon = opens(colon) ? behindGroup(colon, pieces_.size()) : colon + 1) {
    const size_t type = pieces_[colon].type;
    nested += textOf(pieces_[colon]) == "?" ? 1 : 0;
    if (type == T::NL || closes(colon)) return std::nullopt;
    if (type == T::COLON && nested-- == 0) break;
  }
  if (colon + 1 >= pieces_.size() || colon == *i + 1) return std::nullopt;
  size_t end = colon + 1;
  while (end < pieces_.size() && !closes(end) && pieces_[end].type != T::COMMA && pieces_[end].type != T::NL &&
         pieces_[end].type != T::SEMI)
    end = opens(end) ? behindGroup(end, pieces_.size()) : end + 1;
  if (c.first >= c.last || c.last - c.first >= kMostPieces || end == colon + 1) return std::nullopt;
  return Rewrite{pieces_[c.first].begin, pieces_[end - 1].end,
                 "if " + source(c) + " { " + source({*i + 1, colon}) + " } else { " + source({colon + 1, end}) + " }"};
}

std::optional<Rewrite> ForeignOperators::membership(size_t offset) const {
  const std::optional<size_t> i = find(offset);
  if (!i || *i == 0 || *i + 2 >= pieces_.size()) return std::nullopt;
  const bool negated = pieces_[*i].type == T::NOT;
  const size_t in = negated ? *i + 1 : *i;
  if (pieces_[in].type != T::IN) return std::nullopt;
  const Range x{around(*i - 1, kCompare).first, *i};
  const Range xs{in + 1, around(in + 1, kCompare).last};
  const auto compares = [&](size_t p) { return p < pieces_.size() && level(p) == kCompare; };
  if ((x.first > 0 && compares(x.first - 1)) || compares(xs.last)) return std::nullopt;  // Python chains them
  const auto isText = [&](Range r) {
    return std::any_of(pieces_.begin() + static_cast<std::ptrdiff_t>(r.first),
                       pieces_.begin() + static_cast<std::ptrdiff_t>(r.last),
                       [](const Piece& p) { return p.type == T::STRING || p.type == T::STR_OPEN; });
  };
  if (x.last - x.first >= kMostPieces || xs.last - xs.first >= kMostPieces) return std::nullopt;
  if (x.first >= x.last || xs.first >= xs.last || isText(x) || isText(xs)) return std::nullopt;
  std::string all = source(xs);
  if (pieces_[xs.first].type == T::LPAREN && isWhole(xs)) all = "[" + all.substr(1, all.size() - 2) + "]";
  if (pieces_[xs.first].type == T::LBRACE) return std::nullopt;
  const std::string text = (negated ? "all(" : "any(") + all + (negated ? " != " : " == ") + source(x) + ")";
  return Rewrite{pieces_[x.first].begin, pieces_[xs.last - 1].end, text};
}

}  // namespace tenc::syntax
