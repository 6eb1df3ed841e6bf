// Assignments as functional updates of variables.
#include "frontend/control/Assignments.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/BuiltinNames.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/expressions/Indexing.h"
#include "frontend/expressions/Operands.h"
#include "frontend/expressions/Operators.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/AssignedProperty.h"
#include "frontend/habits/Declare.h"
#include "frontend/habits/FieldByKey.h"
#include "frontend/habits/Idioms.h"
#include "frontend/habits/LocalNames.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/TakenApart.h"
#include "frontend/habits/UntrainedTensors.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Names.h"
#include "frontend/names/Resolve.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Suggest.h"
#include "frontend/names/Unit.h"
#include "frontend/names/UnknownNames.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Unifier.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "support/Quote.h"
#include "syntax/Familiar.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;

/// Whether `value` has the type of `old` as it is. Parts that are the very same are not looked into.
bool hasTypeOf(const Val& old, const Val& value) {
  if (old.kind != value.kind || old.elems.size() != value.elems.size()) return false;
  if (old.is(Val::Kind::Tensor)) return old.tensor->type.sameTensor(value.tensor->type);
  if (!old.isTree()) return old.isIdentical(value);
  if (old.is(Val::Kind::Struct) && (old.info->decl != value.info->decl || old.info->text != value.info->text))
    return false;
  if (old.elems.areThoseOf(value.elems)) return true;
  for (size_t i = 0; i < old.elems.size(); ++i)
    if (!hasTypeOf(old.elems[i], value.elems[i])) return false;
  return true;
}

bool holdsScalar(const Val& v) {
  std::vector<ir::Value*> leaves;
  leavesOf(v, leaves);
  return std::any_of(leaves.begin(), leaves.end(), [](const ir::Value* leaf) { return leaf->type.rank() == 0; });
}
}  // namespace

Outcome Assignments::lowerAssign(const ast::Stmt& s) {
  if (!s.target || !s.value) return Outcome::dropped(context_.lost());
  context_.noteAssignment(s);
  Ty hint;
  bool hinted = false;
  const ast::Expr* whole = s.target.get();
  while (whole->kind == ExprKind::Index) whole = whole->args[0].get();
  if (whole->kind == ExprKind::Name) {
    if (Binding* binding = scopes_.find(whole->span); binding && !binding->value.poison()) {
      hint = typeOf(binding->value);
      // A shape that differs is reported against the variable, not against what makes the value.
      if (hint.isTensor()) hint.dims = std::nullopt;
      hinted = whole == s.target.get() || hint.isTensor();
    }
  }
  const bool compound = s.op != "=" && s.target->kind != ExprKind::Tuple;
  const ast::Expr* root = nullptr;
  std::optional<Place> place;
  std::optional<Outcome> refused;
  if (compound) {
    const Outcome variable = variableOf(*s.target, false, root);
    if (variable.isDropped() || !root) refused = variable;
    if (!refused) {
      place = placeOf(*s.target, *root, true);
      if (!place) refused = Outcome::dropped(context_.lost());
    }
  }
  Val value = expressions_.eval(*s.value, hinted ? &hint : nullptr);
  if (value.is(Val::Kind::Unit)) value = context_.fail(Code::E0203, s.value->span, "this has no value to assign");
  if (const ast::File* file = fileOf(context_); file && freezes(*file, s)) {
    auto d = context_.error(Code::E0206, s.target->opSpan, "no value has `" + s.target->text + "`");
    d.help(std::string(kFrozenHelp));
    return d;
  }
  if (refused) return *refused;
  if (hinted && s.op == "=" && isRounded(s, hint, value)) return Outcome::dropped(context_.lost());
  if (compound) warnEmpty(s, value);
  return compound ? store(*place, *s.target, value, s) : assignTo(*s.target, value, s);
}

/// Reports an integer that a variable of floats does not hold as it is: `best = 123456789` behind `var best = 1e9`.
bool Assignments::isRounded(const ast::Stmt& s, const Ty& variable, const Val& value) {
  if (!variable.isTensor() || !variable.dtype || !value.is(Val::Kind::Int)) return false;
  const auto exact = [&](auto as) {
    const auto held = static_cast<decltype(as)>(value.integer);
    return static_cast<Int>(held) == value.integer;
  };
  const bool isWide = *variable.dtype == ir::DType::F64;
  if ((*variable.dtype != ir::DType::F32 && !isWide) || (isWide ? exact(double()) : exact(float()))) return false;
  const std::string dtype(ir::name(*variable.dtype));
  context_
      .error(Code::E0212, s.value->span,
             toString(value.integer) + " is rounded in " + dtype + ", which the variable keeps")
      .help("a variable of integers starts with an integer; `" + dtype + "(...)` says that rounding is meant");
  return true;
}

/// `losses += [x]` of an empty tensor, as a list of Python grows: elements are added, and there are none.
void Assignments::warnEmpty(const ast::Stmt& s, const Val& value) {
  if (s.op != "+=" || s.target->kind != ExprKind::Name) return;
  const Binding* binding = scopes_.find(s.target->span);
  if (!binding || !binding->value.is(Val::Kind::Tensor)) return;
  const ir::Dims& shape = binding->value.tensor->type.shape;
  const auto size = value.is(Val::Kind::Array)    ? std::optional(value.elems.size())
                    : value.is(Val::Kind::Tensor) ? std::optional(static_cast<size_t>(value.tensor->type.size()))
                                                  : std::nullopt;
  if (shape != ir::Dims{0} || size != 1) return;
  const std::string& name = s.target->text;
  context_
      .warning(Code::W0104, s.target->span,
               "`" + name + "` is empty, and stays so: `+=` adds elements, it does not append")
      .help("make a tensor of the final size, and assign each part: `" + name + "[i] = x`");
}

Outcome Assignments::assignTo(const ast::Expr& target, const Val& value, const ast::Stmt& s) {
  if (target.kind == ExprKind::Tuple) {
    Val v = tensors_.settle(value);
    const bool splits = v.is(Val::Kind::Tuple) || v.is(Val::Kind::List);
    if (!v.poison() && s.op != "=") {
      v = Val(context_.error(Code::E0203, s.opSpan, "a tuple of variables takes `=`, not `" + s.op + "`")
                  .help("update one variable at a time"));
    }
    if (!v.poison() && (!splits || v.elems.size() != target.args.size())) {
      auto d = context_.error(
          Code::E0203, s.span,
          "a tuple of " + std::to_string(target.args.size()) + " variables does not take " + describe(v));
      const bool takesState = target.args.size() == 2 && target.args[1]->kind == ast::Expr::Kind::Tuple;
      if (const auto state = stateTaken(s.value.get(), v, takesState))
        d.help(state->text);
      else if (const auto parts = takenApart(context_, s.value.get(), v, target.args.size()))
        d.help(parts->text, parts->edits);
      v = Val(d);
    }
    if (s.op == "=" && refuseBuiltins(target)) return Outcome::dropped(context_.lost());
    Outcome all = Outcome::lowered();
    for (size_t i = 0; i < target.args.size(); ++i) {
      const ast::Expr& part = *target.args[i];
      if (part.kind == ExprKind::Name && part.text == "_") continue;
      const Outcome one = assignTo(part, v.poison() ? context_.lost() : v.elems[i], s);
      if (one.isDropped()) all = one;
    }
    return all;
  }
  const ast::Expr* root = nullptr;
  const Outcome variable = variableOf(target, s.op == "=", root, value);
  if (variable.isDropped() || !root) return variable;
  if (value.poison()) {  // keeps its old value: one error is enough
    if (s.op == "=" && root == &target) context_.frame().unsettled.insert(root->text);
    return Outcome::dropped(context_.lost());
  }
  const std::optional<Place> place = placeOf(target, *root, false);
  return place ? store(*place, target, value, s) : Outcome::dropped(context_.lost());
}

Diagnostics::Builder Assignments::notVariable(const ast::Expr& name) {
  return context_.error(Code::E0107, name.span, "`" + name.text + "` cannot be assigned: it is not a `var`");
}

/// Whether a name means a function or a constant of the language, and nothing that the script or a module declares.
bool Assignments::isBuiltIn(const ast::Expr& name) const {
  const Declaration* d = context_.frame().unit->resolution->definition(name.span);
  if (!d) return false;
  return d->kind == Declaration::Kind::Builtin ||
         (d->kind == Declaration::Kind::Language && builtinConstant(name.text, name.span));
}

/// Reports `(mean, std) = ...` where no part is a variable, and some are built-in functions: all are new names.
bool Assignments::refuseBuiltins(const ast::Expr& target) {
  const ast::Expr* builtin = nullptr;
  for (const ast::ExprPtr& part : target.args) {
    if (part->kind != ExprKind::Name || scopes_.find(part->span)) return false;
    if (!names_.lookup(part->span)) continue;
    if (!isBuiltIn(*part)) return false;
    if (builtin == nullptr) builtin = part.get();
  }
  if (builtin == nullptr) return false;
  auto d = notVariable(*builtin);
  for (const ast::ExprPtr& part : target.args) context_.frame().undeclared.emplace(part->text);
  unknownNames_.offerBinding(d, builtin->text, target.span);
  return true;
}

/// What an earlier entry of a session bound the name to; where that is long, the name.
std::string Assignments::asWritten(const Binding& binding, const std::string& name) const {
  return binding.start.valid() && isQuotable(context_.sources, binding.start) ? excerpt(context_.sources, binding.start)
                                                                              : name;
}

Outcome Assignments::variableOf(const ast::Expr& target, bool plain, const ast::Expr*& root, const Val& value) {
  const ast::Expr* found = rootOf(target);
  if (!found) {
    // The parser has reported what is no place at all.
    if (!context_.diags.ok()) return Outcome::dropped(context_.lost());
    return context_.error(Code::E0107, target.span, "only variables, their fields and their elements can be assigned");
  }
  if (found->text == "_") return Outcome::lowered();
  const Binding* binding = scopes_.find(found->span);
  if (!binding) {
    auto global = names_.lookup(found->span);
    if (!global) {
      const bool made = value.isNumber() || value.is(Val::Kind::Bool) || value.is(Val::Kind::Array);
      const Val settled = made ? tensors_.materialise(value) : value;
      const ir::Type* type = settled.is(Val::Kind::Tensor) ? &settled.tensor->type : nullptr;
      return Outcome::dropped(
          unknownNames_.unknownName(found->text, found->span, {.assigned = found == &target && plain, .type = type}));
    }
    if (global->poison()) return Outcome::dropped(*global);  // what a statement with an error would have declared
    const bool builtIn = isBuiltIn(*found), isWhole = found == &target && plain;
    const ast::Stmt* variable = scriptVariable(context_.frame().unit->file, found->text);
    if (variable && !(builtIn && isWhole))
      return context_
          .error(Code::E0107, found->span,
                 "functions do not see the variables of the script, such as `" + found->text + "`")
          .note(variable->pattern.span, "bound by the script here")
          .help("take it as an argument, and give the new value back: `" + found->text + " = f(" + found->text + ")`");
    auto d = notVariable(*found);
    if (builtIn && isWhole) {
      unknownNames_.offerBinding(d, found->text, found->span);
      context_.frame().undeclared.emplace(found->text);
    }
    if (!builtIn && global->is(Val::Kind::Function)) d.help("it is a function: bind what it gives to another name");
    return d;
  }
  if (!binding->isVar) {
    const bool captured = !binding->span.valid();
    auto d = context_.error(Code::E0107, target.span,
                            captured ? "a lambda cannot assign to `" + found->text + "`, which is bound outside of it"
                                     : "`" + found->text + "` cannot be assigned: it is not a `var`");
    if (!captured) {
      d.note(binding->span, "`" + found->text + "` is bound here");
      if (const auto other = aliasOf(*binding, *found))
        d.help(aliasHelp(found->text, *other));
      else if (const auto meaning = otherIn(*binding, *found))
        d.note(meaning->span, std::string(meaning->text)).help("bind it with `var` if that is meant");
      else if (const Span keyword = keywordOf(*binding); keyword.valid())
        d.help("a name that is assigned again is bound with `var`", {{keyword, "var"}});
      else if (const auto edit = found == &target || binding->value.is(Val::Kind::Tensor) ? asVariable(*binding, *found)
                                                                                          : std::nullopt)
        d.help("a parameter is a value: a variable of its name can be assigned", {*edit});
      else if (const auto bound = loopVariable(*binding, *found))
        d.help(bound->text, bound->edits);
      else if (found != &target && context_.frame().fn)
        d.help("an argument is a value, which a function changes for itself alone: `var " + found->text + " = " +
               asWritten(*binding, found->text) + "`, give it back, and assign it where the function is called");
      else
        d.help("bind it as a variable: `var " + found->text + " = " + asWritten(*binding, found->text) + "`");
    } else if (const ast::File* file = fileOf(context_); plain && file && isOfLambda(*file, *found)) {
      unknownNames_.offerBinding(d, found->text, found->span);
    } else {
      d.help("give the new value back, and assign it where `" + found->text + "` is bound");
    }
    return d;
  }
  if (binding->value.poison()) return Outcome::dropped(binding->value);
  root = found;
  return Outcome::lowered();
}

std::optional<std::string> Assignments::aliasOf(const Binding& binding, const ast::Expr& name) const {
  const ast::File* file = context_.frame().unit->file;
  if (!holdsArray(binding.value) || !file || binding.span.file != file->source) return std::nullopt;
  return aliasRead(*file, ast::Name{name.text, binding.span});
}

std::optional<OtherMeaning> Assignments::otherIn(const Binding& binding, const ast::Expr& name) const {
  const ast::File* file = context_.frame().unit->file;
  if (!file || binding.span.file != file->source) return std::nullopt;
  const ast::Name bound{name.text, binding.span};
  const Val& v = binding.value;
  int64_t rank = v.poison() ? -1 : 1;  // a list holds others
  if (v.is(Val::Kind::Tensor)) rank = static_cast<int64_t>(v.tensor->type.rank());
  // In the script itself, which runs once: a function may be called with arrays elsewhere.
  const auto isNumber = [&](const ast::Expr& e) {
    const Binding* index = context_.frame().fn || e.kind != ast::Expr::Kind::Name ? nullptr : scopes_.find(e.span);
    if (!index) return false;
    const Val& i = index->value;
    return i.is(Val::Kind::Int) || (i.is(Val::Kind::Tensor) && i.tensor->type.shape.empty());
  };
  if (auto meaning = repeatedUpdate(*file, bound, isNumber)) return meaning;
  if (auto meaning = swappedViews(*file, bound, rank)) return meaning;
  if (auto meaning = changedWhileWalked(*file, bound)) return meaning;
  return seenByLambda(*file, bound);
}

Span Assignments::keywordOf(const Binding& binding) const {
  if (binding.keyword.valid()) return binding.keyword;
  const ast::File* file = context_.frame().unit->file;
  const ast::Stmt* s = file && binding.span.file == file->source ? placeIn(*file, binding.span).statement : nullptr;
  const bool binds = s && s->kind == ast::Stmt::Kind::Let && s->pattern.isTuple &&
                     s->pattern.span.begin <= binding.span.begin && binding.span.end <= s->pattern.span.end;
  return binds ? s->keyword : Span();
}

std::optional<Help> Assignments::loopVariable(const Binding& binding, const ast::Expr& name) {
  const ast::File* file = context_.frame().unit->file;
  if (!file || binding.span.file != file->source) return std::nullopt;
  const ast::Stmt* loop = statementAround(*file, binding.span, {ast::Stmt::Kind::For});
  const bool binds =
      loop && loop->pattern.span.begin <= binding.span.begin && binding.span.end <= loop->pattern.span.end;
  if (!binds || loop->body.statements.empty() || !loop->body.statements[0]) return std::nullopt;
  // Once, and not at each of its assignments.
  if (!context_.frame().undeclared.insert("var " + name.text).second) return std::nullopt;
  const StatementPlace at = placeIn(*file, name.span);
  size_t times = 0;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    std::set<std::string> names;
    if (s.kind == ast::Stmt::Kind::Assign) assignedNames(s, names);
    times += names.contains(name.text) ? 1 : 0;
  };
  visitor.visit(*loop);
  const ast::Stmt& s = *at.statement;
  if (times == 1 && at.among == &loop->body.statements && s.op == "=" && s.target->span == name.span)
    return Help{"the variable of a loop is a value: bind the name anew",
                {{Span{s.span.file, s.span.begin, s.span.begin}, "let "}}};
  return Help{
      "the variable of a loop is a value: a variable of its name can be assigned",
      {syntax::lineBefore(context_.sources, loop->body.statements[0]->span, "var " + name.text + " = " + name.text)}};
}

std::optional<Edit> Assignments::asVariable(const Binding& binding, const ast::Expr& name) const {
  const FnDecl* fn = context_.frame().fn;
  const ast::File* file = fileOf(context_);
  if (const auto edit = file && binding.span.file == file->source
                            ? lambdaVariable(context_.sources, *file, binding.span, name)
                            : std::nullopt) {
    const bool first = context_.frame().undeclared.insert("var " + name.text).second;
    return first ? edit : std::nullopt;
  }
  if (!fn || context_.sources.file(fn->stmt->span.file).isLibrary) return std::nullopt;
  for (const ast::FnParam& p : fn->stmt->params) {
    // Once, and not at each of its assignments.
    if (p.name.span == binding.span && context_.frame().undeclared.insert("var " + name.text).second)
      return parameterAsVariable(*fn->stmt, context_.sources.file(fn->stmt->span.file), p.name);
  }
  return std::nullopt;
}

std::optional<Assignments::Access> Assignments::accessOf(const Val& now, const ast::Expr& access) {
  Access a;
  a.span = access.span;
  if (access.kind == ExprKind::Member) {
    a.element = now.elems.size();
    if (now.is(Val::Kind::Struct)) {
      const auto& fields = now.info->decl->stmt->fields;
      for (size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].name.text == access.text) a.element = i;
      }
    } else if (now.is(Val::Kind::Tuple) && !access.text.empty() &&
               std::isdigit(static_cast<unsigned char>(access.text[0]))) {
      a.element = static_cast<size_t>(std::stoul(access.text));
    }
    if (a.element < now.elems.size()) return a;
    auto d = context_.error(Code::E0206, access.opSpan, describe(now) + " has no field `" + access.text + "`");
    const syntax::Familiar* known = syntax::familiarName(access.text);
    const ast::File* file = fileOf(context_);
    if (known && known->nothing && file && untrainedTensor(*file)) {
      d.help(std::string(known->help));
    } else if (known && known->nothing) {
      unknownNames_.offerRemoval(d, access.span, std::string(known->help));
    } else if (now.is(Val::Kind::Struct)) {
      std::vector<std::string> names;
      for (const ast::Field& f : now.info->decl->stmt->fields) names.push_back(f.name.text);
      if (const auto weight = assignedWeight(context_, now, access))
        d.help(weight->text, weight->edits);
      else if (const std::string shorter = shortened(access.text, names); !shorter.empty())
        d.help("did you mean `" + shorter + "`?", {{access.opSpan, shorter}});
      else if (nearest(access.text, names).empty())
        d.help(fieldsText(names));
      else
        suggest(d, access.text, access.opSpan, names, nullptr, Among::Few);
    } else if (now.is(Val::Kind::Tensor)) {
      if (const auto property = assignedProperty(context_, scopes_, now, access))
        d.help(property->text, property->edits);
    }
    return std::nullopt;
  }
  if (now.is(Val::Kind::List) || now.is(Val::Kind::Tuple)) {
    const auto index = indexing_.listIndex(now, access, {});
    if (!index) return std::nullopt;
    a.element = *index;
    return a;
  }
  if (!now.is(Val::Kind::Tensor)) {
    auto d = context_.error(Code::E0203, access.span, describe(now) + " has no elements to assign");
    if (const auto field = fieldByKey(now, access)) d.help(field->text, field->edits);
    return std::nullopt;
  }
  a.index = indexing_.readIndex(now, access);
  if (!a.index) return std::nullopt;
  return a;
}

std::optional<Assignments::Place> Assignments::placeOf(const ast::Expr& target, const ast::Expr& root, bool reads) {
  std::vector<const ast::Expr*> written;
  for (const ast::Expr* e = &target; e != &root; e = e->args[0].get()) written.insert(written.begin(), e);
  Place place;
  place.root = &root;
  // Where the value may leave, the variable was read before.
  const Evaluated* known = reads ? context_.body.evaluated : nullptr;
  const auto before = known ? known->find(&root) : Evaluated::const_iterator();
  place.variable = known && before != known->end() ? before->second : scopes_.find(root.span)->value;
  Val now = place.variable;
  for (const ast::Expr* access : written) {
    std::optional<Access> a = accessOf(now, *access);
    if (!a) return std::nullopt;
    // The part itself is of use where more accesses follow; updates of tensors read theirs.
    if (!a->index) {
      now = Val(now.elems[a->element]);
    } else if (access != &target) {
      now = indexing_.part(now, *a->index);
    }
    if (now.poison()) return std::nullopt;
    place.path.push_back(std::move(*a));
  }
  if (reads) place.part = now;
  return place;
}

Outcome Assignments::store(const Place& place, const ast::Expr& target, const Val& value, const ast::Stmt& s) {
  Binding* binding = scopes_.find(place.root->span);
  if (!binding || binding->value.poison() || value.poison()) return Outcome::dropped(context_.lost());
  Val next = replaced(binding->value, place.variable, place, 0, target, value, s);
  if (next.poison()) return Outcome::dropped(next);  // keeps its old value: one error is enough
  // A part of what a call gave may be written there, where no edit belongs.
  const Span whole = s.value->span;
  const bool isHere = value.span.file == whole.file && whole.begin <= value.span.begin && value.span.end <= whole.end;
  setVar(*binding, place.root->text, std::move(next), s.span, s.op == "=" && isHere ? value.span : Span{});
  return Outcome::lowered();
}

Val Assignments::replaced(const Val& now, const Val& before, const Place& place, size_t k, const ast::Expr& target,
                          const Val& value, const ast::Stmt& s) {
  if (now.poison()) return now;
  if (k == place.path.size()) {
    if (s.op == "=") {
      if (place.path.empty()) return value;
      return unifier_.fit(
          typeOf(now), value,
          {"`" + std::string(context_.sources.text(target.span)) + "`", s.value->span, target.span, true});
    }
    Val left = place.part;
    left.span = target.span;
    const Binding* var = scopes_.find(place.root->span);
    if (changesDType(context_, left, value, s.op, s.opSpan, place.path.empty() && var ? var->span : Span{}))
      return context_.lost();
    return operators_.binary(std::string_view(s.op).substr(0, s.op.size() - 1), left, value, s.span, s.opSpan);
  }
  const Access& access = place.path[k];
  if (!access.index) {
    // A variable of an unrolled loop may have changed its kind meanwhile.
    if (access.element >= now.elems.size() || access.element >= before.elems.size()) {
      return context_.fail(Code::E0203, s.span, "the value of this assignment gives the variable another type");
    }
    Val r = now;
    r.elems.edit()[access.element] =
        replaced(now.elems[access.element], before.elems[access.element], place, k + 1, target, value, s);
    if (r.elems[access.element].poison()) return context_.lost();
    // A free number takes the place of what is assigned to it, which may be another than that of its neighbours.
    if (holdsScalar(value)) {
      if (r.is(Val::Kind::Struct))
        placing_.checkOnePlace(r, "the fields of `" + r.info->decl->stmt->name.text + "`", s.span);
      if (r.is(Val::Kind::List)) placing_.checkOnePlace(r, "the values of a list", s.span);
    }
    return r;
  }
  if (!now.is(Val::Kind::Tensor) || !before.is(Val::Kind::Tensor)) {
    return context_.fail(Code::E0203, s.span, "the value of this assignment gives the variable another type");
  }
  if (k + 1 == place.path.size()) return indexing_.withPart(now, before, *access.index, value, s.op, s.span);
  const Val held = indexing_.part(now, *access.index);
  const Val heldBefore = before.tensor == now.tensor ? held : indexing_.part(before, *access.index);
  Val inner = replaced(held, heldBefore, place, k + 1, target, value, s);
  return inner.poison() ? context_.lost() : indexing_.withPart(now, now, *access.index, inner, "=", s.span);
}

void Assignments::setVar(Binding& binding, const std::string& name, Val value, Span span, Span written) {
  const Val old = binding.value;
  bool mayChange = context_.body.staticLoops > 0 && binding.regionDepth == context_.body.regionDepth;
  if (mayChange) {
    Ty like = typeOf(old);
    value = tensors_.materialise(value, &like);
    // A written dtype stays.
    const bool tensors = old.is(Val::Kind::Tensor) && value.is(Val::Kind::Tensor);
    mayChange = !binding.declared || (tensors && old.tensor->type.dtype == value.tensor->type.dtype);
  }
  if (!mayChange && !hasTypeOf(old, value)) {
    Target who{"`" + name + "`", span, binding.span, true};
    who.inRegion = context_.body.regionDepth > binding.regionDepth;
    value = unifier_.fit(typeOf(old), value, who);
  }
  if (value.poison()) {
    context_.frame().unsettled.insert(name);
    return;
  }
  context_.at(span, {{written, ""}, {binding.start, ""}});
  binding.value = placing_.placedAs(value, old, name, binding.declared.get());
}

}  // namespace tenc::frontend
