#include "frontend/habits/Difference.h"

#include <cstdint>
#include <map>
#include <set>

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
/// A sum of products: how often each occurs, by the names in it.
using Sum = std::map<std::multiset<std::string>, int64_t>;
constexpr size_t kMostTerms = 64;
constexpr int64_t kMost = int64_t{1} << 31;

std::optional<Sum> sumOf(const ast::Expr& e, int depth = 0) {
  if (depth > 32) return std::nullopt;
  if (e.kind == ExprKind::Int)
    return e.overflow || e.integer > kMost ? std::nullopt : std::optional(Sum{{{}, e.integer}});
  if (e.kind == ExprKind::Name) return Sum{{{e.text}, 1}};
  if (e.kind != ExprKind::Binary || e.args.size() != 2) return std::nullopt;
  const auto a = sumOf(*e.args[0], depth + 1), b = sumOf(*e.args[1], depth + 1);
  if (!a || !b || a->size() * b->size() > kMostTerms) return std::nullopt;
  Sum r;
  if (e.text == "+" || e.text == "-") {
    r = *a;
    for (const auto& [names, times] : *b) r[names] += e.text == "+" ? times : -times;
  } else if (e.text == "*") {
    for (const auto& [names, times] : *a) {
      for (const auto& [others, often] : *b) {
        std::multiset<std::string> all = names;
        all.insert(others.begin(), others.end());
        r[all] += times * often;
      }
    }
  } else {
    return std::nullopt;
  }
  for (const auto& [names, times] : r)
    if (times > kMost || times < -kMost) return std::nullopt;
  return r;
}

}  // namespace

std::optional<std::string> writtenDifference(const ast::Expr& more, const ast::Expr& less) {
  auto a = sumOf(more);
  const auto b = sumOf(less);
  if (!a || !b) return std::nullopt;
  for (const auto& [names, times] : *b) (*a)[names] -= times;
  std::string text;
  for (const auto& [names, times] : *a) {
    if (times == 0) continue;
    if (times < 0 || names.size() > 1) return std::nullopt;
    std::string term = names.empty() ? std::to_string(times) : *names.begin();
    if (!names.empty() && times > 1) term = std::to_string(times) + " * " + term;
    text += (text.empty() ? "" : " + ") + term;
  }
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace tenc::frontend
