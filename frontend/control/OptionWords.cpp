#include "frontend/control/OptionWords.h"

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"
#include "support/Text.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;

std::optional<std::string> literal(const ast::Expr& e) {
  if (e.kind != ExprKind::String || e.pieces.size() > 1) return std::nullopt;
  if (e.pieces.empty()) return "";
  return e.pieces[0].hole ? std::nullopt : std::optional(e.pieces[0].text);
}

/// Whether the condition is nothing but a choice of words, which are added.
bool isChoice(const ast::Expr& e, std::vector<std::string>& words) {
  if (e.kind != ExprKind::Binary) return false;
  if (e.text == "or") return isChoice(*e.args[0], words) && isChoice(*e.args[1], words);
  const auto word = e.text == "==" ? literal(*e.args[1]) : std::nullopt;
  if (word) words.push_back(*word);
  return word.has_value();
}

/// "bicubic" is a longer word for "cubic" mostly.
std::string nearestOf(const std::string& written, const std::vector<std::string>& words) {
  NearestName near(written);
  for (const std::string& word : words) {
    if (written.ends_with(word)) return word;
    near.consider(word);
  }
  return near.best();
}
}  // namespace

std::optional<Help> wordMeant(const Context& context, const ast::Expr& condition) {
  std::vector<std::string> words;
  if (!context.sources.inLibrary(condition.span) || !isChoice(condition, words)) return std::nullopt;
  const auto isOwn = [&](const Frame* f) { return f->call.valid() && !context.sources.inLibrary(f->call); };
  const auto called = std::find_if(context.frames.rbegin(), context.frames.rend(), isOwn);
  if (called == context.frames.rend() || called + 1 == context.frames.rend()) return std::nullopt;
  const Span call = (*called)->call;
  const Unit& unit = *(*(called + 1))->unit;
  if (!unit.file || unit.source != call.file) return std::nullopt;
  std::vector<Help> found;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const auto word = call.begin <= e.span.begin && e.span.end <= call.end ? literal(e) : std::nullopt;
    if (word && !word->empty() && std::ranges::find(words, *word) == words.end()) {
      if (const std::string meant = nearestOf(*word, words); !meant.empty())
        found.push_back({"did you mean \"" + meant + "\"?", {{e.span, "\"" + meant + "\""}}});
    }
    return true;
  };
  visitor.visit(*unit.file);
  return found.size() == 1 ? std::optional(found[0]) : std::nullopt;
}

}  // namespace tenc::frontend
