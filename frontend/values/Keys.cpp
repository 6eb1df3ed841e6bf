#include "frontend/values/Keys.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;
}  // namespace

size_t Key::Hash::operator()(const Key& k) const {
  uint64_t h = k.words_.size();
  for (const uint64_t w : k.words_) h = std::rotl((h ^ w) * 0x9E3779B97F4A7C15, 29);
  return h;
}

void Key::add(std::string_view text) {
  add(uint64_t{text.size()});
  for (size_t i = 0; i < text.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min(sizeof word, text.size() - i));
    add(word);
  }
}

template <class List>
void Key::addAll(const List& values) {
  add(uint64_t{values.size()});
  for (const Val& v : values) add(v);
}

void Key::add(const FnValue& f) {
  add(std::string_view(f.name));
  add(f.id);
  add(uint64_t{f.overloads.size()});
  for (const FnDecl* d : f.overloads) add(static_cast<const void*>(d));
  if (f.captures.empty() || lambdas_.insert(f.id).second) {
    add(uint64_t{f.captures.size()});
    for (const auto& [name, value] : f.captures) add(value);
  }
  add(uint64_t{f.receiver != nullptr});
  if (f.receiver) add(*f.receiver);
  addAll(f.inner);
  for (const auto& [name, value] : f.options) {
    add(std::string_view(name));
    add(value);
  }
}

void Key::add(const Val& v) {
  add(static_cast<uint64_t>(v.kind));
  switch (v.kind) {
    case Kind::None:
    case Kind::Poison:
    case Kind::Unit: return;
    case Kind::Int:
      add(static_cast<uint64_t>(v.integer));
      add(static_cast<uint64_t>(v.integer >> 64));
      add(uint64_t{v.adopts});
      return;
    case Kind::Float:
      add(std::bit_cast<uint64_t>(v.real));
      add(v.adopts ? ~uint64_t{0} : static_cast<uint64_t>(v.dtype));
      return;
    case Kind::Bool: add(uint64_t{v.boolean}); return;
    case Kind::String: add(std::string_view(v.text)); return;
    case Kind::DType: add(static_cast<uint64_t>(v.dtype)); return;
    case Kind::Device:
      add(std::string_view(v.device.name));
      add(uint64_t{v.device.of != nullptr});
      return;
    case Kind::Tensor:
      add(static_cast<uint64_t>(v.tensor->type.dtype));
      add(uint64_t{v.tensor->type.shape.size()});
      for (const int64_t d : v.tensor->type.shape) add(static_cast<uint64_t>(d));
      return;
    case Kind::Format:
      add(static_cast<const void*>(v.pieces));
      add(std::string_view(v.text));
      addAll(v.elems);
      return;
    case Kind::Struct:
      add(static_cast<const void*>(v.info->decl));
      add(std::string_view(v.info->text));
      addAll(v.elems);
      return;
    case Kind::Range: add(uint64_t{v.boolean}); [[fallthrough]];
    case Kind::Array:
    case Kind::Tuple:
    case Kind::List:
    case Kind::Pack:
    case Kind::Sequence: addAll(v.elems); return;
    case Kind::Type: add(std::string_view(toString(*v.type))); return;
    case Kind::Module: add(static_cast<const void*>(v.module)); return;
    case Kind::Function: add(*v.fn); return;
  }
}

bool sameKey(const Val& a, const Val& b) { return Key(a) == Key(b); }

const Val* changedConstant(const Val& before, const Val& after) {
  if (before.poison() || after.poison() || after.is(Kind::Tensor)) return nullptr;
  if (!after.isTree() || after.kind != before.kind || after.elems.size() != before.elems.size())
    return sameKey(before, after) ? nullptr : &after;
  for (size_t i = 0; i < after.elems.size(); ++i) {
    if (const Val* changed = changedConstant(before.elems[i], after.elems[i])) return changed;
  }
  return nullptr;
}

}  // namespace tenc::frontend
