// Numbers and strings.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "syntax/AstBuilder.h"

namespace tenc::syntax {

using ast::Expr;
using P = TLParser;

namespace {

/// The value of a literal, decimal or 0x, with `_` between digits. The bits wrap when it does not fit.
uint64_t integerValue(std::string_view text, bool& overflow) {
  const bool hex = text.size() > 2 && (text[1] == 'x');
  const uint64_t base = hex ? 16 : 10;
  uint64_t value = 0;
  overflow = false;
  for (const char c : text.substr(hex ? 2 : 0)) {
    uint64_t digit = 0;
    if (c >= '0' && c <= '9')
      digit = static_cast<uint64_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      digit = static_cast<uint64_t>(c - 'a' + 10);
    else if (c >= 'A' && c <= 'F')
      digit = static_cast<uint64_t>(c - 'A' + 10);
    else
      continue;
    uint64_t product = 0;
    overflow |= __builtin_mul_overflow(value, base, &product);
    overflow |= __builtin_add_overflow(product, digit, &value);
  }
  return value;
}

}  // namespace

ast::ExprPtr AstBuilder::intLiteral(Span s) {
  auto e = make(Expr::Kind::Int, s);
  e->text = std::string(r_.text(s));
  e->integer = static_cast<int64_t>(integerValue(e->text, e->overflow));
  return e;
}

int64_t AstBuilder::number(Span s) {
  bool overflow = false;
  const uint64_t value = integerValue(r_.text(s), overflow);
  if (overflow || value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    r_.report(Code::E0104, s, "integer does not fit i64");
    return 0;
  }
  return static_cast<int64_t>(value);
}

ast::ExprPtr AstBuilder::floatLiteral(Span s) {
  auto e = make(Expr::Kind::Float, s);
  e->text = std::string(r_.text(s));
  std::string digits;
  for (const char c : e->text) {
    if (c != '_') digits += c;
  }
  e->real = std::strtod(digits.c_str(), nullptr);
  if (std::isinf(e->real)) {
    r_.report(Code::E0104, s, "number is too large for f64").help("infinity is written `inf`");
    return error(s);
  }
  return e;
}

/// The text between quotes or holes: `\n \t \\ \" {{ }}`.
std::string AstBuilder::unescape(Span s) {
  const std::string_view raw = r_.text(s);
  std::string out;
  out.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    const char c = raw[i];
    if ((c == '{' || c == '}') && i + 1 < raw.size() && raw[i + 1] == c) ++i;
    if (c != '\\' || i + 1 >= raw.size()) {
      out += c;
      continue;
    }
    switch (raw[++i]) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case '\\': out += '\\'; break;
      case '"': out += '"'; break;
      default: {
        // A character beyond ASCII is several bytes: show it whole.
        size_t length = 2;
        while (i - 1 + length < raw.size() && (raw[i - 1 + length] & 0xC0) == 0x80) ++length;
        const uint32_t at = s.begin + static_cast<uint32_t>(i) - 1;
        const Span where{s.file, at, at + static_cast<uint32_t>(length)};
        r_.report(Code::E0104, where, "unknown escape `" + std::string(raw.substr(i - 1, length)) + "`")
            .help("escapes are `\\n`, `\\t`, `\\\\` and `\\\"`");
        break;
      }
    }
  }
  return out;
}

ast::ExprPtr AstBuilder::stringLiteral(P::StringContext* ctx) {
  const Span s = span(ctx);
  auto e = make(Expr::Kind::String, s);
  if (ctx->STRING()) {
    if (s.end - s.begin > 2) {
      const Span text{s.file, s.begin + 1, s.end - 1};
      e->pieces.push_back({unescape(text), nullptr, "", text, {}});
    }
    return e;
  }
  for (auto* child : ctx->children) {
    if (auto* hole = grammar::as<P::ExprContext>(child)) {
      ast::StringPiece piece;
      piece.hole = expr(hole);
      piece.span = piece.hole->span;
      e->pieces.push_back(std::move(piece));
      continue;
    }
    auto* node = grammar::tokenAt(child);
    if (!node) continue;
    const Span at = span(node);
    if (node->getSymbol()->getType() == P::STR_TEXT) {
      e->pieces.push_back({unescape(at), nullptr, "", at, {}});
    } else if (node->getSymbol()->getType() == P::HOLE_FORMAT && !e->pieces.empty()) {
      e->pieces.back().formatSpan = {at.file, at.begin + 1, at.end};
      e->pieces.back().format = std::string(r_.text(e->pieces.back().formatSpan));
    }
  }
  return e;
}

}  // namespace tenc::syntax
