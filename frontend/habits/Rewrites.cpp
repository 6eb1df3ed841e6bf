#include "frontend/habits/Rewrites.h"

#include <algorithm>

#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {

using syntax::FamiliarCall;

constexpr std::string_view kBlank = " \t\n\r";
constexpr std::string_view kOperators = " +-*/%<>=@|.,:";

/// Whether an operator stands in the text outside its brackets.
bool compound(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth == 0 && c != '.' && kOperators.find(c) != std::string_view::npos) return true;
  }
  return text.starts_with('|');
}

char lastOf(std::string_view before, std::string_view skipped) {
  const size_t i = before.find_last_not_of(skipped);
  return i == std::string_view::npos ? '\n' : before[i];
}

char firstOf(std::string_view after, std::string_view skipped) {
  const size_t i = after.find_first_not_of(skipped);
  return i == std::string_view::npos ? '\n' : after[i];
}

bool isStatement(const WrittenCall& call) {
  const char before = lastOf(call.before, " \t"), after = firstOf(call.after, " \t");
  return (before == '\n' || before == '{' || before == ';') && (after == '\n' || after == '}' || after == ';');
}

/// Whether nothing beside the call binds tighter than an operator of it would.
bool standsAlone(const WrittenCall& call) {
  constexpr std::string_view kBefore = "=(,[{:;\n", kAfter = "),]};\n";
  return kBefore.find(lastOf(call.before, " \t")) != std::string_view::npos &&
         kAfter.find(firstOf(call.after, " \t")) != std::string_view::npos;
}

}  // namespace

std::optional<std::string> rewritten(const WrittenCall& call) {
  const auto fits = [&](const FamiliarCall& r) {
    return r.operands == call.operands.size() &&
           (r.form == FamiliarCall::Form::Any || (r.form == FamiliarCall::Form::Method) == call.method);
  };
  const auto calls = syntax::familiarCalls(call.name);
  const auto r = std::find_if(calls.begin(), calls.end(), fits);
  if (r == calls.end()) return std::nullopt;
  if (r->place == FamiliarCall::Place::Statement && !isStatement(call)) return std::nullopt;
  if (r->place == FamiliarCall::Place::Range) {
    const size_t end = call.before.find_last_not_of(kBlank);
    if (end == std::string_view::npos || !call.before.substr(0, end + 1).ends_with("in")) return std::nullopt;
  }
  std::string text;
  for (size_t i = 0; i < r->pattern.size(); ++i) {
    const char c = r->pattern[i];
    if (c != '$' && c != '#') {
      text += c;
      continue;
    }
    const std::string_view operand = call.operands[static_cast<size_t>(r->pattern[++i] - '1')];
    const bool wrap = c == '$' && compound(operand);
    text += wrap ? "(" + std::string(operand) + ")" : std::string(operand);
  }
  const bool open = r->place == FamiliarCall::Place::Expression && r->pattern.find(' ') != std::string_view::npos &&
                    r->pattern.find('(') == std::string_view::npos;
  return open && !standsAlone(call) ? "(" + text + ")" : text;
}

}  // namespace tenc::frontend
