// The edits that a translated call stands for: its text, the modules that it needs, and what its statement becomes.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/Context.h"
#include "frontend/StdModules.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Declare.h"
#include "frontend/habits/Draws.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/ListKinds.h"
#include "frontend/habits/OtherMeanings.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/PythonSums.h"
#include "frontend/habits/TorchMeanings.h"
#include "frontend/habits/Translation.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "syntax/ForeignFunctions.h"
#include "syntax/StatementEdits.h"

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

namespace {
/// Whether a text reads a `T` of something.
bool turnsDims(std::string_view text) {
  for (size_t at = text.find(".T"); at != text.npos; at = text.find(".T", at + 1)) {
    const char next = at + 2 < text.size() ? text[at + 2] : ' ';
    if (std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '_') return true;
  }
  return false;
}

/// Whether a text calls a method that PyTorch's tensors have in another meaning.
bool callsMethodOfTorch(std::string_view text) {
  for (size_t at = text.find('.'); at != text.npos; at = text.find('.', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
    const bool called = end < text.size() && text[end] == '(';
    if (called && syntax::methodsOfTorch().contains(text.substr(at + 1, end - at - 1))) return true;
  }
  return false;
}
}  // namespace

bool hidesMethods(const ast::File& file, const SourceManager& sources) {
  return std::ranges::any_of(file.lost, [](const std::string& n) { return syntax::methodsOfTorch().contains(n); }) ||
         anyUnread(file, sources, callsMethodOfTorch);
}

namespace {
/// Whether the file may mean something by a call that is told only when all of it is read, or by nothing that TL has.
bool holdsBack(Context& context, const ast::File& file) {
  const SourceManager& sources = context.sources;
  if (drawsApart(file, sources) || wholeListOperation(context, file).valid()) return true;
  if (!hasUnread(file)) return false;
  if (hidesSum(file, sources) || hidesMethods(file, sources)) return true;
  const SourceFile& source = sources.file(file.source);
  const size_t end = source.lineStart(source.lastLine()) + source.line(source.lastLine()).size();
  const Span whole{file.source, 0, static_cast<uint32_t>(end)};
  if (librariesOf(file).torch && mayMeanTorch(sources.text(whole))) return true;
  return file.lost.contains("T") || anyUnread(file, sources, turnsDims);
}
}  // namespace

bool Translation::waits() const {
  if (context_.frame().undeclared.contains(std::string(kUntold))) return true;
  const ast::File* file = context_.frame().unit->file;
  if (!file) return false;
  const auto [known, isNew] = context_.heldBack.try_emplace(file->source);
  if (isNew) known->second = holdsBack(context_, *file);
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
    const bool apart = at == 0 || (at != std::string::npos && !std::isalnum(static_cast<unsigned char>(code[at - 1])) &&
                                   code[at - 1] != '_' && code[at - 1] != '.');
    if (apart && unit.file && !scopes_.nameExists(module) && !assigns(*unit.file, module) &&
        !unit.file->lost.contains(module))  // by an import that has an error
      edits.push_back(imported(*unit.file, context_.sources.file(unit.source), module));
  }
  if (const ast::Stmt* let = changesLater(call)) edits.push_back({let->keyword, "var"});
  edits.push_back({call.whole, text});
  return edits;
}

}  // namespace tenc::frontend
