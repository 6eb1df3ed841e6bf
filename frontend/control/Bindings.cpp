// `let` and `var`, with the types that they declare.
#include "frontend/control/Bindings.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/expressions/SourceText.h"
#include "frontend/habits/Idioms.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/habits/TakenApart.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Resolve.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/types/DimSolver.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"
#include "frontend/types/Unifier.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {
using StmtKind = ast::Stmt::Kind;

bool isInLoop(const ast::File& file, Span at) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    const bool loop = s.kind == StmtKind::For || s.kind == StmtKind::While;
    found = found || (loop && s.span.file == at.file && s.span.begin <= at.begin && at.end <= s.span.end);
  };
  visitor.visit(file);
  return found;
}

/// Whether what follows a statement reads the variable before it assigns it; after a loop also in the next trip of that
/// around it.
bool isReadAfter(const Unit& unit, const Declaration& variable, Span statement, bool isLoop) {
  const std::vector<Use> uses = unit.resolution->usesOf(variable);
  const auto reads = [&](const Use& u) {  // `i += 1` does
    if (!u.assigned) return true;
    const ast::Stmt* s = placeIn(*unit.file, u.span).statement;
    return s && s->kind == StmtKind::Assign && s->op != "=";
  };
  const auto next = std::ranges::find_if(uses, [&](const Use& u) { return u.span.begin >= statement.end; });
  if (next != uses.end()) return reads(*next);
  const ast::Stmt* around = placeIn(*unit.file, statement).outer;
  const bool again = isLoop && around && (around->kind == StmtKind::For || around->kind == StmtKind::While);
  if (!again || around->span.begin < variable.span.begin) return false;
  const auto first = std::ranges::find_if(uses, [&](const Use& u) { return u.span.begin >= around->span.begin; });
  return first != uses.end() && reads(*first);
}
}  // namespace

void Bindings::warnHidden(const ast::Stmt& s) {
  const Resolution& names = *context_.frame().unit->resolution;
  std::vector<std::pair<Span, const Declaration*>> hidden;
  bool all = true;
  const std::function<void(const ast::Pattern&)> look = [&](const ast::Pattern& p) {
    for (const ast::Pattern& e : p.elements) look(e);
    if (p.isTuple || p.name.text == "_") return;
    const Declaration* d = names.hiddenBy(p.name.span);
    const bool isVariable = d && d->kind == Declaration::Kind::Variable;
    if (d && ((isVariable && s.kind != StmtKind::For) ||
              isReadAfter(*context_.frame().unit, *d, s.span, s.kind == StmtKind::For)))
      hidden.emplace_back(p.name.span, d);
    else
      all = false;
  };
  look(s.pattern);
  const std::string where = !hidden.empty() && isInLoop(*context_.frame().unit->file, s.span)
                                ? " in each trip of the loop"
                                : " in this block";
  const bool isLet = s.kind == StmtKind::Let || s.kind == StmtKind::Var;
  const std::string word = s.kind == StmtKind::Var ? "`var`" : "`let`";
  for (const auto& [span, outer] : hidden) {
    const bool parameter = outer->kind == Declaration::Kind::Parameter;
    if (outer->kind != Declaration::Kind::Variable && !parameter) {
      const ast::Stmt& made = *outer->statement;
      context_
          .warning(Code::W0101, span,
                   "this `let` makes a new `" + outer->name + "` in each trip of the loop, from the one outside")
          .note(outer->span, "what is outside stays as it is")
          .help("declare a `var` before the loop, and assign to it",
                {{made.keyword, "var"}, {{s.keyword.file, s.keyword.begin, s.pattern.span.begin}, ""}});
      continue;
    }
    auto d = context_.warning(Code::W0101, span,
                              (isLet ? "this " + word + " makes a new `" + outer->name + "`" + where
                                     : "this `for` makes a new `" + outer->name + "` in each trip") +
                                  ", and the " + (parameter ? "parameter" : "`var`") + " of that name stays as it is");
    d.note(outer->span, parameter ? "the parameter is declared here" : "the variable is declared here");
    if (parameter) {
      d.help("give it another name; what a loop gives is assigned to a `var` in its body");
      continue;
    }
    if (!isLet) {
      d.help("give it another name; to change the variable, assign to it in the body");
      continue;
    }
    const std::string variables = hidden.size() == 1 ? "`" + outer->name + "`" : "the variables";
    // What takes the place of the keyword and the blanks behind it.
    const Span keyword{s.keyword.file, s.keyword.begin, s.pattern.span.begin};
    if (all && !s.type && span == hidden.front().first)
      d.help("assign to " + variables + ", without " + word, {{keyword, ""}});
    else
      d.help("to change the variable assign to it; another name makes a new value");
  }
}

void Bindings::lowerLet(const ast::Stmt& s) {
  if (s.kind == StmtKind::Let || s.kind == StmtKind::Var) warnHidden(s);
  std::shared_ptr<Ty> expected;
  if (s.type) {
    Generics g;
    g.unit = context_.frame().unit;
    g.locals = true;
    expected = std::make_shared<Ty>(types_.resolve(*s.type, g));
  }
  Val value = s.value ? expressions_.eval(*s.value, expected.get()) : context_.lost();
  if (value.is(Val::Kind::Unit)) {
    auto d = context_.error(Code::E0203, s.value->span, "this has no value to bind");
    const bool empty = s.value->kind == ast::Expr::Kind::Block && s.value->blocks[0].statements.empty();
    if (empty) d.help(std::string(syntax::formHelp(syntax::Form::Dictionary)) + "; `bincount` counts integers");
    value = d;
  }
  bindLet(s, std::move(value));
}

namespace {
/// Whether the type says where the value lives, or a part of a tuple or list.
bool namesDevice(const Ty& t) {
  if (!t.place.empty()) return true;
  return t.kind != Ty::Kind::Struct &&
         std::any_of(t.elems.begin(), t.elems.end(), [](const Ty& e) { return namesDevice(e); });
}
}  // namespace

namespace {
/// Whether nothing in the function at hand, or the script, reads what the pattern binds.
bool isUnread(Context& context, const ast::Pattern& p) {
  const ast::File* file = context.frame().unit->file;
  if (!file) return false;
  const NameSet names = namesOf(p);
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    found = found || (e.kind == ast::Expr::Kind::Name && names.contains(e.text));
    return true;
  };
  visitAround(*file, p.span, visitor);
  return !found;
}
}  // namespace

void Bindings::bindLet(const ast::Stmt& s, Val value) {
  std::shared_ptr<const Ty> declared;
  if (value.is(Val::Kind::Unit)) value = context_.fail(Code::E0203, s.span, "this has no value to bind");
  value = declaredValue(s, std::move(value), &declared);
  const bool isVar = s.kind == StmtKind::Var;
  context_.at(s.span);
  value = isVar ? tensors_.materialise(value, declared.get()) : tensors_.settleBound(std::move(value), declared.get());
  if (!declared || !namesDevice(*declared)) value = placing_.enterAnnotation(value);
  bindPattern(s.pattern, std::move(value), isVar, declared, s.value.get());
  if (Binding* made = s.pattern.isTuple ? nullptr : scopes_.declaredAt(s.pattern.name.span)) {
    made->keyword = s.keyword;
    if (isVar && s.value) made->start = s.value->span;
  }
  if (s.value && leavesDeviceOpen(s)) context_.note(sourceText(*s.value)).variable = s.span;
}

Val Bindings::declaredValue(const ast::Stmt& s, Val value, std::shared_ptr<const Ty>* declared) {
  if (!s.type) return value;
  Generics g;
  g.unit = context_.frame().unit;
  g.locals = true;
  const std::string what = s.pattern.isTuple ? "the tuple" : "`" + s.pattern.name.text + "`";
  const Target who{what, s.value ? s.value->span : s.span, s.type->span, true};
  value = unifier_.unify(*s.type, value, g, who);
  if (!value.poison() && !dimSolver_.finishPending(g, who)) value = context_.lost();
  Ty type = types_.resolve(*s.type, g);
  // Dims that were bound are compile-time integers from here on.
  if (value.poison()) {
    // What could not be inferred causes no errors of its own.
    for (const Declaration* d : context_.frame().unit->resolution->dimsIn(s.type->span))
      g.bound.try_emplace(d->name, context_.lost());
  }
  scopes_.bindDims(s.type->span, g);
  if (!value.poison()) value = placing_.moveToPlaces(value, type, s.type->span);
  *declared = std::make_shared<Ty>(std::move(type));
  return value;
}

void Bindings::bindPattern(const ast::Pattern& p, Val value, bool isVar, std::shared_ptr<const Ty> declared,
                           const ast::Expr* written) {
  if (!p.isTuple) {
    if (p.name.text == "_") return;
    scopes_.declare(p.name, std::move(value), isVar, std::move(declared));
    return;
  }
  if (value.is(Val::Kind::Array)) value = tensors_.settle(std::move(value));
  const bool splits = value.is(Val::Kind::Tuple) || value.is(Val::Kind::List) || value.is(Val::Kind::Pack);
  if (!value.poison() && (!splits || value.elems.size() != p.elements.size())) {
    auto d =
        context_.error(Code::E0203, p.span,
                       "a pattern of " + std::to_string(p.elements.size()) + " names does not take " + describe(value));
    const auto pair =
        written != nullptr && p.elements.size() == 2 ? valuesAndIndices(context_, *written) : std::nullopt;
    if (pair) d.help(pair->text, pair->edits);
    const bool firstAlone = !pair && value.is(Val::Kind::Tensor) && p.elements.size() == 2 && written != nullptr &&
                            written->kind == ast::Expr::Kind::Call && !p.elements[0].isTuple &&
                            (p.elements[1].name.text == "_" || isUnread(context_, p.elements[1]));
    if (firstAlone) d.help("it gives one value, not a pair", {{p.span, p.elements[0].name.text}});
    const bool takesState = p.elements.size() == 2 && p.elements[1].isTuple;
    const auto state = pair || firstAlone ? std::nullopt : stateTaken(written, value, takesState);
    if (state) d.help(state->text);
    const auto parts =
        pair || firstAlone || state ? std::nullopt : takenApart(context_, written, value, p.elements.size());
    while (written != nullptr && written->kind == ast::Expr::Kind::Call) written = written->args[0].get();
    const Declaration* called = written ? context_.frame().unit->resolution->definition(written->span) : nullptr;
    if (called != nullptr && called->builtin != nullptr) {
      const auto known = syntax::familiarMisuse(called->builtin->name, syntax::FamiliarMisuse::Kind::TakenApart);
      if (!known.empty()) d.help(std::string(known));
    }
    if (parts) d.help(parts->text, parts->edits);
    value = d;
  }
  for (size_t i = 0; i < p.elements.size(); ++i) {
    bindPattern(p.elements[i], value.poison() ? context_.lost() : value.elems[i], isVar, nullptr);
  }
}

}  // namespace tenc::frontend
