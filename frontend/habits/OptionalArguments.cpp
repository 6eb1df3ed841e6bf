#include "frontend/habits/OptionalArguments.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Scan.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

bool isNamed(const ast::Expr& e, std::string_view name) { return e.kind == ExprKind::Name && e.text == name; }

/// What becomes of the uses of a parameter that may be left out.
class Optional {
 public:
  Optional(Context& context, const ast::File& file, const ast::Stmt& fn, const ast::FnParam& p)
      : context_(context), file_(file), fn_(fn), name_(p.name.text) {
    edits_.push_back({p.otherwise->span, "()"});
  }

  /// Nothing where the parameter is given a value in a way that has no form here.
  std::vector<Edit> edits() {
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) { statement(s); };
    visitor.onExpression = [&](const ast::Expr& e) {
      comparison(e);
      return true;
    };
    visitor.visit(fn_);
    TreeVisitor given;
    given.onExpression = [&](const ast::Expr& e) {
      passedOn(e);
      return true;
    };
    given.visit(fn_);
    TreeVisitor calls;
    calls.onExpression = [&](const ast::Expr& e) {
      call(e);
      return true;
    };
    calls.visit(file_);
    return known_ ? std::move(edits_) : std::vector<Edit>();
  }

 private:
  /// Whether it compares the parameter with `None`, as `op` does.
  bool asks(const ast::Expr& e, std::string_view op) const {
    return e.kind == ExprKind::Binary && e.text == op && isNamed(*e.args[0], name_) && isNamed(*e.args[1], "None");
  }
  std::string text(Span s) const { return std::string(context_.sources.text(s)); }

  void comparison(const ast::Expr& e) {
    const bool isNone = asks(e, "==");
    if (!isNone && !asks(e, "!=")) return;
    const bool done = std::ranges::any_of(edits_, [&](const Edit& x) { return holds(x.span, e.span); });
    if (!done) edits_.push_back({e.span, name_ + (isNone ? ".size == 0" : ".size > 0")});
  }

  /// `if x is None: x = e`, `x = e if x is None else x`: a name of its own, of the type that the value has.
  void statement(const ast::Stmt& s) {
    const ast::Expr* choice = s.value && s.value->kind == ExprKind::If ? s.value.get() : nullptr;
    if (!choice || choice->args.size() != 1) return;
    const bool isNone = asks(*choice->args[0], "=="), isSome = asks(*choice->args[0], "!=");
    if (!isNone && !isSome) return;
    const bool assigns = s.kind == StmtKind::Assign && s.op == "=" && isNamed(*s.target, name_);
    if (assigns) {
      setFrom_ = std::min(setFrom_, s.span.end);
      edits_.push_back({s.target->span, keyword(s) + name_});
      return;
    }
    const ast::Stmt* only = choice->blocks.size() == 1 && choice->blocks[0].statements.size() == 1
                                ? choice->blocks[0].statements[0].get()
                                : nullptr;
    const bool sets = only && only->kind == StmtKind::Assign && isNamed(*only->target, name_) && only->op == "=";
    if (s.kind == StmtKind::Expr && isNone && sets) {
      setFrom_ = std::min(setFrom_, s.span.end);
      const std::string value = "if " + name_ + ".size == 0 { " + text(only->value->span) + " } else { " + name_ + " }";
      edits_.push_back({s.span, keyword(s, only) + name_ + " = " + value});
      return;
    }
    // What is set in one branch alone has another type behind it.
    if (isNone && s.kind == StmtKind::Expr)
      for (const ast::Block& b : choice->blocks) known_ = known_ && !setsIt(b);
  }
  bool setsIt(const ast::Block& b) const {
    bool found = false;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      found = found || (s.kind == StmtKind::Assign && isNamed(*s.target, name_));
    };
    for (const ast::StmtPtr& s : b.statements) visitor.visit(*s);
    return found;
  }
  /// `var ` where other statements than these assign to the name.
  std::string keyword(const ast::Stmt& s, const ast::Stmt* inner = nullptr) {
    bool others = false;
    const ast::Stmt* copy = nullptr;  // `var x = x` of an edit, which nothing else needs
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& t) {
      const bool assigns = t.kind == StmtKind::Assign && rootOf(*t.target) && isNamed(*rootOf(*t.target), name_);
      const bool binds = (t.kind == StmtKind::Let || t.kind == StmtKind::Var) && t.pattern.name.text == name_;
      if (t.kind == StmtKind::Var && binds && isNamed(*t.value, name_)) copy = &t;
      others = others || ((assigns || binds) && &t != &s && &t != inner && &t != copy);
    };
    visitor.visit(fn_);
    if (copy && !others) edits_.push_back(syntax::removed(context_.sources, copy->span));
    return copy && others ? "var " : "let ";  // what changes it otherwise is looked at as a change of an argument
  }

  /// `x.sum(axis=axis)`: None and an empty tuple are two things to a function of a library. Where the parameter was
  /// asked for, or has got another value, it is given; and functions of the script ask themselves.
  void passedOn(const ast::Expr& e) {
    if (e.kind != ExprKind::Call) return;
    const bool own = std::ranges::any_of(file_.statements, [&](const ast::StmtPtr& s) {
      return s && s->kind == StmtKind::Fn && s->name.text == e.args[0]->text;
    });
    for (const ast::Argument& a : e.arguments) {
      if (own || !a.value || !isNamed(*a.value, name_) || a.value->span.begin >= setFrom_) continue;
      known_ = known_ && expressionAround(file_, a.value->span, [&](const ast::Expr& x) {
                 if (x.kind != ExprKind::If || !holds(fn_.span, x.span)) return false;
                 bool asked = false;
                 TreeVisitor condition;
                 condition.onExpression = [&](const ast::Expr& c) {
                   asked = asked || asks(c, "==") || asks(c, "!=");
                   return !asked;
                 };
                 condition.visit(*x.args[0]);
                 return asked;
               });
    }
  }

  /// `f(x, None)`
  void call(const ast::Expr& e) {
    if (e.kind != ExprKind::Call || e.args[0]->text != fn_.name.text) return;
    for (const ast::Argument& a : e.arguments)
      if (a.value && isNamed(*a.value, "None")) edits_.push_back({a.value->span, "()"});
  }

  Context& context_;
  const ast::File& file_;
  const ast::Stmt& fn_;
  const std::string& name_;
  std::vector<Edit> edits_;
  uint32_t setFrom_ = std::numeric_limits<uint32_t>::max();  ///< behind it the name always has a value
  bool known_ = true;
};

/// An axis that no call gives, `axis=None`, and that the function hands to reductions alone: both can be left out.
std::vector<Edit> leftOut(const ast::File& file, const ast::Stmt& fn, const ast::FnParam& p) {
  static constexpr std::string_view kReductions[] = {"all",       "any",     "argmax", "argmin", "max",
                                                     "mean",      "median",  "min",    "norm",   "prod",
                                                     "logsumexp", "squeeze", "std",    "sum",    "variance"};
  const auto index = static_cast<size_t>(&p - fn.params.data());
  std::vector<Edit> edits;
  bool known = true;
  size_t handed = 0, named = 0;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (isNamed(e, p.name.text) && holds(fn.span, e.span) && e.span != p.name.span) ++named;
    if (e.kind == ExprKind::Member && e.text == fn.name.text) known = false;
    if (isNamed(e, fn.name.text)) {
      const ast::Expr* call = expressionAround(
          file, e.span, [&](const ast::Expr& c) { return c.kind == ExprKind::Call && c.args[0].get() == &e; });
      known = known && call && givenTo(fn, index, *call) == p.otherwise.get();
    }
    if (e.kind != ExprKind::Call || !holds(fn.span, e.span)) return true;
    const auto& given = e.arguments;
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i].value || !isNamed(*given[i].value, p.name.text)) continue;
      ++handed;
      known = known && given[i].name && (given[i].name->text == "axis" || given[i].name->text == "dim") &&
              std::ranges::find(kReductions, e.args[0]->text) != std::end(kReductions);
      Span gone = given[i].span;
      if (i > 0)
        gone.begin = given[i - 1].span.end;
      else if (given.size() > 1)
        gone.end = given[1].span.begin;
      edits.push_back({gone, ""});
    }
    return true;
  };
  visitor.visit(file);
  if (!known || handed == 0 || handed != named) return {};
  Span parameter{p.name.span.file, p.name.span.begin, p.otherwise->span.end};
  if (index > 0) {
    const ast::FnParam& before = fn.params[index - 1];
    parameter.begin = before.otherwise ? before.otherwise->span.end
                      : before.type    ? before.type->span.end
                                       : before.name.span.end;
  } else if (fn.params.size() > 1) {
    parameter.end = fn.params[1].name.span.begin;
  }
  edits.push_back({parameter, ""});
  return edits;
}

}  // namespace

Help optionalArgument(Context& context, const ast::File& file, const ast::FnParam& p) {
  Help help{
      "a parameter always has a value: give `" + p.name.text +
          "` one that stands for it, such as the empty tuple `()`, whose size is 0, or write a function for each case",
      {}};
  const ast::Stmt* fn = statementAround(file, p.otherwise->span, {StmtKind::Fn});
  if (!fn || p.type || hasUnread(file)) return help;
  if (auto edits = leftOut(file, *fn, p); !edits.empty())
    return Help{"no call gives `" + p.name.text + "`, and what is given `None` is left out", std::move(edits)};
  help.edits = Optional(context, file, *fn, p).edits();
  return help;
}

}  // namespace tenc::frontend
