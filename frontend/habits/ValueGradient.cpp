#include "frontend/habits/ValueGradient.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/builtins/BuiltinNames.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "ir/Type.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {

using StmtKind = ast::Stmt::Kind;
using Statements = std::vector<const ast::Stmt*>;

/// Whether pieces of a unit do more than give a value: print, save, draw random numbers. What cannot be told does.
class Effects {
 public:
  using Seen = std::set<const ast::Stmt*>;
  /// `scopes`: of the body at hand, where values are known.
  Effects(const Unit& unit, Seen& seen, Scopes* scopes = nullptr) : unit_(unit), functions_(seen), scopes_(scopes) {}
  template <typename Tree>
  bool in(const Tree& tree) {
    bool found = false;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) { found = found || s.kind == StmtKind::Assert; };
    visitor.onExpression = [&](const ast::Expr& e) {
      using Kind = ast::Expr::Kind;
      // A function may be handed on too: `map(f, x)`.
      const bool named = e.kind == Kind::Name || e.kind == Kind::Member;
      const bool called = e.kind == Kind::Call && e.args[0]->kind == Kind::Name;
      found = found || (named && ofFunction(e.text)) || (called && isUnknown(*e.args[0]));
      return !found;
    };
    visitor.visit(tree);
    return found;
  }

 private:
  bool ofFunction(const std::string& name) {
    if (!seen_.insert(name).second) return false;
    const auto isIt = [&](const BuiltinRow& r) { return r.name == name; };
    for (const auto rows : {randomBuiltins(), hostBuiltins(), debugBuiltins(), fileBuiltins()})
      if (std::ranges::any_of(rows, isIt)) return true;
    std::vector<const Unit*> units{&unit_};
    for (const auto& [module, other] : unit_.modules) units.push_back(other);
    if (const auto it = unit_.names.find(name); it != unit_.names.end()) units.push_back(it->second.first);
    return std::ranges::any_of(units, [&](const Unit* u) {
      const auto it = u->functions.find(name);
      if (it == u->functions.end()) return false;
      return std::ranges::any_of(it->second, [this](const FnDecl& d) {
        if (!functions_.insert(d.stmt).second) return false;
        return functions_.size() > kMost || Effects(*d.unit, functions_).in(*d.stmt);
      });
    });
  }
  /// Whether a name is that of a value that is called, as a layer: what it does is not known.
  bool isUnknown(const ast::Expr& callee) {
    const std::string& name = callee.text;
    if (isBuiltin(name) || isTransform(name) || ir::dtypeNamed(name) || unit_.functions.contains(name) ||
        unit_.names.contains(name))
      return false;
    if (const Binding* value = scopes_ ? scopes_->find(callee.span) : nullptr) return ofValue(value->value);
    const ast::Stmt* bound = unit_.file ? boundBefore(*unit_.file, name, callee.span.begin) : nullptr;
    if (!bound || !bound->value || bound->value->kind != ast::Expr::Kind::Lambda) return true;
    return seen_.insert("|" + name).second && in(*bound->value);
  }

  /// Of what is called as a value: a layer, with all that it holds, or a function.
  bool ofValue(const Val& v) {
    if (v.is(Val::Kind::Tensor) || v.isNumber() || v.is(Val::Kind::Bool)) return false;
    if (v.is(Val::Kind::Function)) {
      const FnValue& f = *v.fn;
      if (f.kind == FnValue::Kind::Cast) return false;
      if (f.kind == FnValue::Kind::Builtin) return ofFunction(f.name);
      if (f.kind == FnValue::Kind::Lambda && f.lambda && f.unit) return Effects(*f.unit, functions_).in(*f.lambda);
      return f.kind != FnValue::Kind::Overloads || ofFunctions(f.overloads);
    }
    const bool holds = v.is(Val::Kind::Struct) || v.is(Val::Kind::Tuple) || v.is(Val::Kind::List);
    if (!holds || std::ranges::any_of(v.elems, [this](const Val& part) { return ofValue(part); })) return true;
    if (!v.is(Val::Kind::Struct)) return false;
    const ast::Stmt& declared = *v.info->decl->stmt;
    std::vector<const FnDecl*> calls;
    if (const auto it = v.info->decl->unit->functions.find("call"); it != v.info->decl->unit->functions.end())
      for (const FnDecl& d : it->second) {
        const auto& all = d.stmt->params;
        const ast::TypeExpr* of = all.empty() ? nullptr : all[0].type.get();
        if (of && !of->path.empty() && of->path[0].text == declared.name.text) calls.push_back(&d);
      }
    return ofFunctions(calls);
  }
  bool ofFunctions(const std::vector<const FnDecl*>& all) {
    return std::ranges::any_of(all, [this](const FnDecl* d) {
      if (!functions_.insert(d->stmt).second) return false;
      return functions_.size() > kMost || Effects(*d->unit, functions_).in(*d->stmt);
    });
  }

  static constexpr size_t kMost = 500;  // functions that call each other
  const Unit& unit_;
  Seen& functions_;
  Scopes* scopes_;
  NameSet seen_;
};

/// The statements of `before` that make what `value` reads of the variables, in order; nothing where one of them is no
/// `let`, does more than that, or reads what is another behind it.
std::optional<Statements> making(Context& context, const Statements& before, const NameSet& variables,
                                 const ast::Expr& value) {
  std::map<std::string, size_t> bound;  // where each name is bound last
  for (size_t i = 0; i < before.size(); ++i)
    for (const std::string& name : boundBy(*before[i])) bound[name] = i;
  NameSet changed, tainted;
  for (const std::string& v : variables)
    if (!bound.contains(v)) tainted.insert(v);
  std::vector<size_t> all;
  Statements kept;
  for (size_t i = 0; i < before.size(); ++i) {
    const ast::Stmt& s = *before[i];
    changed.merge(assignedBy(s));
    const NameSet binds = boundBy(s);
    if (meet(binds, variables)) {
      for (const std::string& name : binds)
        if (variables.contains(name) && bound[name] == i) tainted.insert(name);
      continue;
    }
    if (!meet(namesRead(s), tainted) || s.kind != StmtKind::Let) continue;
    tainted.insert(binds.begin(), binds.end());
    all.push_back(i);
  }
  NameSet needed = namesRead(value);
  Effects::Seen functions;
  Scopes scopes(context);
  Effects effects(*context.frame().unit, functions, &scopes);
  for (const size_t i : all | std::views::reverse) {
    const ast::Stmt& s = *before[i];
    if (!meet(boundBy(s), needed)) continue;
    const NameSet reads = namesRead(s);
    if (std::ranges::any_of(reads, [&](const std::string& n) { return bound.contains(n) && bound[n] >= i; }))
      return std::nullopt;
    if (effects.in(s)) return std::nullopt;
    needed.insert(reads.begin(), reads.end());
    kept.insert(kept.begin(), &s);
  }
  for (const std::string& v : variables) changed.erase(v);
  if (meet(changed, needed)) return std::nullopt;
  return kept;
}

/// What is made from the variables outside the block of a statement, or for a later trip of a loop around it.
NameSet madeOutside(const ast::File& file, const StatementPlace& at, const NameSet& variables) {
  const Span here = at.statement->span;
  const ast::Stmt* function = statementAround(file, here, {StmtKind::Fn});
  uint32_t end = here.begin;
  NameSet own;
  TreeVisitor loops;
  loops.onStatement = [&](const ast::Stmt& s) {
    const bool loop = s.kind == StmtKind::For || s.kind == StmtKind::While;
    if (loop && s.span.begin <= here.begin && here.end <= s.span.end) end = std::max(end, s.span.end);
  };
  loops.visit(file);
  for (const ast::StmtPtr& s : *at.among) {
    if (!s || s.get() == at.statement) break;
    own.merge(boundBy(*s));
  }
  NameSet made = variables;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (s.span.begin >= end || (function && s.span.begin < function->span.begin)) return;
    const auto reads = [&](const ast::ExprPtr& e) { return e && meet(namesRead(*e), made); };
    if (!reads(s.value) && !reads(s.lo) && !reads(s.hi) && !(s.kind == StmtKind::Assign && reads(s.target))) return;
    if (s.kind == StmtKind::For) made.merge(namesOf(s.pattern));
    if (s.kind == StmtKind::Assign) made.merge(assignedBy(s));
    made.merge(boundBy(s));
  };
  for (size_t before = 0; before != made.size();) {
    before = made.size();
    visitor.visit(file);
  }
  for (const NameSet& names : {own, variables})
    for (const std::string& name : names) made.erase(name);
  return made;
}

/// The names that the value is made of, by the statements and itself.
NameSet namesIn(const Statements& kept, const ast::Expr& value) {
  NameSet names = namesRead(value);
  for (const ast::Stmt* s : kept) names.merge(namesRead(*s));
  return names;
}

}  // namespace

std::optional<Help> valueGradient(Context& context, Span call, Span y, Span x, bool summed) {
  const ast::File* file = fileOf(context);
  const auto text = [&](Span s) { return std::string(context.sources.text(s)); };
  const ast::Expr* variable = file ? expressionAround(*file, x, ast::Expr::Kind::Name) : nullptr;
  const ast::Expr* value = file ? expressionAt(*file, y) : nullptr;
  if (!variable || variable->span != x || !value) return std::nullopt;
  const StatementPlace at = placeIn(*file, call);
  if (!at.statement || !at.among) return std::nullopt;
  Statements before;
  for (const ast::StmtPtr& s : *at.among) {
    if (!s || s.get() == at.statement) break;
    before.push_back(s.get());
  }
  const NameSet variables{variable->text};
  const auto kept = making(context, before, variables, *value);
  if (!kept || meet(namesIn(*kept, *value), madeOutside(*file, at, variables))) return std::nullopt;
  std::string body = text(y);
  // The last of them often only names the value.
  Statements inside = *kept;
  if (!inside.empty() && value->kind == ast::Expr::Kind::Name && inside.back()->pattern.name.text == value->text &&
      !inside.back()->pattern.isTuple) {
    body = valueText(context.sources, *inside.back(), text(inside.back()->value->span));
    inside.pop_back();
  }
  const bool depends = !kept->empty() || namesRead(*value).contains(variable->text);
  if (!depends) return std::nullopt;
  if (summed) body = "sum(" + body + ")";
  std::string lines;
  for (const ast::Stmt* s : inside) lines += "    " + text(s->span) + "\n";
  const std::string function = lines.empty() ? body : "{\n" + lines + "    " + body + "\n}";
  return Help{"a gradient is that of a function of what it is taken by",
              {{call, "grad(|" + variable->text + "| " + function + ")(" + variable->text + ")"}}};
}

namespace {
/// Whether a name is bound to a list or a tuple of what calls give, `[torch.ones(2), torch.zeros(1)]`.
bool isListOfCalls(const ast::File& file, const ast::Expr& name) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (s.span.end > name.span.begin || nameBound(s) != name.text || !s.value) return;
    const bool lists = s.value->kind == ast::Expr::Kind::Array || s.value->kind == ast::Expr::Kind::Tuple;
    found = lists && std::ranges::any_of(s.value->args, [](auto& e) { return e->kind == ast::Expr::Kind::Call; });
  };
  if (name.kind == ast::Expr::Kind::Name) visitor.visit(file);
  return found;
}
}  // namespace

std::optional<Help> tupleOfGradient(Context& context, Scopes& scopes, const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  const bool ofLibrary = callee.kind == ast::Expr::Kind::Member && callee.text == "grad" &&
                         (callee.args[0]->text == "autograd" || callee.args[0]->text == "torch");
  if (!ofLibrary) return std::nullopt;
  const ast::File* file = context.frame().unit->file;
  const std::string said = "a gradient is that of a function: `grad(f)(x)`";
  std::vector<const ast::Expr*> values;
  bool summed = false;
  for (const ast::Argument& a : call.arguments) {
    const bool keeps = a.name && (a.name->text == "create_graph" || a.name->text == "retain_graph");
    const bool ones = a.value && a.value->kind == ast::Expr::Kind::Call && a.value->args[0]->text == "ones_like";
    const bool weights = a.name ? a.name->text == "grad_outputs" : values.size() == 2;
    if (weights && ones)
      summed = true;
    else if (!keeps && a.value)
      values.push_back(a.name ? nullptr : a.value.get());
  }
  if (!file || values.size() != 2 || !values[0] || !values[1]) return Help{said, {}};
  // PyTorch takes a value of one element without being told.
  const Binding* y = values[0]->kind == ast::Expr::Kind::Name ? scopes.find(values[0]->span) : nullptr;
  const bool tensor = y && y->value.is(Val::Kind::Tensor);
  summed = (summed && !tensor) || (tensor && y->value.tensor->type.rank() > 0);
  const ast::Expr* taker = expressionAround(*file, call.span, [&](const ast::Expr& e) {
    const bool takes = e.kind == ast::Expr::Kind::Index && e.args[0].get() == &call && e.subscripts.size() == 1;
    const ast::Expr* i = takes ? e.subscripts[0].index.get() : nullptr;
    return i && i->kind == ast::Expr::Kind::Int && i->text == "0";
  });
  // By several values it is a tuple, also in TL.
  const Binding* by = values[1]->kind == ast::Expr::Kind::Name ? scopes.find(values[1]->span) : nullptr;
  const bool several = by && by->value.isTree();
  if (!several && (!by || by->value.poison()) && isListOfCalls(*file, *values[1])) return Help{said, {}};  // not yet
  if (several) taker = nullptr;
  auto made = valueGradient(context, taker ? taker->span : call.span, values[0]->span, values[1]->span, summed);
  if (!made) return Help{said, {}};
  if (!taker && !several) made->edits[0].replacement = "(" + made->edits[0].replacement + ",)";
  return made;
}

namespace {

using ExprKind = ast::Expr::Kind;

/// `w.grad`.
bool isGradient(const ast::Expr& e) {
  return e.kind == ExprKind::Member && e.text == "grad" && e.args[0]->kind == ExprKind::Name;
}

/// `w.grad` of `w.grad.zero_()` and `w.grad = None`, which make room for the next derivative; null for other
/// statements.
const ast::Expr* clearedGradient(const ast::Stmt& s) {
  if (s.kind == StmtKind::Assign) return s.op == "=" && s.target && isGradient(*s.target) ? s.target.get() : nullptr;
  if (s.kind != StmtKind::Expr || !s.value || s.value->kind != ExprKind::Call) return nullptr;
  const ast::Expr* e = s.value->args[0].get();
  if (!e->text.ends_with("_")) return nullptr;
  while (e->kind == ExprKind::Member && !isGradient(*e)) e = e->args[0].get();
  return isGradient(*e) ? e : nullptr;
}
bool clearsGradient(const ast::Stmt& s) { return clearedGradient(s) != nullptr; }

/// Which gradients the statements read, and what only clears them.
struct Gradients {
  std::vector<std::string> variables;
  NameSet cleared;
  std::vector<const ast::Expr*> reads;
  Statements clears;
  std::vector<Span> maybe;  ///< what may not run in each trip, or more than once
  size_t derivatives = 0;   ///< calls of `backward`

  explicit Gradients(const std::vector<ast::StmtPtr>& among) {
    TreeVisitor visitor;
    visitor.onStatement = [this](const ast::Stmt& s) {
      if (clearsGradient(s)) clears.push_back(&s);
      if (s.kind == StmtKind::For || s.kind == StmtKind::While) maybe.push_back(s.span);
    };
    visitor.onExpression = [this](const ast::Expr& e) {
      derivatives += e.kind == ExprKind::Member && e.text == "backward" ? 1 : 0;
      if (e.kind == ExprKind::If) maybe.push_back(e.span);
      if (!isGradient(e)) return true;
      const std::string& name = e.args[0]->text;
      if (std::ranges::find(variables, name) == variables.end()) variables.push_back(name);
      const auto around = [&](const ast::Stmt* s) {
        return s->span.begin <= e.span.begin && e.span.end <= s->span.end;
      };
      if (std::ranges::any_of(clears, around))
        cleared.insert(name);
      else
        reads.push_back(&e);
      return true;
    };
    for (const ast::StmtPtr& s : among)
      if (s) visitor.visit(*s);
  }
  /// Whether what stands at a place behind the derivative is all that reads it, once: in PyTorch gradients that are not
  /// cleared add up.
  bool standFor(Span derivative, bool loops) const {
    const auto isBehind = [&](const ast::Expr* e) { return e->span.begin >= derivative.end; };
    const auto isCleared = [&](const std::string& v) { return !loops || cleared.contains(v); };
    // What reads zeros, as it stands between what clears the gradient and the next derivative.
    const auto isReadClear = [&](const ast::Stmt* s) {
      return s->span.begin >= derivative.end && std::ranges::any_of(reads, [&](const ast::Expr* e) {
               return e->span.begin >= s->span.end && e->args[0]->text == clearedGradient(*s)->args[0]->text;
             });
    };
    const auto mayNotRun = [&](const ast::Stmt* s) {
      return std::ranges::any_of(maybe, [&](Span part) { return holds(part, s->span); });
    };
    if (std::ranges::any_of(clears, isReadClear) || std::ranges::any_of(clears, mayNotRun)) return false;
    return derivatives == 1 && !reads.empty() && std::ranges::all_of(reads, isBehind) &&
           std::ranges::all_of(variables, isCleared);
  }
};

/// Whether one of the variables is made from another before a place.
bool madeOfAnother(const ast::File& file, Span place, const NameSet& variables) {
  if (variables.size() < 2) return false;
  bool found = false;
  for (const std::string& v : variables) {
    NameSet made{v};
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (s.span.end > place.begin || !s.value || !meet(namesRead(*s.value), made)) return;
      made.merge(boundBy(s));
      if (s.kind == StmtKind::Assign) made.merge(assignedBy(s));
    };
    visitor.visit(file);
    found = found || std::ranges::any_of(variables, [&](const std::string& w) { return w != v && made.contains(w); });
  }
  return found;
}

/// Whether a statement, with those in it, prints and does nothing else: `if t % 100 == 0 { print(t, loss) }`.
bool onlyShows(const ast::Stmt& s) {
  bool shows = true;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& part) {
    const ast::Expr* e = part.kind == StmtKind::Expr ? part.value.get() : nullptr;
    const bool prints =
        e && e->kind == ExprKind::Call && e->args[0]->kind == ExprKind::Name && e->args[0]->text == "print";
    shows = shows && (prints || (e && e->kind == ExprKind::If));
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool calls = e.kind == ExprKind::Call && e.args[0]->text != "print";
    shows = shows && !(calls && e.args[0]->kind == ExprKind::Name && !isBuiltin(e.args[0]->text));
    return shows;
  };
  visitor.visit(s);
  return shows;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
  return text;
}

}  // namespace

std::optional<Help> backwardStep(Context& context, const ast::Expr& backward) {
  const ast::File* file = fileOf(context);
  const ast::Expr& receiver = *backward.args[0]->args[0];
  const StatementPlace at = file ? placeIn(*file, backward.span) : StatementPlace{};
  if (!at.statement || at.statement->value.get() != &backward || at.statement->kind != StmtKind::Expr ||
      receiver.kind != ExprKind::Name || !backward.arguments.empty())
    return std::nullopt;
  Statements before, behind;
  const ast::Stmt* loss = nullptr;
  bool past = false;
  for (const ast::StmtPtr& s : *at.among) {
    if (!s) return std::nullopt;
    past = past || s.get() == at.statement;
    if (!past && boundBy(*s).contains(receiver.text)) loss = s.get();
    if (s.get() != at.statement) (past ? behind : before).push_back(s.get());
  }
  const Gradients gradients(*at.among);
  const std::vector<std::string>& variables = gradients.variables;
  const bool loops = statementAround(*file, backward.span, {StmtKind::For, StmtKind::While}) != nullptr;
  if (!loss || loss->kind != StmtKind::Let || loss->pattern.isTuple || !gradients.standFor(backward.span, loops))
    return std::nullopt;
  const auto place = std::ranges::find(before, loss);
  const Statements between(std::next(place), before.end());
  before.erase(place, before.end());
  const NameSet tainted(variables.begin(), variables.end());
  std::erase_if(before, [&](const ast::Stmt* s) { return clearsGradient(*s); });
  if (madeOfAnother(*file, backward.span, tainted)) return std::nullopt;
  const auto kept = making(context, before, tainted, *loss->value);
  if (!kept || meet(namesIn(*kept, *loss->value), madeOutside(*file, at, tainted))) return std::nullopt;
  // The gradient is taken where the loss is computed: what stands between may only read.
  if (std::ranges::any_of(between, [&](const ast::Stmt* s) { return !onlyShows(*s); })) return std::nullopt;
  const auto text = [&](Span s) { return std::string(context.sources.text(s)); };
  const auto gradientOf = [&](const std::string& v) { return variables.size() == 1 ? "g" : "g_" + v; };
  std::vector<std::string> made;
  for (const std::string& v : variables) {
    made.push_back(gradientOf(v));
    if (timesNamed(*file, made.back()) > 0) return std::nullopt;
  }
  std::vector<Edit> edits;
  std::string body = valueText(context.sources, *loss, text(loss->value->span)), lines;
  for (const ast::Stmt* s : *kept) {
    lines += text(s->span) + "; ";
    const auto reads = [&](const ast::Stmt* other) {
      return other != s && other != loss && std::ranges::find(*kept, other) == kept->end() &&
             meet(namesRead(*other), boundBy(*s));
    };
    if (std::ranges::none_of(before, reads) && std::ranges::none_of(between, reads) &&
        std::ranges::none_of(behind, reads))
      edits.push_back(syntax::removed(context.sources, s->span));
  }
  if (!lines.empty()) body = "{ " + lines + body + " }";
  const bool one = variables.size() == 1;
  std::string places = "0";
  for (size_t i = 1; i < variables.size(); ++i) places += ", " + std::to_string(i);
  edits.push_back({loss->span, "let (" + receiver.text + ", " + (one ? made[0] : "(" + listed(made) + ")") +
                                   ") = value_and_grad(|" + listed(variables) + "| " + body +
                                   (one ? "" : ", wrt: (" + places + ")") + ")(" + listed(variables) + ")"});
  edits.push_back(syntax::removed(context.sources, at.statement->span));
  for (const ast::Stmt* s : gradients.clears) edits.push_back(syntax::removed(context.sources, s->span));
  for (const ast::Expr* e : gradients.reads) edits.push_back({e->span, gradientOf(e->args[0]->text)});
  return Help{"a gradient is a value, which `value_and_grad` gives", std::move(edits)};
}

}  // namespace tenc::frontend
