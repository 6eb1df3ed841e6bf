// Errors about names and calls that people bring along from NumPy, PyTorch and Python: what TL writes in their place.
#include <algorithm>
#include <cctype>

#include "frontend/Lowering.h"
#include "frontend/habits/Rewrites.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

using ExprKind = ast::Expr::Kind;

bool Lowering::offerRewrite(Diagnostics::Builder& d, const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  WrittenCall written;
  written.method = callee.kind == ExprKind::Member;
  written.name = callee.text;
  if (written.method) written.operands.push_back(sources.text(callee.args[0]->span));
  for (const ast::Argument& a : call.arguments) {
    if (a.name || a.rangeEnd || !a.value) return false;
    written.operands.push_back(sources.text(a.value->span));
  }
  const std::string_view text = sources.file(call.span.file).text();
  written.before = text.substr(0, call.span.begin);
  written.after = text.substr(call.span.end);
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

Val Lowering::lookupCallee(const ast::Expr& name, const ast::Expr* call) {
  auto v = lookup(name.text, name.span);
  if (v) return *v;
  if (isTransform(name.text)) {
    auto f = std::make_shared<FnValue>();
    f->kind = FnValue::Kind::Builtin;
    f->name = name.text;
    return Val::ofFunction(std::move(f), name.span);
  }
  return unknownName(name.text, name.span, false, call);
}

bool Lowering::foreignPrefix(const ast::Expr& member) {
  const ast::Expr* root = &member;
  bool functional = false;  // nn.functional.relu
  while (root->kind == ExprKind::Member) {
    root = root->args[0].get();
    functional |= root->kind == ExprKind::Member && root->text == "functional";
  }
  if (root->kind != ExprKind::Name) return false;
  const syntax::Familiar* head = syntax::familiarName(root->text);
  const bool prefix = head && (head->prefix || (functional && head->layer));
  if (!prefix || nameExists(root->text)) return false;
  auto d = error(Code::E0102, root->span, "unknown name `" + root->text + "`");
  std::string name = member.text;
  if (const syntax::Familiar* other = syntax::familiarName(name);
      other && !nameExists(name) && !other->replacement.empty()) {
    name = other->replacement;
  }
  const Span whole{root->span.file, root->span.begin, member.opSpan.end};
  const syntax::Familiar* known = syntax::familiarName(name);
  const bool layer = (known && known->layer) || (!name.empty() && std::isupper(static_cast<unsigned char>(name[0])));
  if (nameExists(name))
    d.help("operations stand without a prefix", {{whole, name}});
  else if (layer)
    d.help("layers and losses are in a module: `nn.linear(784, 128)`, `nn.cross_entropy` after `import nn`");
  else if (known && !known->help.empty())
    d.help(std::string(known->help));
  else
    d.help("operations stand without a prefix: `zeros([2, 3])`");
  return true;
}

Val Lowering::calledStruct(const Val& type, const CallArgs& args) {
  auto d = error(Code::E0203, args.callee, "a struct is built with `{ field: value }`, not called");
  const std::string_view written = sources.text(args.callee);
  std::string snake;
  for (const char c : written) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isupper(u) && !snake.empty() && snake.back() != '_' &&
        !std::isupper(static_cast<unsigned char>(snake.back())))
      snake += '_';
    snake += static_cast<char>(std::tolower(u));
  }
  std::vector<std::string> there;
  const Unit& unit = type.type && type.type->info ? *type.type->info->decl->unit : *frame().unit;
  for (const auto& [n, f] : unit.functions) there.push_back(n);
  for (const std::string& name : {snake, snake + "_layer"}) {
    if (std::find(there.begin(), there.end(), name) == there.end()) continue;
    d.help("`" + name + "` makes one", {{args.callee, name}});
    break;
  }
  return Val::none();
}

}  // namespace tenc::frontend
