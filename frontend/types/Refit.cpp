// Structs whose leaves are rows of what they were, or a batch of it.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "frontend/names/Names.h"
#include "frontend/types/Aliases.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Structs.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {
using Args = std::map<std::string, Val, std::less<>>;

bool sameArgument(const Val& a, const Val& b) {
  if (a.kind != b.kind || a.elems.size() != b.elems.size() || a.integer != b.integer) return false;
  for (size_t i = 0; i < a.elems.size(); ++i) {
    if (a.elems[i].integer != b.elems[i].integer) return false;
  }
  return true;
}

bool bindArgument(const std::string& name, Val v, Args& args) {
  const auto [it, fresh] = args.try_emplace(name, v);
  return fresh || sameArgument(it->second, v);
}

/// Whether a field written `t` may hold a tensor of `shape`; binds the dims and the pack in it. Shapes with arithmetic
/// are left to where the struct is made.
bool bindShape(const ast::TypeExpr& t, const ir::Dims& shape, Args& args) {
  using TypeKind = ast::TypeExpr::Kind;
  size_t at = 0;
  for (size_t i = 0; i < t.args.size(); ++i) {
    const ast::TypeExpr& a = *t.args[i];
    const size_t behind = t.args.size() - i - 1;
    if (a.kind == TypeKind::Pack) {
      if (shape.size() < at + behind) return false;
      const size_t end = shape.size() - behind;
      if (!bindArgument(a.path[0].text, Val::ofPack(ir::Dims(shape.begin() + at, shape.begin() + end)), args))
        return false;
      at = end;
      continue;
    }
    if (at >= shape.size()) return false;
    if (a.kind == TypeKind::Int) {
      if (a.integer != shape[at]) return false;
    } else if (a.kind != TypeKind::Path || a.path.size() != 1 || a.hasArgs ||
               !bindArgument(a.path[0].text, Val::ofInt(shape[at]), args)) {
      return false;
    }
    ++at;
  }
  return at == shape.size();
}

/// The same for a field that is a struct with arguments of its own.
bool bindArguments(const ast::TypeExpr& t, const StructInfo& info, Args& args) {
  using TypeKind = ast::TypeExpr::Kind;
  if (t.args.size() != info.args.size()) return false;
  for (size_t i = 0; i < t.args.size(); ++i) {
    const ast::TypeExpr& a = *t.args[i];
    const bool plain = a.kind == TypeKind::Pack || (a.kind == TypeKind::Path && a.path.size() == 1 && !a.hasArgs);
    const Val& given = info.args[i].second;
    if (!plain) return false;
    if ((given.is(Val::Kind::Int) || given.is(Val::Kind::Pack)) && !bindArgument(a.path[0].text, given, args))
      return false;
  }
  return true;
}
}  // namespace

std::optional<Structs::Misfit> Structs::misfit(const Val& v) {
  const bool isDeclared = v.is(Val::Kind::Struct) && v.info && v.info->decl;
  for (size_t i = 0; i < v.elems.size(); ++i) {
    const Val& e = v.elems[i];
    const std::string part = isDeclared ? "." + v.info->decl->stmt->fields[i].name.text : "." + std::to_string(i);
    const ast::TypeExpr* written = isDeclared ? v.info->decl->stmt->fields[i].type.get() : nullptr;
    if (e.isTree()) {
      // A type variable stands for any tree, also for a batch of one.
      const bool isAny = written && written->path.size() == 1 && !written->hasArgs &&
                         listedGeneric(structGenerics(*v.info->decl), written->path[0].text);
      auto found = isAny ? std::nullopt : misfit(e);
      if (found) found->path.insert(0, part);
      if (found) return found;
      continue;
    }
    if (!written || !e.is(Val::Kind::Tensor)) continue;
    const Generics g = structGenerics(*v.info->decl);
    const ast::TypeExpr& t = *aliases_.expanded(written, g);
    if (t.kind != ast::TypeExpr::Kind::Path || !t.hasArgs) continue;
    const bool pack = std::ranges::any_of(t.args, [](const auto& a) { return a->kind == ast::TypeExpr::Kind::Pack; });
    const auto rank = static_cast<size_t>(e.tensor->type.rank());
    if (pack ? rank + 1 < t.args.size() : rank != t.args.size()) return Misfit{part, &e, written};
  }
  return std::nullopt;
}

Val Structs::refit(Val v) {
  for (size_t i = 0; i < v.elems.size(); ++i) {
    if (v.elems[i].isTree()) v.elems.edit()[i] = refit(v.elems[i]);
  }
  if (!v.is(Val::Kind::Struct) || !v.info || !v.info->decl) return v;
  const auto& generics = v.info->decl->stmt->generics;
  const auto& fields = v.info->decl->stmt->fields;
  Args args;
  Generics g = structGenerics(*v.info->decl);
  for (size_t i = 0; i < v.elems.size(); ++i) {
    const Val& e = v.elems[i];
    if (!fields[i].type || !(e.isTree() || e.is(Val::Kind::Tensor))) continue;
    const ast::TypeExpr& t = *aliases_.expanded(fields[i].type.get(), g);
    if (t.kind != ast::TypeExpr::Kind::Path) return v;
    const ast::Generic* listed = t.path.size() == 1 && !t.hasArgs ? listedGeneric(g, t.path[0].text) : nullptr;
    if (listed && listed->kind == ast::Generic::Kind::Tree) {
      Val type;
      type.kind = Val::Kind::Type;
      type.type = std::make_shared<Ty>(typeOf(e));
      const auto [it, fresh] = g.bound.try_emplace(listed->name.text, type);
      if (!fresh && toString(*it->second.type) != toString(*type.type)) return v;
    } else if (e.is(Val::Kind::Tensor) ? !bindShape(t, e.tensor->type.shape, args)
                                       : !e.info || !bindArguments(t, *e.info, args)) {
      return v;
    }
  }
  for (size_t i = 0; i < generics.size(); ++i) {
    if (g.bound.contains(generics[i].name.text)) continue;
    const Val& old = v.info->args[i].second;
    const auto found = args.find(generics[i].name.text);
    g.bound[generics[i].name.text] = found == args.end() ? old : found->second;
  }
  // Names that are no variables of the struct are constants, which stay what they are.
  for (const auto& [name, value] : args) {
    if (g.bound.contains(name)) continue;
    const auto constant = names_.lookupGlobal(*v.info->decl->unit, name, v.span);
    if (!constant || !sameArgument(*constant, value)) return v;
  }
  v.info = structInfo(*v.info->decl, g);
  return v;
}

}  // namespace tenc::frontend
