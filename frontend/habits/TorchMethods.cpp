// What a script of PyTorch or NumPy means otherwise without an error of its own: methods of tensors, indices, `x.T`.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Habits.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/TorchMeanings.h"
#include "frontend/habits/Translation.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;

/// Whether `self.norm(x)` calls a field: the receiver is a parameter whose type, a struct of the script, has it.
bool callsField(const ast::File& file, const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  const bool plain = callee.kind == ExprKind::Member && callee.args[0]->kind == ExprKind::Name;
  const ast::Stmt* fn = plain ? functionAround(file, call.span) : nullptr;
  if (!fn) return false;
  const auto param = std::ranges::find_if(
      fn->params, [&](const ast::FnParam& p) { return p.name.text == callee.args[0]->text && p.type; });
  if (param == fn->params.end() || param->type->path.empty()) return false;
  return std::ranges::any_of(file.statements, [&](const ast::StmtPtr& s) {
    return s && s->kind == ast::Stmt::Kind::Struct && s->name.text == param->type->path.back().text &&
           std::ranges::any_of(s->fields, [&](const ast::Field& f) { return f.name.text == callee.text; });
  });
}
}  // namespace

void Habits::reversedDims(const ast::File& file) {
  if (!context_.frame().undeclared.insert("np.T").second) return;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (!reversesDims(file, e)) return true;
    context_.frame().undeclared.insert(std::string(Translation::kUntold));
    context_.error(Code::E0206, e.span, "`T` swaps the last two dims; that of NumPy and PyTorch reverses all")
        .help("write `permute_dims(x, [2, 1, 0])` for all of them, `transpose(x, -2, -1)` for the last two");
    return true;
  };
  visitor.visit(file);
}

void Habits::methodsOfTorch(const ast::Expr& root) {
  const ast::File* file = context_.frame().unit->file;
  if (!file) return;
  reversedDims(*file);
  methodsOfNumPy(*file);
  // In a script of two, what either makes is told apart as long as both are named.
  const Libraries named = root.text == "torch" ? Libraries{false, true} : librariesOf(*file);
  if (named.torch && (root.text == "torch" || named.numpy || named.jax)) methodsOfTorch(*file);
}

void Habits::methodsOfTorch(const ast::File& file) {
  if (!context_.frame().undeclared.insert("torch.").second) return;
  bool open = false;
  TreeVisitor visitor;
  const Libraries named = librariesOf(file);
  // Of a tensor of PyTorch, or, where no edit is made, of what may be one.
  const auto report = [&](Code code, Span span, const char* message, const ast::Expr& of, Help help) {
    const Libraries made = named.numpy || named.jax ? librariesOf(file, of) : Libraries{.torch = true};
    const bool others = made.numpy || made.jax;
    if (others && !made.torch) return;
    if (!made.torch || others) help.edits.clear();
    if (help.edits.empty()) context_.frame().undeclared.insert(std::string(Translation::kUntold));
    context_.error(code, span, message).help(help.text, std::move(help.edits));
  };
  visitor.onStatement = [&](const ast::Stmt& s) {
    const auto help = changeOfTorch(file, s);
    const ast::Expr* changed = help && s.target->kind == ExprKind::Tuple ? s.target->args[0].get() : s.target.get();
    if (help) report(Code::E0107, s.span, "this changes another tensor in PyTorch", *changed, *help);
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    if (auto help = indexOfTorch(file, e))
      report(Code::E0204, e.span, "this index has another meaning here than in PyTorch", *e.args[0], *help);
    if (e.kind != ExprKind::Call || callsField(file, e)) return true;
    Translation translation(context_, scopes_);
    if (const auto known = translation.methodOfTorch(e)) {
      const std::string& name = e.args[0]->text;
      // What no edit can tell is told as long as the library is named.
      if (known->text.empty()) context_.frame().undeclared.insert(std::string(Translation::kUntold));
      auto d = context_.error(Code::E0204, e.span, "`" + name + "` has another meaning here than in PyTorch");
      const std::vector<Edit> edits = translation.edits(*known);
      open = open || edits.empty();
      d.help(known->help, edits);
    }
    return true;
  };
  visitor.visit(file);
  if (open) keepImports(file);
}

void Habits::methodsOfNumPy(const ast::File& file) {
  const Libraries named = librariesOf(file);
  if ((!named.numpy && !named.jax) || !context_.frame().undeclared.insert("np.").second) return;
  bool open = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (e.kind != ExprKind::Call || callsField(file, e)) return true;
    Translation translation(context_, scopes_);
    auto known = translation.methodOfNumPy(e);
    if (!known || (named.torch && translation.methodOfTorch(e))) return true;
    const Libraries made = named.torch ? librariesOf(file, *e.args[0]->args[0]) : Libraries();
    if (made.torch && !made.numpy && !made.jax && !made.others) return true;
    if (named.torch && !made.likeNumPy())
      known = TranslatedCall{"", "NumPy and PyTorch mean different things by it: " + known->help, e.span};
    if (known->text.empty()) context_.frame().undeclared.insert(std::string(Translation::kUntold));
    const std::vector<Edit> edits = translation.edits(*known);
    open = open || edits.empty();
    context_.error(Code::E0204, e.span, "`" + e.args[0]->text + "` is called in another way here than in NumPy")
        .help(known->help, edits);
    return true;
  };
  visitor.visit(file);
  if (open) keepImports(file);
}

void Habits::keepImports(const ast::File& file) {
  const auto holdsIt = [](Span imported) {
    return [imported](const ast::StmtPtr& s) {
      const bool import = s && s->kind == ast::Stmt::Kind::Import && !s->path.empty();
      return import && (s->path[0].text == "torch" || s->path[0].text == "numpy" || s->path[0].text == "jax") &&
             holds(s->span, imported);
    };
  };
  const std::vector<Diagnostic>& all = context_.diags.all();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].code == Code::E0110 && std::ranges::any_of(file.statements, holdsIt(all[i].span)))
      context_.diags.setHelps(i, {{"as long as it is there, it shows whose methods are meant", {}}});
}

}  // namespace tenc::frontend
