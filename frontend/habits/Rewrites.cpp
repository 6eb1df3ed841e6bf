#include "frontend/habits/Rewrites.h"

#include <algorithm>
#include <array>

namespace tenc::frontend {

namespace {

enum class Form : uint8_t { Any, Method, Function };

/// `$1` is the first operand, in parentheses where it needs them, `#1` as it is.
struct Rewrite {
  std::string_view name;
  size_t operands;
  std::string_view pattern;
  Form form = Form::Any;
  enum class Place : uint8_t { Expression, Statement, Range } place = Place::Expression;
};

constexpr auto kStatement = Rewrite::Place::Statement;
constexpr auto kRange = Rewrite::Place::Range;

constexpr std::array kRewrites = {
    Rewrite{"len", 1, "$1.shape[0]", Form::Function},
    Rewrite{"size", 1, "$1.shape", Form::Method},
    Rewrite{"size", 2, "$1.shape[#2]", Form::Method},
    Rewrite{"shape", 1, "$1.shape"},
    Rewrite{"ndim", 1, "$1.ndim"},
    Rewrite{"dim", 1, "$1.ndim"},
    Rewrite{"numel", 1, "$1.size"},
    Rewrite{"t", 1, "$1.T", Form::Method},
    Rewrite{"T", 1, "$1.T", Form::Method},
    Rewrite{"dtype", 1, "$1.dtype"},
    Rewrite{"device", 1, "$1.device"},
    Rewrite{"float", 1, "f32(#1)"},
    Rewrite{"double", 1, "f64(#1)"},
    Rewrite{"half", 1, "f16(#1)", Form::Method},
    Rewrite{"bfloat16", 1, "bf16(#1)"},
    Rewrite{"int", 1, "i32(#1)", Form::Method},
    Rewrite{"int", 1, "i64(#1)", Form::Function},
    Rewrite{"long", 1, "i64(#1)"},
    Rewrite{"short", 1, "i16(#1)", Form::Method},
    Rewrite{"byte", 1, "u8(#1)", Form::Method},
    Rewrite{"astype", 2, "#2(#1)", Form::Method},
    Rewrite{"type", 2, "#2(#1)", Form::Method},
    Rewrite{"item", 1, "#1", Form::Method},
    Rewrite{"clone", 1, "#1", Form::Method},
    Rewrite{"copy", 1, "#1"},
    Rewrite{"detach", 1, "#1", Form::Method},
    Rewrite{"contiguous", 1, "#1", Form::Method},
    Rewrite{"numpy", 1, "#1", Form::Method},
    Rewrite{"tolist", 1, "#1", Form::Method},
    Rewrite{"array", 1, "#1", Form::Function},
    Rewrite{"tensor", 1, "#1", Form::Function},
    Rewrite{"asarray", 1, "#1", Form::Function},
    Rewrite{"add", 2, "$1 + $2"},
    Rewrite{"sub", 2, "$1 - $2"},
    Rewrite{"subtract", 2, "$1 - $2"},
    Rewrite{"mul", 2, "$1 * $2"},
    Rewrite{"multiply", 2, "$1 * $2"},
    Rewrite{"div", 2, "$1 / $2"},
    Rewrite{"divide", 2, "$1 / $2"},
    Rewrite{"true_divide", 2, "$1 / $2"},
    Rewrite{"floor_divide", 2, "$1 // $2"},
    Rewrite{"mod", 2, "$1 % $2"},
    Rewrite{"remainder", 2, "$1 % $2"},
    Rewrite{"neg", 1, "(-$1)"},
    Rewrite{"eq", 2, "$1 == $2"},
    Rewrite{"ne", 2, "$1 != $2"},
    Rewrite{"not_equal", 2, "$1 != $2"},
    Rewrite{"lt", 2, "$1 < $2"},
    Rewrite{"less", 2, "$1 < $2"},
    Rewrite{"le", 2, "$1 <= $2"},
    Rewrite{"gt", 2, "$1 > $2"},
    Rewrite{"greater", 2, "$1 > $2"},
    Rewrite{"ge", 2, "$1 >= $2"},
    Rewrite{"array_equal", 2, "all($1 == $2)"},
    Rewrite{"equal", 2, "all($1 == $2)"},
    Rewrite{"allclose", 2, "all(abs($1 - $2) <= 1e-6)"},
    Rewrite{"masked_fill", 3, "where(#2, #3, #1)"},
    Rewrite{"unsqueeze", 2, "$1.expand_dims(axis: #2)"},
    Rewrite{"index_select", 3, "$1.take(#3, axis: #2)"},
    Rewrite{"hstack", 1, "concat(#1, axis: 1)"},
    Rewrite{"vstack", 1, "concat(#1, axis: 0)"},
    Rewrite{"forward", 1, "$1()", Form::Method},
    Rewrite{"forward", 2, "$1(#2)", Form::Method},
    Rewrite{"add_", 2, "#1 += #2", Form::Method, kStatement},
    Rewrite{"sub_", 2, "#1 -= #2", Form::Method, kStatement},
    Rewrite{"mul_", 2, "#1 *= #2", Form::Method, kStatement},
    Rewrite{"div_", 2, "#1 /= #2", Form::Method, kStatement},
    Rewrite{"copy_", 2, "#1 = #2", Form::Method, kStatement},
    Rewrite{"zero_", 1, "#1 = zeros_like(#1)", Form::Method, kStatement},
    Rewrite{"fill_", 2, "#1 = full_like(#1, #2)", Form::Method, kStatement},
    Rewrite{"append", 2, "#1 = concat((#1, #2))", Form::Method, kStatement},
    Rewrite{"range", 1, "0..$1", Form::Function, kRange},
    Rewrite{"range", 2, "$1..$2", Form::Function, kRange},
    Rewrite{"range", 3, "$1..$2 by $3", Form::Function, kRange},
};

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
  const auto fits = [&](const Rewrite& r) {
    return r.name == call.name && r.operands == call.operands.size() &&
           (r.form == Form::Any || (r.form == Form::Method) == call.method);
  };
  const auto r = std::find_if(kRewrites.begin(), kRewrites.end(), fits);
  if (r == kRewrites.end()) return std::nullopt;
  if (r->place == kStatement && !isStatement(call)) return std::nullopt;
  if (r->place == kRange) {
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
  const bool open = r->place == Rewrite::Place::Expression && r->pattern.find(' ') != std::string_view::npos &&
                    r->pattern.find('(') == std::string_view::npos;
  return open && !standsAlone(call) ? "(" + text + ")" : text;
}

}  // namespace tenc::frontend
