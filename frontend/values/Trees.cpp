// Trees: structs, tuples and lists of tensors, walked leaf by leaf. The leaves of a value are every tensor that it
// holds, also those captured by a lambda or standing for a device, so that any value can cross a region or a call.
#include "frontend/values/Trees.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenc::frontend {

bool sameLeaves(const Val& a, const Val& b) {
  std::vector<ir::Value*> x, y;
  return leavesOf(a, x) && leavesOf(b, y) && x == y;
}

Val argumentsLike(const Val& like, ir::Region* region, const std::string& name) {
  std::vector<ir::Value*> leaves;
  if (!leavesOf(like, leaves)) return like;
  for (ir::Value*& v : leaves) {
    ir::Type t = v->type;
    t.place = {};
    v = region->addArg(t, name);
  }
  return rebuild(like, leaves);
}

Val withoutDeviceNames(const Val& v) {
  const std::function<Val(const Val&, bool)> unnamed = [&](const Val& x, bool captured) -> Val {
    Val r = x;
    if (captured && x.device.of && x.device.name.starts_with('$')) r.device.name.clear();
    for (size_t i = 0; x.isTree() && holdsFunction(x) && i < x.elems.size(); ++i) {
      Val part = unnamed(x.elems[i], captured);
      if (!part.isIdentical(x.elems[i])) r.elems.edit()[i] = std::move(part);
    }
    if (!x.fn || tensorsIn(*x.fn) == 0) return r;
    auto f = std::make_shared<FnValue>(*x.fn);
    for (auto& [name, value] : f->captures) value = unnamed(value, true);
    if (f->receiver) f->receiver = std::make_shared<Val>(unnamed(*f->receiver, true));
    for (Val& e : f->inner) e = unnamed(e, true);
    for (auto& [name, value] : f->options) value = unnamed(value, true);
    r.fn = std::move(f);
    return r;
  };
  return holdsFunction(v) ? unnamed(v, false) : v;
}

bool sameTypes(const Val& a, const Val& b) {
  if (!sameStructure(a, b)) return false;
  std::vector<ir::Value*> x, y;
  if (!leavesOf(a, x) || !leavesOf(b, y) || x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!x[i]->type.sameTensor(y[i]->type)) return false;
  }
  return true;
}

namespace {

size_t tensorsOf(const Val& v) {
  size_t count = (v.tensor ? 1 : 0) + (v.device.of ? 1 : 0) + (v.fn ? tensorsIn(*v.fn) : 0);
  for (size_t i = 0; i < v.elems.size() && count <= kMostParts; ++i) count += tensorsOf(v.elems[i]);
  return std::min(count, kMostParts + 1);
}
}  // namespace

size_t tensorsIn(const FnValue& f) {
  if (f.tensors.count) return *f.tensors.count;
  size_t count = f.receiver ? tensorsOf(*f.receiver) : 0;
  for (const auto& [name, value] : f.captures) count += tensorsOf(value);
  for (const Val& e : f.inner) count += tensorsOf(e);
  for (const auto& [name, value] : f.options) count += tensorsOf(value);
  f.tensors.count = std::min(count, kMostParts + 1);
  return *f.tensors.count;
}

namespace {

std::string stepTo(const Val& tree, size_t part) {
  const bool fields = tree.is(Val::Kind::Struct) && tree.info && tree.info->decl;
  return fields ? tree.info->decl->stmt->fields[part].name.text : std::to_string(part);
}

/// Gives each tensor slot of `v` what `f` makes of it, in order. What keeps all its tensors stays shared.
void eachSlot(Val& v, const std::function<ir::Value*(ir::Value*)>& f) {
  if (v.tensor) v.tensor = f(v.tensor);
  if (v.device.of) v.device.of = f(v.device.of);
  const Elements parts = v.elems;  // as they were, while those of `v` change
  for (size_t i = 0; i < parts.size(); ++i) {
    Val part = parts[i];
    eachSlot(part, f);
    if (!part.isIdentical(parts[i])) v.elems.edit()[i] = std::move(part);
  }
  if (v.fn && tensorsIn(*v.fn) > 0) {
    auto copy = std::make_shared<FnValue>(*v.fn);
    bool changed = false;
    const auto slot = [&](Val& value) {
      Val now = value;
      eachSlot(now, f);
      if (now.isIdentical(value)) return;
      value = std::move(now);
      changed = true;
    };
    for (auto& [name, value] : copy->captures) slot(value);
    if (copy->receiver) {
      auto receiver = std::make_shared<Val>(*copy->receiver);
      slot(*receiver);
      copy->receiver = receiver;
    }
    for (Val& e : copy->inner) slot(e);
    for (auto& [name, value] : copy->options) slot(value);
    if (changed) v.fn = copy;
  }
}

/// Calls `f` on each tensor of `v`, in the order of eachSlot.
void eachLeaf(const Val& v, const std::function<void(ir::Value*)>& f) {
  if (v.tensor) f(v.tensor);
  if (v.device.of) f(v.device.of);
  for (const Val& e : v.elems) eachLeaf(e, f);
  if (!v.fn || tensorsIn(*v.fn) == 0) return;
  for (const auto& [name, value] : v.fn->captures) eachLeaf(value, f);
  if (v.fn->receiver) eachLeaf(*v.fn->receiver, f);
  for (const Val& e : v.fn->inner) eachLeaf(e, f);
  for (const auto& [name, value] : v.fn->options) eachLeaf(value, f);
}

bool hasPoison(const Val& v) {
  if (v.poison()) return true;
  if (v.elems.known(Elements::Fact::Sound)) return false;
  for (const Val& e : v.elems) {
    if (hasPoison(e)) return true;
  }
  v.elems.note(Elements::Fact::Sound);
  return false;
}
}  // namespace

bool leavesOf(const Val& v, std::vector<ir::Value*>& leaves) {
  if (hasPoison(v)) return false;
  eachLeaf(v, [&](ir::Value* leaf) { leaves.push_back(leaf); });
  return true;
}

Val rebuild(const Val& like, const std::vector<ir::Value*>& leaves) {
  Val copy = like;
  size_t next = 0;
  eachSlot(copy, [&](ir::Value*) { return leaves[next++]; });
  return copy;
}

namespace {

Val mapFrom(const Val& v, const TreeFn& f, const std::string& path, bool state) {
  if (!v.isTree()) return f(v, path, state);
  Val r = v;
  for (size_t i = 0; i < r.elems.size(); ++i) {
    const std::string step = stepTo(v, i);
    const bool fields = v.is(Val::Kind::Struct) && v.info && v.info->decl;
    const bool inner = state || (fields && v.info->decl->stmt->fields[i].state);
    Val part = mapFrom(v.elems[i], f, path.empty() ? step : path + "." + step, inner);
    if (part.poison()) return part;
    if (!part.isIdentical(v.elems[i])) r.elems.edit()[i] = std::move(part);
  }
  return r;
}
}  // namespace

const Pins* pinsOfPart(const Val& v, const Pins* own, size_t i) {
  if (v.is(Val::Kind::Struct)) return v.info && i < v.info->pins.size() ? &v.info->pins[i] : nullptr;
  if (!own || own->parts.empty()) return nullptr;
  return &own->parts[v.is(Val::Kind::List) ? 0 : std::min(i, own->parts.size() - 1)];
}

Pins pinsOf(const Ty& t) {
  std::vector<Pins> parts;
  if (t.kind == Ty::Kind::Tuple || t.kind == Ty::Kind::List)
    for (const Ty& e : t.elems) parts.push_back(pinsOf(e));
  Pins pins = Pins::ofParts(std::move(parts));
  pins.place = t.place;
  return pins;
}

namespace {

void addPinned(const Val& v, const Pins* own, const std::string& around, std::vector<std::string>& places) {
  const std::string& place = own && own->named() ? own->place : around;
  if (v.is(Val::Kind::Tensor)) places.push_back(place);
  for (size_t i = 0; v.isTree() && i < v.elems.size(); ++i) addPinned(v.elems[i], pinsOfPart(v, own, i), place, places);
}
}  // namespace

std::vector<std::string> pinnedLeaves(const Val& v, const Pins* own) {
  std::vector<std::string> places;
  addPinned(v, own, "", places);
  return places;
}

bool holdsArray(const Val& v) {
  if (v.is(Val::Kind::Tensor)) return v.tensor->type.rank() > 0;
  return v.poison() || v.is(Val::Kind::Array) || std::ranges::any_of(v.elems, holdsArray);
}

bool holdsFunction(const Val& v) {
  if (v.is(Val::Kind::Function)) return true;
  if (v.elems.known(Elements::Fact::Data)) return false;
  for (const Val& e : v.elems) {
    if (holdsFunction(e)) return true;
  }
  v.elems.note(Elements::Fact::Data);
  return false;
}

Val mapLeaves(const Val& v, const TreeFn& f) { return mapFrom(v, f, "", false); }

void nameLeaves(const Val& tree, const std::string& name) {
  if (!tree.isTree() || tree.elems.known(Elements::Fact::Named)) return;
  for (size_t i = 0; i < tree.elems.size(); ++i) {
    const Val& part = tree.elems[i];
    if (part.is(Val::Kind::Tensor) && part.tensor->name.empty()) part.tensor->name = name + "." + stepTo(tree, i);
    if (part.isTree()) nameLeaves(part, name + "." + stepTo(tree, i));
  }
  tree.elems.note(Elements::Fact::Named);
}

bool sameStructure(const Val& a, const Val& b) {
  if (a.isTree() != b.isTree()) return false;
  if (!a.isTree()) return true;
  if (a.kind != b.kind || a.elems.size() != b.elems.size()) return false;
  if (a.is(Val::Kind::Struct) && a.info->decl != b.info->decl) return false;
  for (size_t i = 0; i < a.elems.size(); ++i) {
    if (!sameStructure(a.elems[i], b.elems[i])) return false;
  }
  return true;
}

Ty typeOf(const Val& v) {
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
