// Struct literals: type arguments, fields by name.
#include "frontend/expressions/StructLiterals.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/control/Flow.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/names/Suggest.h"
#include "frontend/types/Aliases.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Structs.h"
#include "frontend/types/Types.h"
#include "frontend/values/Evaluator.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using Kind = Val::Kind;
}  // namespace

/// The type arguments of `S[...] { ... }`.
Outcome StructLiterals::bindArguments(const ast::Expr& given, const StructDecl& decl, Generics& g) {
  std::vector<Val> arguments;
  for (size_t i = 0; i < given.subscripts.size(); ++i) {
    const ast::Subscript& s = given.subscripts[i];
    if (s.kind != ast::Subscript::Kind::Index || !s.index)
      return context_.error(Code::E0203, s.span, "expected a type argument");
    Val v = expressions_.eval(*s.index);
    if (v.poison()) return Outcome::dropped(v);
    if (v.is(Kind::Tensor)) {
      return context_.error(Code::E0111, s.span,
                            "a type argument must be known at compile time, but this is a run-time value");
    }
    if (v.is(Kind::Int)) v = Val::ofInt(v.integer, v.span);  // a dim, whatever it was computed from
    if (v.is(Kind::Float) || v.is(Kind::Bool) || v.is(Kind::String) || v.is(Kind::Format))
      return context_.error(Code::E0203, s.span,
                            "a type argument is a dim, a dtype, a device or a type, not " + describe(v));
    arguments.push_back(std::move(v));
  }
  const auto shares = structs_.shareArguments(decl, arguments.size(), given.span, [&](size_t i) {
    return arguments[i].is(Kind::Int) || arguments[i].is(Kind::Pack);
  });
  if (!shares) return Outcome::dropped(context_.lost());
  for (size_t i = 0; i < shares->size(); ++i) {
    const auto [first, last] = (*shares)[i];
    const ast::Generic& generic = decl.stmt->generics[i];
    if (first == last) continue;
    if (generic.pack) {
      std::vector<Val> dims(arguments.begin() + static_cast<std::ptrdiff_t>(first),
                            arguments.begin() + static_cast<std::ptrdiff_t>(last));
      const auto pack = evaluator_.constInts(Val::ofTuple(std::move(dims), given.span), "a shape pack");
      if (!pack) return Outcome::dropped(context_.lost());
      g.bound[generic.name.text] = Val::ofPack(*pack, given.span);
    } else {
      g.bound[generic.name.text] = arguments[first];
    }
  }
  return Outcome::lowered();
}

/// The fields in the order of their declarations; nothing after an error. `g`: what is known of their types.
std::optional<std::vector<Val>> StructLiterals::fieldsOf(const ast::Expr& e, const StructDecl& decl, Generics& g) {
  const auto& declared = decl.stmt->fields;
  const std::string& name = decl.stmt->name.text;
  std::vector<Val> fields(declared.size());
  std::vector<bool> seen(declared.size());
  bool ok = true;
  for (const ast::FieldInit& init : e.fields) {
    size_t i = 0;
    while (i < declared.size() && declared[i].name.text != init.name.text) ++i;
    if (i == declared.size()) {
      std::vector<std::string> names;
      for (const auto& f : declared) names.push_back(f.name.text);
      auto d = context_.error(Code::E0206, init.name.span, "`" + name + "` has no field `" + init.name.text + "`");
      if (std::string near = nearest(init.name.text, names); !near.empty()) {
        d.help("did you mean `" + near + "`?", {{init.name.span, near}});
      } else {
        d.help(fieldsText(names));
      }
      if (init.value) expressions_.eval(*init.value);
      ok = false;
      continue;
    }
    if (seen[i]) {
      context_.fail(Code::E0103, init.name.span, "the field `" + init.name.text + "` is given twice");
      ok = false;
      continue;
    }
    seen[i] = true;
    Ty hint;
    if (declared[i].type) hint = types_.resolve(*declared[i].type, g);
    fields[i] = init.value ? expressions_.eval(*init.value, &hint) : context_.lost();
    ok = ok && !fields[i].poison();
  }
  for (size_t i = 0; ok && i < declared.size(); ++i) {
    if (seen[i]) continue;
    context_.fail(Code::E0204, e.span, "the field `" + declared[i].name.text + "` of `" + name + "` is missing");
    ok = false;
  }
  return ok ? std::optional(std::move(fields)) : std::nullopt;
}

Val StructLiterals::evalStruct(const ast::Expr& e, const Ty* expected) {
  const ast::Expr* callee = e.args[0].get();
  const ast::Expr* given = nullptr;
  if (callee->kind == ExprKind::Index) {
    given = callee;
    callee = callee->args[0].get();
  }
  Val type = expressions_.eval(*callee);
  if (type.poison()) return type;
  if (given && callee->kind == ExprKind::Name) {
    if (Val alias = aliases_.aliasWith(*given, *callee); !alias.is(Kind::Unit)) {
      if (alias.poison()) return alias;
      type = alias;
      given = nullptr;
    }
  }
  if (!type.is(Kind::Type) || type.type->kind != Ty::Kind::Struct || !type.type->info) {
    return context_.fail(Code::E0203, callee->span, "expected a struct before `{`, not " + describe(type));
  }
  const StructDecl& decl = *type.type->info->decl;
  Generics g = structGenerics(decl);
  for (const auto& [generic, arg] : type.type->info->args) g.bound[generic] = arg;  // an alias gives them
  if (given && bindArguments(*given, decl, g).isDropped()) return context_.lost();
  const bool known = expected && expected->kind == Ty::Kind::Struct && expected->info && expected->info->decl == &decl;
  if (known) {
    for (const auto& [generic, arg] : expected->info->args) {
      if (arg.is(Kind::DType)) g.bound.emplace(generic, arg);
    }
  }
  Generics hints;  // what is declared tells the types of fields too, but does not fix them
  if (known) {
    hints = g;
    for (const auto& [generic, arg] : expected->info->args) hints.bound.emplace(generic, arg);
  }
  std::optional<std::vector<Val>> fields = fieldsOf(e, decl, known ? hints : g);
  if (!fields) return context_.lost();
  return structs_.makeStruct(decl, g, std::move(*fields), e.span, known ? expected->info.get() : nullptr);
}

}  // namespace tenc::frontend
