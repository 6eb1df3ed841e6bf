// Errors about names and calls that people bring along from NumPy, PyTorch and Python: what TL writes in their place.
#include "frontend/habits/Habits.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/StdModules.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/calls/Arguments.h"
#include "frontend/habits/Declare.h"
#include "frontend/habits/Translation.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Suggest.h"
#include "frontend/names/Unit.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
}  // namespace

bool Habits::offerRewrite(Diagnostics::Builder& d, const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  if (callee.kind == ExprKind::Member && ir::DeviceTable::isKind(callee.text) && call.arguments.empty()) {
    d.help("a value is moved with `.to`",
           {{Span{call.span.file, callee.opSpan.begin, call.span.end}, "to(" + callee.text + ")"}});
    return true;
  }
  Translation translation(context_, scopes_);
  const auto known = translation.call(call);
  if (!known) return false;
  d.help(known->help, translation.edits(*known));
  return true;
}

bool Habits::calledOtherwise(const ast::Expr& call, const Val& f, const CallArgs& args) {
  const bool plain = std::all_of(call.arguments.begin(), call.arguments.end(),
                                 [](const ast::Argument& a) { return a.value && !a.rangeEnd; });
  const BuiltinRow* row = f.fn->kind == FnValue::Kind::Builtin ? builtinRow(f.fn->name) : nullptr;
  if (!plain || row == nullptr || row->signature.variadic()) return false;
  const auto isForeign = [&](const CallArg& a) { return !a.name.empty() && row->signature.find(a.name) == nullptr; };
  const auto foreign = std::find_if(args.args.begin(), args.args.end(), isForeign);
  const auto unnamed = std::count_if(args.args.begin(), args.args.end(), [](auto& a) { return a.name.empty(); });
  const bool tooMany = row->traits.pairwise.empty() && unnamed > 0 && !row->signature.positional(unnamed - 1);
  if (foreign == args.args.end() && !tooMany) return false;
  Translation translation(context_, scopes_);
  const auto known = translation.calledOtherwise(call);
  if (!known) return false;
  const std::string name = "`" + std::string(f.fn->name) + "`";
  auto d = foreign != args.args.end()
               ? context_.error(Code::E0204, foreign->span, name + " has no parameter `" + foreign->name + "`")
               : context_.error(Code::E0204, args.args.back().span, name + " is given too many arguments");
  d.note("it is called as " + row->signature.text());
  d.help(known->help, translation.edits(*known));
  return true;
}

void Habits::methodsOfTorch(const ast::Expr& root) {
  const ast::File* file = context_.frame().unit->file;
  if (root.text != "torch" || !file || !context_.frame().undeclared.insert(root.text + ".").second) return;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (e.kind != ExprKind::Call) return true;
    Translation translation(context_, scopes_);
    if (const auto known = translation.methodOfTorch(e)) {
      const std::string& name = e.args[0]->text;
      auto d = context_.error(Code::E0204, e.span, "`" + name + "` has another meaning here than in PyTorch");
      d.help(known->help, translation.edits(*known));
    }
    return true;
  };
  for (const ast::StmtPtr& s : file->statements)
    if (s) visitor.visit(*s);
}

bool Habits::foreignCall(const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  if (moduleNotImported(callee)) return true;
  const ast::Expr* root = &callee;
  while (root->kind == ExprKind::Member) root = root->args[0].get();
  if (root->kind != ExprKind::Name || callee.kind != ExprKind::Member) return false;
  const bool module = context_.frame().unit->modules.contains(root->text);
  if (!module && !hasForeignPrefix(callee, scopes_)) return false;
  Translation translation(context_, scopes_);
  const auto known = translation.call(call);
  if (!known) return false;
  methodsOfTorch(*root);
  auto d = module
               ? context_.error(Code::E0206, callee.opSpan, "module `" + root->text + "` has no `" + callee.text + "`")
               : context_.error(Code::E0102, root->span, "unknown name `" + root->text + "`");
  d.help(known->help, translation.edits(*known));
  return true;
}

bool Habits::foreignPrefix(const ast::Expr& member) {
  if (moduleNotImported(member)) return true;
  if (!hasForeignPrefix(member, scopes_)) return false;
  const ast::Expr* root = &member;
  while (root->kind == ExprKind::Member) root = root->args[0].get();
  methodsOfTorch(*root);
  auto d = context_.error(Code::E0102, root->span, "unknown name `" + root->text + "`");
  std::string name = member.text;
  if (const syntax::Familiar* other = syntax::familiarName(name);
      other && !scopes_.nameExists(name) && !other->replacement.empty()) {
    name = other->replacement;
  }
  const Span whole{root->span.file, root->span.begin, member.opSpan.end};
  const syntax::Familiar* known = syntax::familiarName(name);
  const bool layer = (known && known->layer) || (!name.empty() && std::isupper(static_cast<unsigned char>(name[0])));
  if (known && !known->inSubscript.empty())
    d.help(std::string(known->help), {{whole, std::string(known->inSubscript)}});
  else if (scopes_.nameExists(name))
    d.help("operations have no prefix", {{whole, name}});
  else if (layer)
    d.help("layers and losses are in a module: `nn.linear(784, 128)`, `nn.cross_entropy` after `import nn`");
  else if (known && !known->help.empty())
    d.help(std::string(known->help));
  else
    d.help("operations have no prefix: `zeros([2, 3])`");
  return true;
}

bool Habits::moduleNotImported(const ast::Expr& member) {
  const ast::Expr* root = &member;
  while (root->kind == ExprKind::Member) root = root->args[0].get();
  if (root->kind != ExprKind::Name) return false;
  const Unit& unit = *context_.frame().unit;
  // No module has a function that is called like an operation.
  if (hasForeignPrefix(member, scopes_) && scopes_.nameExists(member.text)) return false;
  auto& reported = context_.frame().undeclared;
  if (reported.contains(root->text)) return true;
  if (const auto lost = unit.evaluated.find(root->text); lost != unit.evaluated.end()) return lost->second.poison();
  if (!stdModule(root->text) || scopes_.nameExists(root->text) || scopes_.lostName(root->text) || !unit.file)
    return false;
  auto d = context_.error(Code::E0102, root->span, "unknown name `" + root->text + "`");
  d.help("the module is imported first: `import " + root->text + "`",
         {imported(*unit.file, context_.sources.file(unit.source), root->text)});
  reported.insert(root->text);
  return true;
}

Val Habits::calledStruct(const Val& type, const CallArgs& args) {
  auto d = context_.error(Code::E0203, args.callee, "a struct is built with `{ field: value }`, not called");
  if (!type.type || !type.type->info) return d;
  const StructDecl& decl = *type.type->info->decl;
  std::string snake;
  for (const char c : decl.stmt->name.text) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isupper(u) && !snake.empty() && snake.back() != '_' &&
        !std::isupper(static_cast<unsigned char>(snake.back())))
      snake += '_';
    snake += static_cast<char>(std::tolower(u));
  }
  std::vector<std::string> there;
  for (const auto& [n, f] : decl.unit->functions) there.push_back(n);
  for (const std::string& name : {snake, snake + "_layer", respelled(decl.stmt->name.text, there)}) {
    if (std::find(there.begin(), there.end(), name) == there.end()) continue;
    d.help("`" + name + "` makes one", {{args.callee, name}});
    break;
  }
  return d;
}

}  // namespace tenc::frontend
