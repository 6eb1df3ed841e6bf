#include "frontend/habits/ScriptVariables.h"

#include <algorithm>
#include <set>

#include "frontend/Context.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Resolve.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

class HandedOver {
 public:
  HandedOver(const SourceManager& sources, const Unit& unit, const std::vector<std::string>& names)
      : sources_(sources), unit_(unit), file_(*unit.file), names_(names) {}

  std::vector<Edit> edits(const ast::Stmt& fn) {
    if (hasUnread(file_) || !mayTake(fn)) return {};
    const std::optional<Edit> head = parameters(fn);
    if (!head) return {};
    edits_.push_back(*head);
    for (const ast::Expr* use : usesOf(fn))
      if (!give(fn, *use)) return {};
    return std::move(edits_);
  }

 private:
  /// Whether the function, and all that call it, can take the names without a change of what they mean.
  bool mayTake(const ast::Stmt& fn) {
    if (!seen_.insert(&fn).second) return true;
    const bool isOnly = std::ranges::count_if(file_.statements, [&](const ast::StmtPtr& s) {
                          return s && s->kind == StmtKind::Fn && s->name.text == fn.name.text;
                        }) == 1;
    if (!isOnly || fn.name.text == "call" || isMethod(fn.name.text)) return false;
    if (std::ranges::any_of(
            names_, [&](const std::string& name) { return bindsOrChanges(fn, name) || changesByOtherName(fn, name); }))
      return false;
    return std::ranges::all_of(usesOf(fn), [&](const ast::Expr* use) {
      const ast::Stmt* around = functionAround(file_, use->span);
      return around ? around->kind == StmtKind::Fn && mayTake(*around) : isVisible(use->span);
    });
  }

  /// `x.f(a)` calls a function of the script.
  bool isMethod(const std::string& name) const {
    bool found = false;
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& e) {
      found = found || (e.kind == ExprKind::Member && e.text == name && !isLibrary(rootOfMember(e)));
      return true;
    };
    visitor.visit(file_);
    return found;
  }

  /// Whether a function has a name of its own so called, reads the variable where its parameters are declared, or may
  /// change it: by an assignment, or by a call that is made for its effect.
  static bool bindsOrChanges(const ast::Stmt& fn, const std::string& name) {
    bool found = assignedBy(fn).contains(name);
    for (const ast::FnParam& p : fn.params)
      found = found || p.name.text == name || (p.otherwise && namesRead(*p.otherwise).contains(name));
    for (const ast::Generic& g : fn.generics) found = found || g.name.text == name;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      found = found || boundBy(s).contains(name) || (s.kind == StmtKind::For && namesOf(s.pattern).contains(name));
      const bool forEffect = s.kind == StmtKind::Expr && s.value && s.value->kind == ExprKind::Call;
      found = found || (forEffect && s.value->args[0]->text != "print" && namesRead(*s.value).contains(name));
    };
    visitor.onExpression = [&](const ast::Expr& e) {
      for (const ast::LambdaParam& p : e.params) found = found || namesOf(p.pattern).contains(name);
      const ast::Expr* changed = changedByCall(e);
      const ast::Expr* root = changed ? rootOf(*changed) : nullptr;
      found = found || (root && root->text == name);
      return true;
    };
    visitor.visit(fn);
    return found;
  }

  /// Whether what the variable holds may be changed by another name: one in the function, a parameter of a function
  /// that it is given to, or what the function gives.
  bool changesByOtherName(const ast::Stmt& fn, const std::string& name) const {
    bool found = false, gives = fn.bodyIsExpr && fn.value && namesShared(file_, *fn.value).contains(name);
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (!s.value || s.value->kind == ExprKind::Block) return;
      const bool shares = namesShared(file_, *s.value).contains(name);
      gives = gives || (shares && (s.kind == StmtKind::Return || s.kind == StmtKind::Expr));
      found = found || (shares && bindsChanged(s));
    };
    visitor.onExpression = [&](const ast::Expr& e) {
      if (e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Name) return true;
      const bool given = std::ranges::any_of(
          e.arguments, [&](const ast::Argument& a) { return a.value && namesRead(*a.value).contains(name); });
      for (const ast::StmtPtr& s : file_.statements)
        if (given && s && s->kind == StmtKind::Fn && s->name.text == e.args[0]->text)
          found = found || std::ranges::any_of(s->params, [&](const ast::FnParam& p) {
                    return isChangedInPlace(file_, p.name.text, s->body.span);
                  });
      return true;
    };
    visitor.visit(fn);
    for (const ast::Expr* use : gives && !found ? usesOf(fn) : std::vector<const ast::Expr*>()) {
      const ast::Stmt* s = placeIn(file_, use->span).statement;
      found = found || (s && bindsChanged(*s));
    }
    return found;
  }
  /// Whether a name that the statement binds, or assigns to, is changed in place.
  bool bindsChanged(const ast::Stmt& s) const {
    NameSet names = boundBy(s);
    if (s.kind == StmtKind::Assign) assignedNames(s, names);
    return std::ranges::any_of(names, [&](const std::string& n) { return isChangedInPlace(file_, n, s.span); });
  }

  /// Whether the names mean the script's variables at a place of the script itself.
  bool isVisible(Span use) const {
    return std::ranges::all_of(names_, [&](const std::string& name) {
      const ast::Stmt* variable = scriptVariable(&file_, name);
      const ast::Expr* hides = expressionAround(file_, use, [&](const ast::Expr& e) {
        return std::ranges::any_of(e.params,
                                   [&](const ast::LambdaParam& p) { return namesOf(p.pattern).contains(name); });
      });
      return variable && variable->span.end <= use.begin && !hides;
    });
  }

  /// Whether nothing binds or changes the variables but the statements that declare them.
  bool areFixed() const {
    size_t bound = 0;
    bool changes = false;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (s.kind == StmtKind::Fn) return;
      const NameSet here = boundBy(s);
      for (const std::string& name : names_) {
        bound += here.contains(name) ? 1 : 0;
        changes = changes || (s.kind == StmtKind::For && namesOf(s.pattern).contains(name)) ||
                  (s.kind == StmtKind::Assign && assignedBy(s).contains(name));
      }
    };
    visitor.onExpression = [&](const ast::Expr& e) {
      const ast::Expr* changed = changedByCall(e);
      const ast::Expr* root = changed ? rootOf(*changed) : nullptr;
      changes = changes || (root && std::ranges::find(names_, root->text) != names_.end());
      return true;
    };
    for (const ast::StmtPtr& s : file_.statements)
      if (s && s->kind != StmtKind::Fn) visitor.visit(*s);
    return !changes && bound == names_.size();
  }

  std::vector<const ast::Expr*> usesOf(const ast::Stmt& fn) const {
    std::vector<const ast::Expr*> uses;
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& e) {
      const bool named = e.kind == ExprKind::Name && e.text == fn.name.text;
      const Declaration* d = named ? unit_.resolution->definition(e.span) : nullptr;
      if (d && d->kind == Declaration::Kind::Functions) uses.push_back(&e);
      return true;
    };
    visitor.visit(file_);
    return uses;
  }

  std::optional<Edit> parameters(const ast::Stmt& fn) const {
    const Span body = fn.bodyIsExpr && fn.value ? fn.value->span : fn.body.span;
    if (!body.valid() || body.begin < fn.name.span.end) return std::nullopt;
    const uint32_t from = fn.params.empty() ? fn.name.span.end : lastOf(fn).end;
    const std::string_view text = sources_.text(Span{fn.span.file, from, body.begin});
    const size_t close = text.find(')');
    if (close == std::string_view::npos) return std::nullopt;
    const bool follows = !fn.params.empty() && text.substr(0, close).find(',') == std::string_view::npos;
    const auto at = static_cast<uint32_t>(from + close);
    return Edit{Span{fn.span.file, at, at}, list(follows, false)};
  }
  static Span lastOf(const ast::Stmt& fn) {
    const ast::FnParam& p = fn.params.back();
    return p.otherwise ? p.otherwise->span : p.type ? p.type->span : p.name.span;
  }

  std::string list(bool follows, bool named) const {
    std::string text;
    for (const std::string& name : names_) {
      text += (text.empty() && !follows ? "" : ", ") + (named ? name + ": " : "") + name;
    }
    return text;
  }

  bool give(const ast::Stmt& fn, const ast::Expr& use) {
    const bool hasDefaults =
        std::ranges::any_of(fn.params, [](const ast::FnParam& p) { return p.otherwise != nullptr; });
    const ast::Expr* call = expressionAround(
        file_, use.span, [&](const ast::Expr& e) { return e.kind == ExprKind::Call && e.args[0].get() == &use; });
    if (call) {
      const auto& given = call->arguments;
      const bool named =
          hasDefaults || std::ranges::any_of(given, [](const ast::Argument& a) { return a.name.has_value(); });
      const uint32_t end = call->span.end - 1;
      const uint32_t from = given.empty() ? end : given.back().span.end;
      if (from > end || sources_.text(Span{use.span.file, end, call->span.end}) != ")") return false;
      const bool follows =
          !given.empty() && sources_.text(Span{use.span.file, from, end}).find(',') == std::string_view::npos;
      edits_.push_back({Span{use.span.file, end, end}, list(follows, named)});
      return true;
    }
    // A value of its own: the names keep what they have where the lambda is made.
    const ast::Expr* operand = expressionAround(file_, use.span, [&](const ast::Expr& e) {
      const bool takes = e.kind == ExprKind::Binary || e.kind == ExprKind::Member || e.kind == ExprKind::Index;
      return takes && std::ranges::any_of(e.args, [&](const ast::ExprPtr& arg) { return arg.get() == &use; });
    });
    if (hasDefaults || operand || (!functionAround(file_, use.span) && !areFixed())) return false;
    std::string taken;
    for (const ast::FnParam& p : fn.params) {
      std::string name = p.name.text;
      if (name == "_") name = "unused";  // what is handed on has a name
      while (name != p.name.text && (taken.find(name) != taken.npos || std::ranges::find(names_, name) != names_.end()))
        name += "_";
      taken += (taken.empty() ? "" : ", ") + name;
    }
    edits_.push_back({use.span, "|" + taken + "| " + fn.name.text + "(" + taken + list(!taken.empty(), false) + ")"});
    return true;
  }

  const SourceManager& sources_;
  const Unit& unit_;
  const ast::File& file_;
  const std::vector<std::string>& names_;
  std::set<const ast::Stmt*> seen_;
  std::vector<Edit> edits_;
};

}  // namespace

std::optional<Help> bindsOtherwise(Context& context, const ast::Stmt& variable, Span use) {
  const ast::File* file = fileOf(context);
  if (!file) return std::nullopt;
  const StatementPlace at = placeIn(*file, use);
  if (at.statement && at.statement->kind == StmtKind::Const) {
    const uint32_t begin = at.statement->span.begin;
    if (!context.sources.text(at.statement->span).starts_with("const ")) return std::nullopt;
    return Help{"a `const` is known before the script runs: bind it with `let`",
                {{Span{at.statement->span.file, begin, begin + 5}, "let"}}};
  }
  if (variable.kind != StmtKind::Let || !variable.value || variable.type || !variable.keyword.valid())
    return std::nullopt;
  const auto isOnly = [&](const std::string& name) {
    return std::ranges::count_if(file->statements,
                                 [&](const ast::StmtPtr& s) { return s && boundBy(*s).contains(name); }) == 1;
  };
  const NameSet names = namesOf(variable.pattern);
  const bool literals =
      variable.pattern.isTuple
          ? variable.value->kind == ExprKind::Tuple &&
                std::ranges::all_of(variable.value->args, [](const ast::ExprPtr& e) { return e && isOfLiterals(*e); })
          : isOfLiterals(*variable.value);
  const bool fixed = literals && std::ranges::all_of(names, isOnly);
  if (!fixed) return std::nullopt;
  if (variable.pattern.isTuple) {  // `let (n, m) = (5, 3)`
    const auto& parts = variable.pattern.elements;
    const auto& values = variable.value->args;
    if (variable.value->kind != ExprKind::Tuple || parts.size() != values.size() || !variable.annotations.empty())
      return std::nullopt;
    std::string text;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].isTuple) return std::nullopt;
      text += (i ? "\n" : "") + ("const " + parts[i].name.text) + " = " +
              std::string(context.sources.text(values[i]->span));
    }
    return Help{"make them constants, or pass them as arguments", {{variable.span, text}}};
  }
  return Help{"make it a `const`, or pass it as an argument", {{variable.keyword, "const"}}};
}

std::vector<Edit> handedOver(const SourceManager& sources, const Unit& unit, const ast::Stmt& fn,
                             const std::vector<std::string>& names) {
  return unit.file && unit.resolution ? HandedOver(sources, unit, names).edits(fn) : std::vector<Edit>();
}

}  // namespace tenc::frontend
