// Trees: structs, tuples and lists of tensors, walked leaf by leaf. The leaves of a value are every tensor that it
// holds, also those captured by a lambda or standing for a device, so that any value can cross a region or a call.
#include "frontend/Lowering.h"

namespace tenc::frontend {

namespace {
/// Calls `f` on each tensor slot of `v`, in order.
void eachSlot(Val& v, const std::function<void(ir::Value*&)>& f) {
  if (v.tensor) f(v.tensor);
  if (v.device.of) f(v.device.of);
  for (Val& e : v.elems) eachSlot(e, f);
  if (v.fn && (!v.fn->captures.empty() || v.fn->receiver || !v.fn->inner.empty() || !v.fn->options.empty())) {
    auto copy = std::make_shared<FnValue>(*v.fn);
    for (auto& [name, value] : copy->captures) eachSlot(value, f);
    if (copy->receiver) {
      auto receiver = std::make_shared<Val>(*copy->receiver);
      eachSlot(*receiver, f);
      copy->receiver = receiver;
    }
    for (Val& e : copy->inner) eachSlot(e, f);
    for (auto& [name, value] : copy->options) eachSlot(value, f);
    v.fn = copy;
  }
}

bool hasPoison(const Val& v) {
  if (v.poison()) return true;
  for (const Val& e : v.elems) {
    if (hasPoison(e)) return true;
  }
  return false;
}
}  // namespace

bool Lowering::leavesOf(const Val& v, std::vector<ir::Value*>& leaves) {
  if (hasPoison(v)) return false;
  Val copy = v;
  eachSlot(copy, [&](ir::Value*& slot) { leaves.push_back(slot); });
  return true;
}

Val Lowering::rebuild(const Val& like, const std::vector<ir::Value*>& leaves) {
  Val copy = like;
  size_t next = 0;
  eachSlot(copy, [&](ir::Value*& slot) { slot = leaves[next++]; });
  return copy;
}

namespace {
Val mapFrom(const Val& v, const Lowering::TreeFn& f, const std::string& path, bool state) {
  if (!v.isTree()) return f(v, path, state);
  Val r = v;
  for (size_t i = 0; i < r.elems.size(); ++i) {
    std::string step = std::to_string(i);
    bool inner = state;
    if (v.is(Val::Kind::Struct) && v.info && v.info->decl) {
      const ast::Field& field = v.info->decl->stmt->fields[i];
      step = field.name.text;
      inner = state || field.state;
    }
    r.elems[i] = mapFrom(v.elems[i], f, path.empty() ? step : path + "." + step, inner);
    if (r.elems[i].poison()) return Val::none();
  }
  return r;
}
using Args = std::map<std::string, Val, std::less<>>;

bool sameArgument(const Val& a, const Val& b2) {
  if (a.kind != b2.kind || a.elems.size() != b2.elems.size() || a.integer != b2.integer) return false;
  for (size_t i = 0; i < a.elems.size(); ++i) {
    if (a.elems[i].integer != b2.elems[i].integer) return false;
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

Val Lowering::refit(Val v) {
  for (Val& e : v.elems) e = refit(std::move(e));
  if (!v.is(Val::Kind::Struct) || !v.info || !v.info->decl) return v;
  const auto& generics = v.info->decl->stmt->generics;
  const auto& fields = v.info->decl->stmt->fields;
  Args args;
  Generics g = structGenerics(*v.info->decl);
  for (size_t i = 0; i < v.elems.size(); ++i) {
    const Val& e = v.elems[i];
    if (!fields[i].type || !(e.isTree() || e.is(Val::Kind::Tensor))) continue;
    const ast::TypeExpr& t = expanded(*fields[i].type, g);
    if (t.kind != ast::TypeExpr::Kind::Path) return v;
    const ast::Generic* listed = t.path.size() == 1 && !t.hasArgs ? listedGeneric(g, t.path[0].text) : nullptr;
    if (listed && listed->kind == "tree") {
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
    const auto constant = lookupGlobal(*v.info->decl->unit, name, v.span);
    if (!constant || !sameArgument(*constant, value)) return v;
  }
  v.info = structInfo(*v.info->decl, g);
  return v;
}

Val Lowering::mapLeaves(const Val& v, const TreeFn& f) { return mapFrom(v, f, "", false); }

bool Lowering::sameStructure(const Val& a, const Val& b2) {
  if (a.isTree() != b2.isTree()) return false;
  if (!a.isTree()) return true;
  if (a.kind != b2.kind || a.elems.size() != b2.elems.size()) return false;
  if (a.is(Val::Kind::Struct) && a.info->decl != b2.info->decl) return false;
  for (size_t i = 0; i < a.elems.size(); ++i) {
    if (!sameStructure(a.elems[i], b2.elems[i])) return false;
  }
  return true;
}

Ty Lowering::typeOf(const Val& v) {
  Ty t;
  switch (v.kind) {
    case Val::Kind::Tensor:
      t.kind = Ty::Kind::Tensor;
      t.dtype = v.tensor->type.dtype;
      t.dims = v.tensor->type.shape;
      break;
    case Val::Kind::Int:
    case Val::Kind::Float:
    case Val::Kind::Bool:
      t.kind = Ty::Kind::Tensor;
      t.dtype = v.is(Val::Kind::Bool) ? ir::DType::Bool : v.dtype;
      t.dims = ir::Dims{};
      break;
    case Val::Kind::Struct:
    case Val::Kind::Tuple:
      t.kind = v.is(Val::Kind::Struct) ? Ty::Kind::Struct : Ty::Kind::Tuple;
      t.info = v.info;
      for (size_t i = 0; i < v.elems.size(); ++i) {
        t.elems.push_back(typeOf(v.elems[i]));
        if (v.info && v.info->decl) t.elems.back().state = v.info->decl->stmt->fields[i].state;
      }
      break;
    case Val::Kind::List:
      t.kind = Ty::Kind::List;
      t.length = static_cast<int64_t>(v.elems.size());
      t.elems.push_back(v.elems.empty() ? Ty{} : typeOf(v.elems[0]));
      break;
    case Val::Kind::String:
    case Val::Kind::Format: t.kind = Ty::Kind::String; break;
    case Val::Kind::Device: t.kind = Ty::Kind::Device; break;
    case Val::Kind::Function: t.kind = Ty::Kind::Fn; break;
    case Val::Kind::Pack: t.kind = Ty::Kind::Shape; break;
    default: break;
  }
  return t;
}

}  // namespace tenc::frontend
