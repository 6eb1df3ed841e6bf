// The edits that a translated call stands for: its text, the modules that it needs, and what its statement becomes.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/Context.h"
#include "frontend/StdModules.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Declare.h"
#include "frontend/habits/Draws.h"
#include "frontend/habits/ListKinds.h"
#include "frontend/habits/OtherMeanings.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/Translation.h"
#include "frontend/habits/UntrainedTensors.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "syntax/StatementEdits.h"
#include "syntax/Tokens.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
}  // namespace

/// What is read through the name that the statement binds, through the module instead.
void Translation::readThrough(const TranslatedCall& call, std::vector<Edit>& edits) const {
  const ast::File* file = context_.frame().unit->file;
  const ast::Stmt* s = file ? placeIn(*file, call.whole).statement : nullptr;
  if (!s || s->pattern.isTuple) return;
  const std::string& name = s->target ? s->target->text : s->pattern.name.text;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool reads = e.kind == ExprKind::Member && e.args[0]->kind == ExprKind::Name && e.args[0]->text == name;
    if (reads && e.span.begin >= call.whole.end) edits.push_back({e.args[0]->span, call.readThrough});
    return true;
  };
  visitor.visit(*file);
}

const ast::Stmt* Translation::changesLater(const TranslatedCall& call) const {
  const ast::File* file = context_.frame().unit->file;
  const ast::Stmt* s = file ? placeIn(*file, call.whole).statement : nullptr;
  const bool binds = s && s->kind == ast::Stmt::Kind::Let && !s->pattern.isTuple && s->value->span == call.whole;
  if (!binds) return nullptr;
  const ast::Name& name = s->pattern.name;
  return isAssignedBehind(*file, s->span, name.text) && !changesOtherwise(*file, name) ? s : nullptr;
}

namespace {
/// The text with blanks for what its strings hold: `load("data.npy")` names no module.
std::string withoutStrings(std::string_view text) {
  std::string out(text);
  bool inString = false;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '"' && (i == 0 || out[i - 1] != '\\'))
      inString = !inString;
    else if (inString)
      out[i] = ' ';
  }
  return out;
}
}  // namespace

bool Translation::waits() const {
  if (context_.frame().undeclared.contains(std::string(kUntold))) return true;
  const ast::File* file = context_.frame().unit->file;
  if (!file) return false;
  const auto [known, isNew] = context_.heldBack.try_emplace(file->source);
  if (isNew) known->second = drawsApart(*file) || untrainedTensor(*file) || wholeListOperation(context_, *file).valid();
  return known->second;
}

std::vector<Edit> Translation::edits(const TranslatedCall& call) const {
  std::vector<Edit> edits;
  const std::string& text = call.text;
  if (text.empty() || waits()) return edits;
  const Unit& unit = *context_.frame().unit;
  if (!call.readThrough.empty()) readThrough(call, edits);
  if (text == "-") {
    edits.push_back(syntax::removed(context_.sources, call.whole));
    return edits;
  }
  const std::string code = withoutStrings(text);
  for (const std::string_view module : stdModuleNames()) {
    const size_t at = code.find(std::string(module) + ".");
    const bool apart = at == 0 || (at != std::string::npos && !syntax::isWordPart(code[at - 1]) && code[at - 1] != '.');
    if (apart && unit.file && !scopes_.nameExists(module) && !assigns(*unit.file, module) &&
        !unit.file->lost.contains(module))  // by an import that has an error
      edits.push_back(imported(*unit.file, context_.sources.file(unit.source), module));
  }
  if (const ast::Stmt* let = changesLater(call)) edits.push_back({let->keyword, "var"});
  edits.push_back({call.whole, text});
  return edits;
}

}  // namespace tenc::frontend
