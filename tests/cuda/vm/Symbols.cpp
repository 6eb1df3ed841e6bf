#include "tests/cuda/vm/Symbols.h"

#include <algorithm>
#include <optional>

#include "tests/cuda/vm/Lexer.h"

namespace tenc::ptx {
namespace {

template <class T>
T roundUp(T n, T to) {
  return (n + to - 1) / to * to;
}

uint8_t bitsOf(const std::string& type, uint32_t line) {
  if (type == "pred") return 1;
  uint32_t bytes = syntax::bytesOf(type);
  if (bytes == 0 || bytes > 8) throw PtxError(line, "registers of type " + type + " are not supported");
  return bytes == 8 ? 64 : bytes == 4 ? 32 : 16;
}

struct SpecialName {
  const char* name;
  Special kind;
};
constexpr SpecialName kVectors[] = {{"%tid", Special::Thread},
                                    {"%ntid", Special::Threads},
                                    {"%ctaid", Special::BlockIndex},
                                    {"%nctaid", Special::Blocks}};
constexpr SpecialName kScalars[] = {{"%laneid", Special::Lane},
                                    {"%lanemask_eq", Special::LaneEq},
                                    {"%lanemask_lt", Special::LaneLt},
                                    {"%lanemask_le", Special::LaneLe},
                                    {"%lanemask_gt", Special::LaneGt},
                                    {"%lanemask_ge", Special::LaneGe},
                                    {"%warpid", Special::Warp},
                                    {"%nwarpid", Special::Warps},
                                    {"%smid", Special::Multiprocessor},
                                    {"%nsmid", Special::Multiprocessors},
                                    {"%gridid", Special::Grid},
                                    {"%dynamic_smem_size", Special::DynamicShared},
                                    {"%total_smem_size", Special::TotalShared},
                                    {"%clock", Special::Clock},
                                    {"%clock64", Special::Clock64},
                                    {"%globaltimer", Special::Timer}};

std::optional<SpecialRegister> specialOf(const std::string& name) {
  for (const SpecialName& s : kScalars) {
    if (name == s.name) return SpecialRegister{s.kind, 0, 0};
  }
  size_t dot = name.find('.');
  if (dot == name.npos || dot + 2 != name.size() || name[dot + 1] < 'x' || name[dot + 1] > 'z') return std::nullopt;
  for (const SpecialName& s : kVectors) {
    if (name.substr(0, dot) == s.name) return SpecialRegister{s.kind, static_cast<uint8_t>(name[dot + 1] - 'x'), 0};
  }
  return std::nullopt;
}

}  // namespace

Slot Symbols::newRegister(uint8_t bits) {
  if (bits == 1) {
    if (predicates_++ % kLanes == 0) predicateRow_ = newRegister(32);
    return predicateRow_ + (predicates_ - 1) % kLanes;
  }
  Slot slot = kernel_.registerWords;
  kernel_.registerWords += bits == 64 ? 2 * kLanes : kLanes;
  return slot;
}

void Symbols::declare(const syntax::Registers& r, uint32_t line) {
  uint8_t bits = bitsOf(r.type, line);
  for (const auto& n : r.names) {
    if (n.count)
      scopes_.back().ranges[n.name] = bits;
    else
      scopes_.back().names[n.name] = {kNoSlot, bits};
  }
}

void Symbols::placeShared(Storage& s) {
  if (s.dynamic) {
    kernel_.dynamicAlign = std::max(kernel_.dynamicAlign, static_cast<uint32_t>(s.align));
    return;
  }
  kernel_.sharedBytes = roundUp(kernel_.sharedBytes, static_cast<uint32_t>(s.align));
  s.address = kSharedBase + kernel_.sharedBytes;
  kernel_.sharedBytes += static_cast<uint32_t>(s.bytes);
}

void Symbols::declare(const syntax::Variable& v) {
  Storage s{v.space == "shared" ? Space::Shared : Space::Local, 0, v.bytes(), v.align, v.unsized};
  if (s.space == Space::Shared) {
    placeShared(s);
  } else {  // arguments of calls live in local memory, too
    kernel_.localBytes = roundUp(kernel_.localBytes, static_cast<uint32_t>(v.align));
    s.address = kernel_.localBytes;
    kernel_.localBytes += static_cast<uint32_t>(s.bytes);
  }
  variables_[v.name] = s;
}

void Symbols::declareParameters(const std::vector<syntax::Variable>& parameters) {
  uint32_t end = 0;
  for (const auto& v : parameters) {
    Parameter p{roundUp(end, static_cast<uint32_t>(v.align)), static_cast<uint32_t>(v.bytes())};
    end = p.offset + p.bytes;
    parameters_[v.name] = p;
    kernel_.parameters.push_back(p);
  }
  kernel_.parameterBytes = end;
}

void Symbols::bind(const std::string& formal, const std::string& actual, uint32_t line) {
  const Storage* s = storageOf(actual);
  if (!s) throw PtxError(line, "unknown argument " + actual);
  variables_[formal] = *s;
}

const Symbols::Register* Symbols::registerOf(const std::string& name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto at = scope->names.find(name);
    if (at == scope->names.end()) {
      size_t digits = name.find_last_not_of("0123456789") + 1;
      auto range = digits < name.size() ? scope->ranges.find(name.substr(0, digits)) : scope->ranges.end();
      if (range == scope->ranges.end()) continue;
      at = scope->names.emplace(name, Register{kNoSlot, range->second}).first;
    }
    if (at->second.slot == kNoSlot) at->second.slot = newRegister(at->second.bits);
    return &at->second;
  }
  return nullptr;
}

const Parameter* Symbols::parameterOf(const std::string& name) const {
  auto at = parameters_.find(name);
  return at == parameters_.end() ? nullptr : &at->second;
}

const Storage* Symbols::storageOf(const std::string& name) {
  auto own = variables_.find(name);
  if (own != variables_.end()) return &own->second;
  auto shared = module_.find(name);
  if (shared == module_.end()) return nullptr;
  if (shared->second.space != Space::Shared) return &shared->second;
  Storage s = shared->second;
  placeShared(s);
  return &(variables_[name] = s);
}

Slot Symbols::constant(uint64_t value, uint8_t bytes) {
  if (bytes == 0)
    value = value ? ~0u : 0;
  else if (bytes < 8)
    value &= (uint64_t{1} << bytes * 8) - 1;
  auto [at, isNew] = constants_.try_emplace({value, bytes}, kNoSlot);
  if (isNew) at->second = newConstant(value, bytes);
  return at->second;
}

Slot Symbols::newConstant(uint64_t value, uint8_t bytes) {
  const Slot slot = kConstant | static_cast<Slot>(kernel_.constants.size());
  for (uint32_t l = 0; l < kLanes; ++l) {
    kernel_.constants.push_back(static_cast<uint32_t>(value));
    if (bytes == 8) kernel_.constants.push_back(static_cast<uint32_t>(value >> 32));
  }
  return slot;
}

Slot Symbols::special(const std::string& name, uint32_t line) {
  auto [at, isNew] = specials_.try_emplace(name, kNoSlot);
  if (!isNew) return at->second;
  auto s = specialOf(name);
  if (!s) throw PtxError(line, "unknown register " + name);
  s->slot = newRegister(s->kind == Special::Clock64 || s->kind == Special::Timer ? 64 : 32);
  kernel_.specials.push_back(*s);
  return at->second = s->slot;
}

Slot Symbols::valueOf(const syntax::Operand& o, uint8_t bytes, uint32_t line) {
  if (o.kind == syntax::Operand::Kind::Number) return constant(o.number, bytes);
  if (o.kind != syntax::Operand::Kind::Name) throw PtxError(line, "this operand is not a single value");
  if (o.name == "_") return newRegister(bytes == 8 ? 64 : 32);
  if (const Register* r = registerOf(o.name)) return r->slot;
  if (o.name == "WARP_SZ") return constant(kLanes, bytes);
  if (const Storage* s = storageOf(o.name)) {
    if (!s->dynamic) return constant(s->address, bytes);
    const Slot slot = newConstant(0, bytes);  // until the place is known
    dynamic_.emplace_back(slot, bytes);
    return slot;
  }
  if (o.name[0] == '%') return special(o.name, line);
  throw PtxError(line, "unknown name " + o.name);
}

void Symbols::finish() {
  // As ptxas counts: what is known goes as far as the rest begins.
  if (!dynamic_.empty()) kernel_.sharedBytes = kernel_.dynamicBegin();
  uint32_t address = kSharedBase + kernel_.dynamicBegin();
  for (auto [slot, bytes] : dynamic_) {
    uint32_t* words = kernel_.constants.data() + (slot & ~kConstant);
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (bytes == 8)
        words[2 * l] = address, words[2 * l + 1] = 0;
      else
        words[l] = address;
    }
  }
}

}  // namespace tenc::ptx
