#include "frontend/habits/JoinedText.h"

#include "syntax/FormatCall.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
constexpr int64_t kMostTimes = 200;

bool isText(const ast::Expr& e) {
  if (e.kind == ExprKind::String) return true;
  const bool joined = e.kind == ExprKind::Binary && (e.text == "+" || e.text == "*");
  return joined && (isText(*e.args[0]) || isText(*e.args[1]));
}

/// Adds what a part is within the quotes; false where it may not stand there.
bool add(const SourceManager& sources, const ast::Expr& e, std::string& text) {
  const std::string_view source = sources.text(e.span);
  if (e.kind == ExprKind::String) {
    const std::string_view whole = e.grouped ? source.substr(source.find('"')) : source;
    const size_t end = whole.rfind('"');
    text += whole.substr(1, end - 1);
    return end > 0;
  }
  if (e.kind == ExprKind::Binary && isText(e)) {
    if (e.text == "+") return add(sources, *e.args[0], text) && add(sources, *e.args[1], text);
    const bool first = isText(*e.args[0]);
    const ast::Expr &part = *e.args[first ? 0 : 1], &times = *e.args[first ? 1 : 0];
    std::string once;
    if (times.kind != ExprKind::Int || times.overflow || times.integer > kMostTimes || !add(sources, part, once))
      return false;
    for (int64_t i = 0; i < times.integer; ++i) text += once;
    return true;
  }
  const bool converts = e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Name && e.args[0]->text == "str" &&
                        e.arguments.size() == 1 && e.arguments[0].value;
  const auto hole = syntax::asHole(converts ? sources.text(e.arguments[0].value->span) : source, "");
  if (hole) text += *hole;
  return hole.has_value();
}

}  // namespace

std::optional<std::string> joinedText(const SourceManager& sources, const ast::Expr& e) {
  std::string text;
  if (!isText(e) || !add(sources, e, text)) return std::nullopt;
  return "\"" + text + "\"";
}

}  // namespace tenc::frontend
