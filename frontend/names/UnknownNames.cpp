// Names that are nowhere declared, and the names of code that is not compiled.
#include "frontend/names/UnknownNames.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "frontend/Context.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Declare.h"
#include "frontend/habits/GradientCuts.h"
#include "frontend/habits/Habits.h"
#include "frontend/habits/Idioms.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/ListArithmetic.h"
#include "frontend/habits/ListKinds.h"
#include "frontend/habits/LocalNames.h"
#include "frontend/habits/OptionalArguments.h"
#include "frontend/habits/OtherMeanings.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/ScriptVariables.h"
#include "frontend/habits/StartValues.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/habits/Translation.h"
#include "frontend/names/BehindBlocks.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Library.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Suggest.h"
#include "frontend/names/Unit.h"
#include "syntax/Familiar.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {

/// Whether the name at `span` is a subscript by itself.
bool isSubscript(const ast::File& file, Span span) {
  return expressionAround(file, span, [span](const ast::Expr& e) {
           return std::ranges::any_of(e.subscripts, [&](auto& s) { return s.index && s.index->span == span; });
         }) != nullptr;
}

/// The statement that assigns the name at `span` among several; null for none.
const ast::Stmt* assignedTogether(const ast::File& file, Span span) {
  const ast::Stmt* s = placeIn(file, span).statement;
  const bool several =
      s && s->kind == ast::Stmt::Kind::Assign && s->target && s->target->kind == ast::Expr::Kind::Tuple;
  return several && holds(s->target->span, span) ? s : nullptr;
}

/// Whether another statement before, of the same function, assigns the name.
bool isAssignedBefore(const ast::File& file, const ast::Stmt& place, const std::string& name) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (s.kind == ast::Stmt::Kind::Assign && s.op == "=" && s.span.end <= place.span.begin)
      found = found || assignedBy(s).contains(name);
  };
  visitAround(file, place.span, visitor);
  return found;
}

/// Whether a value in a function has the same type in all calls: its type has no dims, or the function, and what calls
/// it, is named once. `within`: how many functions were looked at, which ends with one that calls itself.
bool hasOneType(const ast::File& file, Span place, const ir::Type& type, size_t within = 0) {
  const ast::Stmt* fn = type.rank() > 0 ? functionAround(file, place) : nullptr;
  if (!fn || fn->kind != ast::Stmt::Kind::Fn || fn->params.empty()) return true;
  std::vector<Span> uses;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool names = e.kind == ast::Expr::Kind::Name || e.kind == ast::Expr::Kind::Member;
    if (names && e.text == fn->name.text) uses.push_back(e.span);
    return true;
  };
  visitor.visit(file);
  if (uses.empty()) return true;
  return uses.size() == 1 && within < file.statements.size() && hasOneType(file, uses[0], type, within + 1);
}

/// Whether the name is read anywhere but at `assigned`, where nothing declares it.
bool isRead(const Unit& unit, Span assigned, const std::string& name) {
  std::set<std::pair<uint32_t, uint32_t>> targets;
  bool found = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (s.kind != ast::Stmt::Kind::Assign || !s.target || s.op != "=") return;
    targets.insert({s.target->span.begin, s.target->span.end});
    if (s.target->kind != ast::Expr::Kind::Tuple) return;
    for (const ast::ExprPtr& part : s.target->args)
      if (part) targets.insert({part->span.begin, part->span.end});
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    found = found || (e.kind == ast::Expr::Kind::Name && e.text == name && e.span != assigned &&
                      !targets.contains({e.span.begin, e.span.end}) && !unit.resolution->definition(e.span));
    return true;
  };
  visitAround(*unit.file, assigned, visitor);
  return found;
}

/// The parameter whose default the name is; null for none.
const ast::FnParam* defaultedTo(const ast::File& file, Span span) {
  const ast::Stmt* fn = statementAround(file, span, {ast::Stmt::Kind::Fn});
  if (!fn) return nullptr;
  const auto p =
      std::ranges::find_if(fn->params, [&](const ast::FnParam& x) { return x.otherwise && x.otherwise->span == span; });
  return p == fn->params.end() ? nullptr : &*p;
}

/// Whether a member is taken of the name at `span`: `env.step`.
bool isReceiver(const ast::File& file, Span span) {
  const ast::Expr* member = expressionAround(file, span, ast::Expr::Kind::Member);
  return member && member->args[0]->span == span;
}

/// The statement that assigns what a call gives to the name at `target`; null for none.
const ast::Stmt* statementOf(const ast::File& file, Span target) {
  const ast::Stmt* s = placeIn(file, target).statement;
  return s && s->kind == ast::Stmt::Kind::Assign && s->op == "=" && s->value->kind == ast::Expr::Kind::Call ? s
                                                                                                            : nullptr;
}
}  // namespace

namespace {
/// What an earlier entry of a session bound and a function of this one does not see; null for none.
const SessionValue* sessionVariable(Context& context, std::string_view name) {
  const auto& values = context.options.values;
  const auto found =
      std::ranges::find_if(values, [&](const SessionValue& v) { return v.name == name && !v.isOld && v.span.valid(); });
  return found == values.end() ? nullptr : &*found;
}
}  // namespace

namespace {
/// Other variables of the script that the function around a use reads, at their first uses. They are told of there.
std::vector<std::pair<std::string, Span>> readWith(const Unit& unit, Span use, const std::string& name) {
  const ast::Stmt* fn = statementAround(*unit.file, use, {ast::Stmt::Kind::Fn});
  std::map<std::string, Span> first;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (e.kind != ast::Expr::Kind::Name || e.text == name || unit.resolution->definition(e.span)) return true;
    const ast::Stmt* variable = scriptVariable(unit.file, e.text);
    if (!variable || builtinRow(e.text)) return true;
    const auto [known, isNew] = first.emplace(e.text, e.span);
    if (!isNew && e.span.begin < known->second.begin) known->second = e.span;
    return true;
  };
  if (fn) visitor.visit(*fn);
  std::vector<std::pair<std::string, Span>> found(first.begin(), first.end());
  std::ranges::sort(found, {}, [](const auto& f) { return f.second.begin; });
  return found;
}

/// Whether a place is among the axes that `vmap` maps arguments over.
bool isMappedAxis(const ast::File& file, Span place) {
  const ast::Expr* call = expressionAround(file, place, [&](const ast::Expr& e) {
    if (e.kind != ast::Expr::Kind::Call) return false;
    const bool maps = e.args[0]->text == "vmap";
    return std::ranges::any_of(e.arguments, [&](const ast::Argument& a) {
      const bool axes = a.name ? a.name->text == "in_axes" : maps && &a != &e.arguments[0];
      return axes && a.value && holds(a.value->span, place);
    });
  });
  return call != nullptr;
}
}  // namespace

Val UnknownNames::unknownName(std::string_view name, Span span, const UnknownUse& use) {
  const auto [assigned, type, call] = use;
  if (scopes_.lostName(name) || context_.frame().undeclared.contains(name)) return context_.lost();
  if (const FnDecl* fn = context_.frame().fn) {
    for (const ast::Generic& g : fn->stmt->generics) {
      if (g.name.text != name) continue;
      return Val(context_.error(
          Code::E0204, span,
          "`" + g.name.text + "` of `" + fn->stmt->name.text + "` cannot be inferred from the arguments"));
    }
  }
  if (assigned) context_.frame().undeclared.emplace(name);
  auto d = context_.error(Code::E0102, span, "unknown name `" + std::string(name) + "`");
  auto ended = context_.frame().ended.find(std::string(name));
  if (ended != context_.frame().ended.end())
    d.note(ended->second.span, "`" + std::string(name) + "` was bound in a block that has ended");
  const syntax::Familiar* known = syntax::familiarName(name);
  const std::string near = assigned ? nearest(name, scopes_.visibleNames()) : "";
  const Binding* local = near.empty() ? nullptr : scopes_.named(near);
  const ast::File* file = fileOf(context_);
  // A name that is also read is probably not a misspelling: `var m = ...`, `mu = 2.0 * m`, `print(mu)`.
  const bool misspelt = local && local->isVar && !(file && assignedTogether(*file, span)) &&
                        !(file && isRead(*context_.frame().unit, span, std::string(name)));
  if (assigned && !misspelt) {
    const ast::Stmt* s = file ? statementOf(*file, span) : nullptr;
    Translation translation(context_, scopes_);
    const auto whole = s ? translation.call(*s->value) : std::nullopt;
    if (whole && !whole->text.empty() && whole->whole == s->span) {  // a device line
      d.help(whole->help, translation.edits(*whole));
    } else {
      offerBinding(d, std::string(name), span, type);
    }
  } else if (known && !known->inSubscript.empty() && isSubscript(*context_.frame().unit->file, span)) {
    d.help("a new dim is written `new`", {{span, std::string(known->inSubscript)}});
  } else if (known && !known->inAxes.empty() && file && isMappedAxis(*file, span)) {
    d.help("an argument that is not mapped has `" + std::string(known->inAxes) + "` for its axis",
           {{span, std::string(known->inAxes)}});
  } else if (const ast::Stmt* variable = scriptVariable(context_.frame().unit->file, name)) {
    if (!context_.frame().fn && variable->pattern.span.begin > span.begin) {
      d.note(variable->pattern.span, "it is bound only later, here");
      if (ended != context_.frame().ended.end()) offerBefore(d, std::string(name), span);
      return d;
    }
    d.note(variable->pattern.span, "bound by the script here; functions, tests and benches do not see its variables");
    if (auto other = bindsOtherwise(context_, *variable, span))
      d.help(other->text, other->edits);
    else if (const ast::Stmt* block =
                 statementAround(*context_.frame().unit->file, span, {ast::Stmt::Kind::Test, ast::Stmt::Kind::Bench}))
      d.help("bind it in the `" + std::string(block->kind == ast::Stmt::Kind::Test ? "test" : "bench") +
             "` too; what it may read is a `const` or a `param`");
    else
      offerArguments(d, std::string(name), span);
  } else if (const SessionValue* kept = sessionVariable(context_, name)) {
    d.note(kept->span, "bound by the session here; functions do not see its variables");
    d.help("pass it as an argument; what a function may read is a `const`");
  } else if (const ast::Expr* comparison = known && !known->compared.empty() ? comparisonAround(span) : nullptr) {
    d.help(std::string(known->help), {{comparison->span, std::string(known->compared)}});
  } else if (const ast::FnParam* optional =
                 known && known->name == "None" && file ? defaultedTo(*file, span) : nullptr) {
    d.help(optionalArgument(context_, *file, *optional));
  } else if (auto extreme = known && known->name == "None" ? extremeStart(context_, span) : std::nullopt) {
    d.help(extreme->text, extreme->edits);
  } else if (known && !call && !known->asDType.empty()) {
    // The floats of JAX are f32, unless it is told otherwise.
    const bool narrow = known->asDType == "f64" && file && isGivenToJax(*file, span);
    d.help(std::string(known->help), {{span, narrow ? "f32" : std::string(known->asDType)}});
  } else if (const ast::Stmt* nothing = known && known->nothing && !call ? wholeStatement(span) : nullptr) {
    d.help(std::string(known->help), {syntax::removed(context_.sources, nothing->span)});
  } else if ((!call || !habits_.offerRewrite(d, *call)) &&
             (ended == context_.frame().ended.end() || !offerBefore(d, std::string(name), span)) &&
             ((known && (!known->replacement.empty() || (call && known->ofBuiltin))) || !offerModule(d, name, span))) {
    const auto bound = file && !known ? boundSomewhere(*file, std::string(name)) : std::nullopt;
    const bool ofScript = bound && isOfScriptItself(*file, *bound);
    if (bound && !call && *bound != span && (!ofScript || functionAround(*file, span))) {
      const std::string quoted = "`" + std::string(name) + "`";
      d.note(*bound, quoted + (ofScript ? " is bound by the script here"
                                        : " is bound here, and ends with the part of the script that binds it"));
      d.help(ofScript
                 ? "functions see no variables of the script: pass " + quoted +
                       " as an argument; what a function may read is a `const` or a `param`"
                 : "a value is given back by the function, or kept in a variable that is declared before the block");
      return d;
    }
    std::vector<std::string> names = scopes_.visibleNames();
    if (file && isReceiver(*file, span))  // of which built-ins have no members
      std::erase_if(names, [](const std::string& n) { return builtinRow(n) != nullptr; });
    const bool unsure =
        file && !known && (bound || mayBeBound(context_.sources, *context_.frame().unit, std::string(name)));
    suggest(d, name, span, names, known, unsure ? Among::Unsure : Among::All);
  }
  return d;
}

namespace {
/// Whether the function around a use assigns to one of the names.
bool changesOneOf(const ast::File& file, Span use, const std::set<std::string, std::less<>>& names) {
  const ast::Stmt* fn = statementAround(file, use, {ast::Stmt::Kind::Fn});
  return fn && std::ranges::any_of(assignedBy(*fn), [&](const std::string& name) { return names.contains(name); });
}
}  // namespace

void UnknownNames::offerArguments(Diagnostics::Builder& d, const std::string& name, Span use) {
  context_.frame().undeclared.insert(name);
  std::string others;
  std::vector<std::string> names{name};
  for (const auto& [other, at] : readWith(*context_.frame().unit, use, name)) {
    const ast::Stmt* variable = scriptVariable(context_.frame().unit->file, other);
    if (context_.frame().undeclared.contains(other) || bindsOtherwise(context_, *variable, at)) continue;
    context_.frame().undeclared.insert(other);
    d.label(at, "of the script, too");
    others += ", `" + other + "`";
    names.push_back(other);
  }
  const ast::Stmt* fn = statementAround(*context_.frame().unit->file, use, {ast::Stmt::Kind::Fn});
  d.help(
      (others.empty() ? "pass it as an argument" : "pass `" + name + "`" + others + " as arguments") +
          (changesOneOf(*context_.frame().unit->file, use, context_.frame().undeclared) ? ", and give back what changes"
                                                                                        : "") +
          "; what a function may read is a `const` or a `param`",
      fn ? handedOver(context_.sources, *context_.frame().unit, *fn, names) : std::vector<Edit>());
}

namespace {
/// Whether a block binds the name anew, or assigns or changes what it holds.
bool changesIn(const ast::Block& block, const std::string& name) {
  bool changes = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    changes = changes || boundBy(s).contains(name) || assignedBy(s).contains(name) ||
              (s.kind == ast::Stmt::Kind::For && namesOf(s.pattern).contains(name));
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    const ast::Expr* changed = changedByCall(e);
    const ast::Expr* root = changed ? rootOf(*changed) : nullptr;
    changes = changes || (root && root->text == name);
    return true;
  };
  for (const auto& s : block.statements)
    if (s) visitor.visit(*s);
  return changes;
}
}  // namespace

/// A variable before the loop that keeps what its trips are called by, for what reads it behind the loop.
std::optional<Help> UnknownNames::leftByLoop(const ast::File& file, const ast::Stmt& loop, const ast::Stmt& block,
                                             const std::string& name, const ir::Type& type) const {
  const std::string now = name + "_";
  const ast::Pattern* bound = loop.pattern.isTuple ? nullptr : &loop.pattern;
  for (const ast::Pattern& p : loop.pattern.elements)
    if (!p.isTuple && p.name.text == name) bound = &p;
  const auto& body = loop.body.statements;
  if (!bound || body.empty() || !body[0] || timesNamed(file, now) > 0 || changesIn(loop.body, name))
    return std::nullopt;
  const Span first = body[0]->span;
  return Help{"a name ends with its loop: a variable before it keeps the last one",
              {syntax::lineBefore(context_.sources, block.span, "var " + name + " = " + startOf(type)),
               {bound->span.valid() ? bound->span : bound->name.span, now},
               {Span{first.file, first.begin, first.begin}, name + " = " + now + "; "}}};
}

bool UnknownNames::offerBefore(Diagnostics::Builder& d, const std::string& name, Span use) const {
  const Frame::Ended& ended = context_.frame().ended.find(name)->second;
  const ast::File* file = fileOf(context_);
  const ast::Stmt* binds = file && ended.span.file == use.file ? placeIn(*file, ended.span).statement : nullptr;
  if (!binds || ended.span.begin > use.begin) return false;
  const ast::Stmt* block = blockBefore(*file, *binds, use);
  const bool counts = binds->kind == ast::Stmt::Kind::For && binds->lo && binds->pattern.isTuple &&
                      binds->lo->kind == ast::Expr::Kind::Call && binds->lo->args[0]->text == "enumerate" &&
                      binds->pattern.elements[0].name.text == name;
  const std::optional<ir::Type> type = counts ? std::optional(ir::Type{ir::DType::I64, {}, {}}) : ended.type;
  const bool oneType = type && hasOneType(*file, use, *type);
  const bool loops = binds->kind == ast::Stmt::Kind::For && oneType;
  if (const auto trips = loops ? leftByLoop(*file, *binds, *block, name, *type) : std::nullopt) {
    d.help(trips->text, trips->edits);
    return true;
  }
  const std::string help = "a name ends with its block: declare `" + name + "` before it, and assign it there";
  const bool assigns = (binds->kind == ast::Stmt::Kind::Let || binds->kind == ast::Stmt::Kind::Var) && block != binds &&
                       !binds->type && binds->annotations.empty() && binds->keyword.valid() && oneType;
  if (!assigns || timesBound(*block, name) != 1) {
    d.help(help);
    return true;
  }
  std::vector<Edit> edits{
      syntax::lineBefore(context_.sources, block->span, "var " + name + " = " + startOf(*ended.type))};
  if (binds->pattern.isTuple) {  // its other names stay those of the block
    const std::string now = name + "_";
    edits.push_back({ended.span, now});
    edits.push_back({Span{use.file, binds->span.end, binds->span.end}, "; " + name + " = " + now});
  } else {
    edits.push_back({Span{use.file, binds->keyword.begin, binds->pattern.span.begin}, ""});
  }
  d.help(help, std::move(edits));
  return true;
}

bool UnknownNames::offerModule(Diagnostics::Builder& d, std::string_view name, Span span) const {
  const Unit* unit = context_.frame().unit;
  if (!unit || !unit->file || isReceiver(*unit->file, span)) return false;
  const std::string module = moduleWith(*unit, name);
  if (module.empty()) return false;
  if (assigns(*unit->file, name)) {  // a variable of Python, which is bound by that once it is read
    d.help("functions see no variables of the script: pass `" + std::string(name) +
           "` as an argument; what a function may read is a `const` or a `param`");
    return true;
  }
  std::vector<Edit> edits;
  if (!unit->modules.contains(module) && !unit->file->lost.contains(module)) {  // whose import may have an error
    if (scopes_.nameExists(module)) return false;
    edits.push_back(imported(*unit->file, context_.sources.file(unit->source), module));
  }
  const std::string path = module + "." + std::string(name);
  edits.push_back({span, path});
  d.help("it is in a module: `" + path + "`" + (edits.size() > 1 ? " after `import " + module + "`" : ""), edits);
  return true;
}

void UnknownNames::offerTogether(Diagnostics::Builder& d, const ast::File& file, const ast::Stmt& s) const {
  std::vector<Edit> edits{{Span{s.span.file, s.span.begin, s.span.begin}, "let "}};
  std::string assigned;
  const ast::Stmt* fn = functionAround(file, s.span);
  // `key, sub = jax.random.split(key)`: once it is a `let`, an edit of the call takes the statement away.
  const bool calls = s.value && s.value->kind == ast::Expr::Kind::Call;
  const auto call = calls ? Translation(context_, scopes_).call(*s.value) : std::nullopt;
  const bool stays = !call || (!call->text.empty() && call->whole == s.value->span);
  bool all = s.op == "=";
  for (const ast::ExprPtr& e : s.target->args) {
    all = all && e && e->kind == ast::Expr::Kind::Name;
    if (!all) break;
    const Binding* known = e->text == "_" || isOfLambda(file, *e) ? nullptr : scopes_.named(e->text);
    if (!known) {  // one that waits for its own declaration would be hidden
      all = !isAssignedBefore(file, s, e->text);
      if (isAssignedBehind(file, s.span, e->text) && !changesOtherwise(file, ast::Name{e->text, e->span}))
        edits[0].replacement = "var ";
      continue;
    }
    all = stays && known->span.file == s.span.file && (!fn || holds(fn->span, known->span)) &&
          !changesOtherwise(file, ast::Name{e->text, e->span});
    std::string now = e->text + "_";
    while (timesNamed(file, now) > 0 || scopes_.named(now)) now += "_";
    edits.push_back({e->span, now});
    assigned += "; " + e->text + " = " + now;
  }
  if (!all) {
    d.help("declare each variable before, with `var`");
  } else if (assigned.empty()) {
    d.help("bind new names with `let`, or with `var` if they are assigned again", std::move(edits));
  } else {
    edits.push_back({Span{s.span.file, s.span.end, s.span.end}, assigned});
    d.help("bind new names with `let`, and assign to variables that are there already", std::move(edits));
  }
}

void UnknownNames::offerBinding(Diagnostics::Builder& d, const std::string& name, Span span,
                                const ir::Type* type) const {
  const ast::File* file = fileOf(context_);
  if (const ast::Stmt* several = file ? assignedTogether(*file, span) : nullptr)
    return offerTogether(d, *file, *several);
  const auto use = file ? readBehindBlock(*context_.frame().unit, span, name) : std::nullopt;
  if (use) {
    const std::string help = "`" + name + "` is used after this block: declare it before the block, with `var " + name;
    const ast::Stmt* assigns = placeIn(*file, span).statement;
    if (type && assigns && hasOneType(*file, span, *type) &&
        !(type->rank() > 0 && changesOtherwise(*file, ast::Name{name, span}))) {
      const ast::Stmt* block = blockBefore(*file, *assigns, *use);
      const std::string line = "var " + name + " = " + startOf(*type);
      d.help(help + "`", {syntax::lineBefore(context_.sources, block->span, line)});
    } else if (!type && assigns && timesAssigned(*blockBefore(*file, *assigns, *use), name) == 1 &&
               !otherMeaning(*file, ast::Name{name, span}, pythonFlow(context_, *file))) {
      // Behind the block the name is unknown still, and there its type is known.
      d.help(help + " = ...`", {{Span{span.file, span.begin, span.begin}, "let "}});
    } else {
      d.help(help + " = ...`");
    }
    return;
  }
  const ast::Name bound{name, span};
  bool again = file && isAssignedBehind(*file, span, name);
  // Where an array may have another name, its type decides once it is known.
  if (again && (!type || type->rank() > 0))
    again = !changesOtherwise(*file, bound, type ? static_cast<int64_t>(type->rank()) : -1);
  else if (again)
    again = !seenByLambda(*file, bound);
  const std::string help = "bind a new name with `let`, or with `var` if it is assigned again";
  if (const auto other = file ? otherMeaning(*file, bound, pythonFlow(context_, *file)) : std::nullopt) {
    d.note(other->span, std::string(other->text));
    d.help(help);
    return;
  }
  std::vector<Edit> edits{{Span{span.file, span.begin, span.begin}, again ? "var " : "let "}};
  const ast::Stmt* s = file ? placeIn(*file, span).statement : nullptr;
  TreeVisitor lists;  // `[[0] * 4 for _ in range(3)]`
  lists.onExpression = [&](const ast::Expr& e) {
    const auto written = listsWritten(context_.sources, e);
    if (written) edits.push_back({e.span, *written});
    return !written;
  };
  if (s && s->kind == ast::Stmt::Kind::Assign && s->op == "=" && s->value) lists.visit(*s->value);
  d.help(help, std::move(edits));
}

void UnknownNames::offerRemoval(Diagnostics::Builder& d, Span part, const std::string& why) const {
  const ast::File* file = fileOf(context_);
  const ast::Stmt* s = file ? placeIn(*file, part).statement : nullptr;
  if (!s) return;
  d.help(why, {syntax::removed(context_.sources, s->span)});
}

const ast::Expr* UnknownNames::comparisonAround(Span name) const {
  const ast::File* file = context_.frame().unit->file;
  const ast::Expr* e = file ? expressionAround(*file, name, ast::Expr::Kind::Binary) : nullptr;
  return e && e->text == "==" ? e : nullptr;
}

const ast::Stmt* UnknownNames::wholeStatement(Span name) const {
  const ast::File* file = context_.frame().unit->file;
  const ast::Stmt* s = file ? placeIn(*file, name).statement : nullptr;
  return s && s->span == name ? s : nullptr;
}

void UnknownNames::checkNames(const ast::Block& block) {
  TreeVisitor visitor = checking();
  visitor.onExpression = [&](const ast::Expr& e) { return checkExpression(e, visitor); };
  visitor.visit(block);
}

void UnknownNames::checkNames(const ast::Stmt& fn) {
  // Of its own names nothing is known but that they are there: an edit must not take them for others.
  const Resolution& resolution = *context_.frame().unit->resolution;
  const auto bind = [&](const Declaration* d) {
    if (d == nullptr || !d->isLocal() || context_.frame().bound(d->span)) return;
    Binding unknown;
    unknown.span = d->span;
    context_.frame().bind(d->name, d->span, std::move(unknown));
  };
  for (const Declaration* d : resolution.signatureOf(fn)) bind(d);
  for (const Use& use : resolution.within(fn.span)) bind(use.declaration);
  // A type that is not known is told of where the parameter is: `fn f(n: N) = zeros([N])`.
  for (const ast::FnParam& p : fn.params) {
    if (p.type && p.type->path.size() == 1 && !resolution.definition(p.type->path[0].span))
      context_.frame().undeclared.emplace(p.type->path[0].text);
  }
  TreeVisitor visitor = checking();
  visitor.onExpression = [&](const ast::Expr& e) { return checkExpression(e, visitor); };
  visitor.visit(fn);
}

void UnknownNames::checkMarks(const ast::Stmt& fn) {
  for (const ast::Annotation& a : fn.annotations) {
    const bool named = a.kind == ast::Annotation::Kind::Place && !a.path.empty() && !a.number && !a.index;
    const Declaration* meant = named ? context_.frame().unit->resolution->definition(a.path[0].span) : nullptr;
    const std::string head = a.path.empty() ? "" : a.path[0].text;
    if (meant && meant->kind == Declaration::Kind::Functions) {  // `@f.defjvp`, and nobody may call what it marks
      const Help help = withoutMark(context_, a);
      context_.error(Code::E0304, a.span, "`" + head + "` is a function, and no device").help(help.text);
      continue;
    }
    if (!named || meant) continue;
    const syntax::Familiar* known = syntax::familiarName(head);
    if (!known || (a.path.size() > 1 ? !known->prefix : known->help.empty())) {
      if (a.path.size() > 1) unknownName(head, a.path[0].span);
      continue;
    }
    const Help help = withoutMark(context_, a);
    context_.error(Code::E0304, a.span, noMark(a))
        .help(a.path.size() > 1 ? help.text : std::string(known->help), help.edits);
  }
}

bool UnknownNames::meansSomething(const ast::Expr& name) const {
  return name.text == "_" || context_.frame().unit->resolution->definition(name.span) != nullptr;
}

TreeVisitor UnknownNames::checking() {
  TreeVisitor visitor;
  visitor.onStatement = [this](const ast::Stmt& s) {
    if (s.kind != ast::Stmt::Kind::Assign || s.op != "=" || !s.target) return;
    const auto report = [this](const ast::Expr& target) {
      const bool isName = target.kind == ast::Expr::Kind::Name;
      if (isName && !meansSomething(target)) unknownName(target.text, target.span, {.assigned = true});
    };
    report(*s.target);
    if (s.target->kind != ast::Expr::Kind::Tuple) return;
    for (const ast::ExprPtr& part : s.target->args) report(*part);
  };
  return visitor;
}

bool UnknownNames::checkExpression(const ast::Expr& e, const TreeVisitor& visitor) {
  using Kind = ast::Expr::Kind;
  const bool isCall = e.kind == Kind::Call;
  const ast::Expr& named = isCall ? *e.args[0] : e;
  const ast::Expr* root = &named;
  while (root->kind == Kind::Member) root = root->args[0].get();
  if (root->kind != Kind::Name || meansSomething(*root)) return true;
  if (named.kind == Kind::Member) {
    if (isCall && habits_.foreignCall(e)) return false;
    if (!habits_.foreignPrefix(named)) return true;
  } else {
    unknownName(named.text, named.span, {.call = isCall ? &e : nullptr});
  }
  for (const ast::Argument& a : e.arguments) {
    if (a.value) visitor.visit(*a.value);
    if (a.rangeEnd) visitor.visit(*a.rangeEnd);
  }
  return false;
}

}  // namespace tenc::frontend
