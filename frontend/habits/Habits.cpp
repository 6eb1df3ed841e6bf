// Errors about names and calls that people bring along from NumPy, PyTorch and Python: what TL writes in their place.
#include "frontend/habits/Habits.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/calls/Arguments.h"
#include "frontend/habits/Rewrites.h"
#include "frontend/names/Frame.h"
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
  WrittenCall written;
  written.method = callee.kind == ExprKind::Member;
  written.name = callee.text;
  const auto operand = [&](const ast::Expr& e) {
    written.operands.push_back(operandOf(e, context_.sources.text(e.span)));
  };
  if (written.method) operand(*callee.args[0]);
  for (const ast::Argument& a : call.arguments) {
    if (a.name || a.rangeEnd || !a.value) return false;
    operand(*a.value);
  }
  if (const ast::File* file = context_.frame().unit->file) written.beside = besideOf(*file, call);
  if (written.method && ir::DeviceTable::isKind(written.name) && written.operands.size() == 1) {
    d.help("a value is moved with `.to`",
           {{Span{call.span.file, callee.opSpan.begin, call.span.end}, "to(" + std::string(written.name) + ")"}});
    return true;
  }
  auto mended = rewritten(written);
  if (!mended) return false;
  const syntax::Familiar* known = syntax::familiarName(callee.text);
  const std::string help = known && !known->help.empty() ? std::string(known->help) : "this is how TL writes it";
  d.help(help, {{call.span, std::move(*mended)}});
  return true;
}

bool Habits::foreignPrefix(const ast::Expr& member) {
  const ast::Expr* root = &member;
  bool functional = false;  // nn.functional.relu
  while (root->kind == ExprKind::Member) {
    root = root->args[0].get();
    functional |= root->kind == ExprKind::Member && root->text == "functional";
  }
  if (root->kind != ExprKind::Name) return false;
  const syntax::Familiar* head = syntax::familiarName(root->text);
  const bool prefix = head && (head->prefix || (functional && head->layer));
  if (!prefix || scopes_.nameExists(root->text)) return false;
  auto d = context_.error(Code::E0102, root->span, "unknown name `" + root->text + "`");
  std::string name = member.text;
  if (const syntax::Familiar* other = syntax::familiarName(name);
      other && !scopes_.nameExists(name) && !other->replacement.empty()) {
    name = other->replacement;
  }
  const Span whole{root->span.file, root->span.begin, member.opSpan.end};
  const syntax::Familiar* known = syntax::familiarName(name);
  const bool layer = (known && known->layer) || (!name.empty() && std::isupper(static_cast<unsigned char>(name[0])));
  if (scopes_.nameExists(name))
    d.help("operations have no prefix", {{whole, name}});
  else if (layer)
    d.help("layers and losses are in a module: `nn.linear(784, 128)`, `nn.cross_entropy` after `import nn`");
  else if (known && !known->help.empty())
    d.help(std::string(known->help));
  else
    d.help("operations have no prefix: `zeros([2, 3])`");
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
