// What tells two instances of a function apart.
#include "frontend/values/Keys.h"

#include <bit>
#include <string>

#include "frontend/names/Unit.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;
}  // namespace

/// What tells two instances apart: types of tensors, values of everything known at compile time.
std::string keyOf(const Val& v) {
  std::string s;
  auto parts = [&](const char* open) {
    s += open;
    for (const Val& e : v.elems) s += keyOf(e) + ",";
    s += ")";
  };
  switch (v.kind) {
    case Kind::Poison: return "!";
    case Kind::Unit: return "()";
    case Kind::Int: return "#" + toString(v.integer) + (v.adopts ? "" : "i");
    case Kind::Float:
      return "#" + std::to_string(std::bit_cast<uint64_t>(v.real)) + (v.adopts ? "" : std::string(ir::name(v.dtype)));
    case Kind::Bool: return v.boolean ? "true" : "false";
    case Kind::String: return "\"" + v.text + "\"";
    case Kind::DType: return std::string(ir::name(v.dtype));
    case Kind::Device: return "@" + v.device.name + (v.device.of ? "&" : "");
    case Kind::Tensor: {
      ir::Type t = v.tensor->type;
      t.place = {};
      return ir::toString(t);
    }
    case Kind::Format: parts("format("); return s + std::to_string(reinterpret_cast<uintptr_t>(v.pieces));
    case Kind::Array: parts("array("); return s;
    case Kind::Tuple: parts("("); return s;
    case Kind::List: parts("list("); return s;
    case Kind::Struct:
      s = v.info->text + std::to_string(reinterpret_cast<uintptr_t>(v.info->decl));
      parts("(");
      return s;
    case Kind::Pack: parts("pack("); return s;
    case Kind::Range: parts(v.boolean ? "rev(" : "range("); return s;
    case Kind::Sequence: parts("seq("); return s;
    case Kind::Type: return "type " + toString(*v.type);
    case Kind::Module: return "module " + v.module->name;
    case Kind::Function: {
      const FnValue& f = *v.fn;
      s = "fn " + f.name + ":" + std::to_string(f.id);
      for (const FnDecl* d : f.overloads) s += ":" + std::to_string(reinterpret_cast<uintptr_t>(d));
      for (const auto& [name, value] : f.captures) s += ";" + keyOf(value);
      if (f.receiver) s += ";" + keyOf(*f.receiver);
      for (const Val& e : f.inner) s += ";" + keyOf(e);
      for (const auto& [name, value] : f.options) s += ";" + name + "=" + keyOf(value);
      return s;
    }
  }
  return s;
}

const Val* changedConstant(const Val& before, const Val& after) {
  if (before.poison() || after.poison() || after.is(Kind::Tensor)) return nullptr;
  if (!after.isTree() || after.kind != before.kind || after.elems.size() != before.elems.size())
    return keyOf(before) == keyOf(after) ? nullptr : &after;
  for (size_t i = 0; i < after.elems.size(); ++i) {
    if (const Val* changed = changedConstant(before.elems[i], after.elems[i])) return changed;
  }
  return nullptr;
}

}  // namespace tenc::frontend
