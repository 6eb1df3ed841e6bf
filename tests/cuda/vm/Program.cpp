#include "tests/cuda/vm/Program.h"

#include <algorithm>
#include <cstring>

#include "tests/cuda/vm/Decoder.h"
#include "tests/cuda/vm/Parser.h"

namespace tenc::ptx {
namespace {

/// The initial value of a variable: what is not written is zero.
void initialise(const syntax::Variable& v, uint8_t* to, const Storages& storages) {
  std::memset(to, 0, v.bytes());
  if (v.values.size() > v.elements) throw PtxError(v.line, "too many values of " + v.name);
  for (size_t n = 0; n < v.values.size(); ++n) {
    uint64_t bits = v.values[n].bits;
    if (!v.values[n].symbol.empty()) {
      auto symbol = storages.find(v.values[n].symbol);
      if (symbol == storages.end()) throw PtxError(v.line, "unknown name " + v.values[n].symbol);
      bits += symbol->second.address;
    }
    std::memcpy(to + n * v.elementBytes, &bits, std::min<uint64_t>(v.elementBytes, 8));
  }
}

}  // namespace

Program::Program(std::string_view text, DeviceMemory& memory) : memory_(memory) {
  syntax::Module m = parse(text);
  target_ = m.target;
  Storages storages;
  for (const auto& v : m.variables) {
    Storage s{v.space == "shared" ? Space::Shared : Space::Global, 0, v.bytes(), v.align, v.unsized};
    if (s.space == Space::Global) {
      if (v.unsized) throw PtxError(v.line, v.name + " has no size");
      s.address = memory.allocate(std::max<uint64_t>(s.bytes, 1));
      if (!s.address) throw PtxError(v.line, "no memory for " + v.name);
      globals_[v.name] = {s.address, s.bytes};
      initialise(v, memory.host(s.address), storages);
      memory.setInitialised(*memory.find(s.address), 0, s.bytes);
    }
    storages[v.name] = s;
  }
  for (const auto& f : m.functions) {
    if (f.isKernel && f.isDefined) kernels_[f.name] = decode(m, f, storages, opcodes_);
  }
}

Program::~Program() {
  for (const auto& [name, g] : globals_) memory_.free(g.address);
}

const Kernel* Program::kernel(const std::string& name) const {
  auto at = kernels_.find(name);
  return at == kernels_.end() ? nullptr : at->second.get();
}

const Program::Global* Program::global(const std::string& name) const {
  auto at = globals_.find(name);
  return at == globals_.end() ? nullptr : &at->second;
}

bool Program::knowsAllOpcodes() const {
  return std::none_of(opcodes_.begin(), opcodes_.end(),
                      [](const auto& o) { return o.first.starts_with(kUnknownOpcode); });
}

}  // namespace tenc::ptx
