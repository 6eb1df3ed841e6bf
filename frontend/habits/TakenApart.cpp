#include "frontend/habits/TakenApart.h"

#include <set>
#include <string_view>

#include "frontend/Context.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Resolve.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"
#include "syntax/ForeignFunctions.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// Whether values are one array in Python, too, as the text tells.
class OneArray {
 public:
  OneArray(const Resolution& names, const ast::File& file) : names_(names), file_(file) {}

  bool is(const ast::Expr& e) {
    switch (e.kind) {
      case ExprKind::Array:
      case ExprKind::Binary:
      case ExprKind::Unary: return true;
      case ExprKind::Index: return is(*e.args[0]);
      case ExprKind::Member: return e.args[0]->kind == ExprKind::Name && !hasSeveral();
      case ExprKind::Name: return isName(e);
      case ExprKind::Call: return isCall(e);
      default: return false;
    }
  }

 private:
  bool isName(const ast::Expr& e) {
    const Declaration* name = names_.definition(e.span);
    if (!name || name->home != &names_) return false;
    if (name->kind == Declaration::Kind::Parameter) return !hasSeveral();
    const ast::Stmt* s = name->statement;
    if (!s || s->pattern.isTuple || !seen_.insert(s).second) return false;
    if (s->kind == StmtKind::For) return s->lo && !s->hi && is(*s->lo);
    return (s->kind == StmtKind::Let || s->kind == StmtKind::Var || s->kind == StmtKind::Const) && s->value &&
           is(*s->value);
  }

  bool isCall(const ast::Expr& e) {
    const ast::Expr& callee = *e.args[0];
    if (callee.kind != ExprKind::Name && callee.kind != ExprKind::Member) return false;
    const Declaration* name = names_.definition(callee.span);
    if (callee.kind == ExprKind::Name && !(name && name->builtin)) return isFunction(callee.text);
    return syntax::givesOneArray(callee.text);
  }

  /// Whether every function of that name gives one array: what it ends with, and what it returns before.
  bool isFunction(std::string_view called) {
    bool found = false, all = true;
    TreeVisitor functions;
    functions.onStatement = [&](const ast::Stmt& s) {
      if (s.kind != StmtKind::Fn || s.name.text != called) return;
      found = true;
      if (!seen_.insert(&s).second) return;
      TreeVisitor returns;
      returns.onStatement = [&](const ast::Stmt& r) {
        if (r.kind == StmtKind::Return) all = all && r.value && is(*r.value);
      };
      returns.visit(s);
      if (s.bodyIsExpr) {
        all = all && s.value && is(*s.value);
      } else if (s.body.statements.empty()) {
        all = false;
      } else {
        const ast::Stmt& last = *s.body.statements.back();
        all = all && (last.kind == StmtKind::Return || (last.kind == StmtKind::Expr && last.value && is(*last.value)));
      }
    };
    functions.visit(file_);
    return found && all;
  }

  /// Whether a function that gives several values by dim is called with one anywhere: what it gives may be what a
  /// parameter or a field holds.
  bool hasSeveral() const {
    bool found = false;
    TreeVisitor calls;
    calls.onExpression = [&](const ast::Expr& e) {
      if (e.kind != ExprKind::Call) return true;
      const bool several = syntax::givesSeveralByDim(e.args[0]->text);
      found = found || (several && e.arguments.size() > (e.args[0]->kind == ExprKind::Member ? 0U : 1U));
      return true;
    };
    calls.visit(file_);
    return found;
  }

  const Resolution& names_;
  const ast::File& file_;
  std::set<const ast::Stmt*> seen_;
};

}  // namespace

std::optional<Help> stateTaken(const ast::Expr* written, const Val& value, bool state) {
  const bool calls = written && written->kind == ExprKind::Call && !written->arguments.empty();
  if (!calls || !state || !value.is(Val::Kind::Tensor)) return std::nullopt;
  return Help{
      "a recurrent layer gives its outputs alone; `nn.run(m, x, start)` starts from a state, and gives the last "
      "one, too: `let (out, (h, c)) = nn.run(lstm, x, (h0, c0))`",
      {}};
}

std::optional<Help> takenApart(Context& context, const ast::Expr* written, const Val& value, size_t names) {
  if (!value.is(Val::Kind::Tensor)) return std::nullopt;
  const ir::Dims& shape = value.tensor->type.shape;
  if (shape.empty() || shape[0] != static_cast<int64_t>(names)) return std::nullopt;
  Help help{"`unstack` takes a tensor apart along its first dim: `let (a, b) = unstack(x)`", {}};
  const Unit& unit = *context.frame().unit;
  if (!written || !unit.file || !unit.isScript || !OneArray(*unit.resolution, *unit.file).is(*written)) return help;
  const Span s = written->span;
  help.edits = {{Span{s.file, s.begin, s.begin}, "unstack("}, {Span{s.file, s.end, s.end}, ")"}};
  return help;
}

}  // namespace tenc::frontend
