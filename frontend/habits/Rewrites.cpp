#include "frontend/habits/Rewrites.h"

#include <algorithm>
#include <cctype>

#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using syntax::FamiliarCall;
using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// Whether the parts of `e` are operands of something that binds tighter than operators, as a receiver does.
bool bindsFirst(const ast::Expr& e) {
  return e.kind == ExprKind::Member || e.kind == ExprKind::Call || e.kind == ExprKind::Index ||
         e.kind == ExprKind::Struct;
}

std::string oneMore(const std::string& text) {
  const bool digits = !text.empty() && text.size() < 9 &&
                      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? std::to_string(std::stol(text) + 1) : text + " + 1";
}

bool contains(const std::vector<ast::ExprPtr>& parts, const ast::Expr& e) {
  return std::any_of(parts.begin(), parts.end(), [&](const ast::ExprPtr& p) { return p.get() == &e; });
}

}  // namespace

namespace {
/// Whether one call is what becomes of a range that the other gives: `reversed(range(3))`.
bool turns(const ast::Expr& e, const ast::Expr& call) {
  if (e.kind != ExprKind::Call || e.arguments.size() != 1 || e.arguments[0].value.get() != &call) return false;
  if (e.args[0]->kind != ExprKind::Name) return false;
  const auto rows = syntax::familiarCalls(e.args[0]->text);
  return std::any_of(rows.begin(), rows.end(), [](const FamiliarCall& r) {
    return r.operands == 1 && r.position == FamiliarCall::Position::Range;
  });
}
}  // namespace

Beside besideOf(const ast::File& file, const ast::Expr& call) {
  Beside found = Beside::Nothing;
  TreeVisitor visitor;
  visitor.within = call.span;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (s.kind == StmtKind::Expr && s.value.get() == &call) found = Beside::Statement;
    if (s.kind == StmtKind::For && s.lo && (s.lo.get() == &call || turns(*s.lo, call)) && !s.hi) found = Beside::Range;
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool operation = e.kind == ExprKind::Unary || e.kind == ExprKind::Binary;
    const bool first = bindsFirst(e) && !e.args.empty() && e.args[0].get() == &call;
    if (first || (operation && contains(e.args, call))) found = Beside::Operator;
    return true;
  };
  visitor.visit(file);
  return found;
}

WrittenOperand operandOf(const ast::Expr& e, std::string_view text) {
  const bool compound = e.kind == ExprKind::Unary || e.kind == ExprKind::Binary || e.kind == ExprKind::Lambda ||
                        e.kind == ExprKind::If || e.kind == ExprKind::Struct;
  return {text, compound && !e.grouped};
}

bool isOpen(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    const bool sign = c == '-' || c == '+';
    const bool exponent = sign && i > 1 && (text[i - 1] == 'e' || text[i - 1] == 'E') &&
                          (std::isdigit(static_cast<unsigned char>(text[i - 2])) != 0 || text[i - 2] == '.');
    if (depth == 0 && !exponent && std::string_view(" \n+-*/%@<>=!|&^~").find(c) != std::string_view::npos) return true;
  }
  return false;
}

const FamiliarCall* patternOf(const WrittenCall& call) {
  const auto fits = [&](const FamiliarCall& r) {
    return r.operands == call.operands.size() &&
           (r.form == FamiliarCall::Form::Any || (r.form == FamiliarCall::Form::Method) == call.method) &&
           (r.position != FamiliarCall::Position::Statement || call.beside == Beside::Statement) &&
           (r.position != FamiliarCall::Position::Range || call.beside == Beside::Range) &&
           (r.last.empty() || call.operands.back().text == r.last) && call.operands.back().text.ends_with(r.ending) &&
           (r.ending.empty() || !call.operands.back().compound);
  };
  const auto calls = syntax::familiarCalls(call.name);
  const auto r = std::find_if(calls.begin(), calls.end(), fits);
  return r == calls.end() ? nullptr : &*r;
}

std::optional<std::string> rewritten(const WrittenCall& call) {
  const FamiliarCall* r = patternOf(call);
  if (r == nullptr) return std::nullopt;
  std::string text;
  for (size_t i = 0; i < r->pattern.size(); ++i) {
    const char c = r->pattern[i];
    if (c != '$' && c != '#' && c != '^' && c != '~') {
      text += c;
      continue;
    }
    const WrittenOperand& operand = call.operands[static_cast<size_t>(r->pattern[++i] - '1')];
    if (c == '^') {
      text += oneMore(std::string(operand.text));
      continue;
    }
    if (c == '~') {
      text += operand.text.substr(0, operand.text.size() - r->ending.size());
      continue;
    }
    const bool wrap = c == '$' && operand.compound;
    text += wrap ? "(" + std::string(operand.text) + ")" : std::string(operand.text);
  }
  const bool open = r->position == FamiliarCall::Position::Expression && isOpen(text);
  return open && call.beside == Beside::Operator ? "(" + text + ")" : text;
}

}  // namespace tenc::frontend
