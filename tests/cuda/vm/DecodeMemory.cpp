// Instructions that access memory or compute addresses.
#include <algorithm>
#include <bit>

#include "tests/cuda/vm/Form.h"
#include "tests/cuda/vm/Handlers.h"

namespace tenc::ptx {
namespace {

Class classOf(Space s) {
  switch (s) {
    case Space::Shared: return Class::Shared;
    case Space::Local: return Class::Local;
    case Space::Parameter: return Class::Move;
    default: return Class::Global;
  }
}

/// What is common to loads and stores; `value`: the operand with the registers.
void decodeAccess(Form& f, size_t value, bool isStore) {
  Instruction& out = f.out;
  out.space = f.space();
  out.vector = f.has("v8") ? 8 : f.has("v4") ? 4 : f.has("v2") ? 2 : 1;
  out.bytes = f.bytes();
  out.isSigned = f.type()[0] == 's';
  out.strong = f.has("volatile") || f.has("relaxed") || f.has("acquire") || f.has("release");
  out.variant = f.has("acquire") ? 1 : f.has("release") ? 2 : f.has("nc") ? 3 : 0;
  if (out.variant == 1 || out.variant == 2) f.kernel.ordersBlocks = true;
  out.cls = classOf(out.space);
  const syntax::Operand& o = f.operand(value);
  const syntax::Operand& first = o.kind == syntax::Operand::Kind::List && !o.elements.empty() ? o.elements[0] : o;
  const Symbols::Register* r = first.kind == syntax::Operand::Kind::Name ? f.symbols.registerOf(first.name) : nullptr;
  // Registers may be wider than what lies in memory.
  out.wide = r ? r->bits == 64 : out.bytes == 8;
  uint8_t width = out.wide ? 8 : std::min<uint8_t>(out.bytes, 4);
  if (isStore)
    f.from(value, width);
  else
    f.to(value, width);
}

void narrowGrain(uint32_t& grain, uint32_t bytes) { grain = std::min(grain, bytes); }

void noteGrain(Form& f) {
  uint32_t bytes = std::max<uint32_t>(f.out.bytes, 1);
  if (f.out.space == Space::Shared || f.out.space == Space::Generic) narrowGrain(f.kernel.sharedGrain, bytes);
  if (f.out.space == Space::Global || f.out.space == Space::Generic) narrowGrain(f.kernel.globalGrain, bytes);
}

}  // namespace

void decodeLoad(Form& f) {
  decodeAccess(f, 0, false);
  const syntax::Operand& from = f.operand(1);
  const Parameter* p = f.out.space == Space::Parameter ? f.symbols.parameterOf(from.name) : nullptr;
  if (p) {
    f.out.offset = p->offset + from.offset;
    f.out.handler = executeParameter;
    return;
  }
  if (f.out.space == Space::Parameter) f.out.space = Space::Local;  // an argument of an inlined function
  f.address(1);
  if (const uint32_t used = f.text.usedBytes; used != 0) {
    f.out.usedFrom = static_cast<uint8_t>(std::countr_zero(used));
    f.out.used = static_cast<uint8_t>(std::bit_width(used) - f.out.usedFrom);
  }
  f.out.handler = executeLoad;
  noteGrain(f);
}

void decodeStore(Form& f) {
  decodeAccess(f, 1, true);
  if (f.out.space == Space::Parameter) f.out.space = Space::Local;
  f.address(0);
  f.out.handler = executeStore;
  noteGrain(f);
}

void decodeAtomic(Form& f) {
  Instruction& out = f.out;
  bool returns = f.name() == "atom";
  if (f.has("v2") || f.has("v4") || f.has("v8")) return;
  out.mode = f.which({"add", "min", "max", "exch", "cas", "and", "or", "xor", "inc", "dec"}, 255);
  const std::string& t = f.type();
  AtomicType type = t == "f32"      ? AtomicType::F32
                    : t == "f64"    ? AtomicType::F64
                    : t == "f16"    ? AtomicType::F16
                    : t == "bf16"   ? AtomicType::Bf16
                    : t == "f16x2"  ? AtomicType::F16x2
                    : t == "bf16x2" ? AtomicType::Bf16x2
                    : t[0] == 's'   ? AtomicType::Signed
                                    : AtomicType::Unsigned;
  bool isFloat = type != AtomicType::Signed && type != AtomicType::Unsigned;
  if (out.mode == 255 || (isFloat && out.mode > 2)) return;
  out.variant = static_cast<uint8_t>(type);
  out.space = f.space();
  out.bytes = f.bytes();
  if (out.bytes > 8 || out.bytes < 2) return;
  out.wide = out.bytes == 8;
  out.cls = Class::Atomic;
  out.strong = f.has("acquire") || f.has("release") || f.has("acq_rel");
  if (out.strong) f.kernel.ordersBlocks = true;
  if (returns) f.to(0, out.bytes);
  f.address(returns);
  for (size_t n = returns + 1; n < f.operands(); ++n) f.from(n, out.bytes);
  out.handler = executeAtomic;
  noteGrain(f);
}

void decodeAddress(Form& f) {
  f.out.space = f.space();
  f.out.cls = Class::Integer;
  f.out.mode = f.has("to");
  if (f.name() == "isspacep") {
    f.to(0, 0);
    f.from(1, 8);
    f.out.handler = executeIsSpace;
  } else if (f.bytes() == 8) {
    f.to(0, 8);
    f.from(1, 8);
    f.out.handler = executeConvertAddress;
  }
}

void decodeCopy(Form& f) {
  Instruction& out = f.out;
  if (!f.has("async") || f.has("bulk") || f.has("mbarrier")) return;
  if (f.has("commit_group")) {
    out.handler = executeCommit;
    return;
  }
  if (f.has("wait_group") || f.has("wait_all")) {
    out.cls = Class::Barrier;
    out.variant = f.has("wait_all");
    if (!out.variant) out.mode = static_cast<uint8_t>(f.operand(0).number);
    out.handler = executeWaitCopies;
    return;
  }
  out.cls = Class::Global;
  f.address(0);
  f.address2(1);
  out.bytes = static_cast<uint8_t>(f.operand(2).number);
  if (out.bytes != 4 && out.bytes != 8 && out.bytes != 16) return;
  if (f.operands() > 3 && !f.has("level::cache_hint") && !f.has("L2::cache_hint")) f.from(3, 4);
  out.handler = executeCopy;
}

void decodeMatrixMove(Form& f) {
  if (!f.has("m8n8") || f.type() != "b16") return;
  bool load = f.name() == "ldmatrix";
  f.out.cls = Class::Shared;
  f.out.space = Space::Shared;
  f.out.bytes = 16;
  f.out.mode = f.has("trans");
  if (load) {
    f.to(0, 4);
    f.address(1);
  } else {
    f.address(0);
    f.from(1, 4);
  }
  f.out.handler = load ? executeLoadMatrix : executeStoreMatrix;
}

}  // namespace tenc::ptx
