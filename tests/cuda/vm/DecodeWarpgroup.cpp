// wgmma: what the four warps of a warpgroup execute together.
#include <cstdio>

#include "tests/cuda/vm/Form.h"
#include "tests/cuda/vm/Handlers.h"
#include "tests/cuda/vm/Lexer.h"

namespace tenc::ptx {
namespace {

constexpr unsigned kRows = 64, kTerms = 16, kMostColumns = 256, kWarps = 4;

/// An immediate that is one of two values.
bool isSecond(Form& f, size_t operand, int64_t first, int64_t second) {
  const syntax::Operand& o = f.operand(operand);
  const auto value = static_cast<int64_t>(o.number);
  if (o.kind != syntax::Operand::Kind::Number || (value != first && value != second))
    throw PtxError(f.text.line, "an immediate that is neither " + std::to_string(first) + " nor " +
                                    std::to_string(second) + ": " + f.text.text);
  return value == second;
}

void decodeProduct(Form& f) {
  using Kind = syntax::Operand::Kind;
  const auto& opcode = f.text.opcode;
  unsigned m = 0, n = 0, k = 0;
  if (opcode.size() != 8 || std::sscanf(opcode[4].c_str(), "m%un%uk%u", &m, &n, &k) != 3) return;
  const std::string& type = opcode[7];
  if (m != kRows || k != kTerms || n % 8 || !n || n > kMostColumns || opcode[5] != "f32" || opcode[6] != type ||
      (type != "bf16" && type != "f16"))
    return;
  WarpgroupProduct p;
  p.columns = n;
  p.type = type == "bf16" ? MatrixType::Bf16 : MatrixType::F16;
  const bool registers = f.operand(1).kind == Kind::List;
  if (f.operands() != (registers ? 7 : 8) || f.operand(0).elements.size() != n / 2 ||
      (registers && f.operand(1).elements.size() != 4))
    throw PtxError(f.text.line, "wrong number of operands: " + f.text.text);
  for (const auto& o : f.operand(0).elements) {
    const Symbols::Register* r = f.symbols.registerOf(o.name);
    if (!r || r->bits != 32) throw PtxError(f.text.line, o.name + " is no register of 32 bits: " + f.text.text);
    p.d.push_back(r->slot);
  }
  for (const auto& o : f.operand(1).elements) p.a.push_back(f.slot(o, 4));
  if (!registers) p.describesA = f.slot(f.operand(1), 8);
  p.describesB = f.slot(f.operand(2), 8);
  p.accumulate = f.slot(f.operand(3), 0);
  p.accumulateNegated = f.operand(3).negated;
  p.negateA = isSecond(f, 4, 1, -1);
  p.negateB = isSecond(f, 5, 1, -1);
  if (!registers) p.transposedA = isSecond(f, 6, 0, 1);
  p.transposedB = isSecond(f, f.operands() - 1, 0, 1);
  f.out.cls = Class::Warpgroup;
  f.out.target = 2 * m / kWarps * n * k;
  f.out.offset = static_cast<int64_t>(f.kernel.products.size());
  f.kernel.products.push_back(std::move(p));
  f.out.handler = executeWarpgroupProduct;
}

}  // namespace

void decodeWarpgroup(Form& f) {
  if (!f.has("sync") || !f.has("aligned")) return;
  f.out.cls = Class::Other;
  if (f.has("mma_async")) {
    decodeProduct(f);
  } else if (f.has("fence")) {
    f.out.handler = executeWarpgroupFence;
  } else if (f.has("commit_group")) {
    f.out.handler = executeCommitProducts;
  } else if (f.has("wait_group")) {
    f.out.cls = Class::Barrier;
    f.out.mode = static_cast<uint8_t>(f.operand(0).number);
    f.out.handler = executeWaitProducts;
  }
}

void watchRegisters(Kernel& k) {
  std::vector<bool> used(k.registerWords / kLanes);
  for (const WarpgroupProduct& p : k.products) {
    for (const auto* all : {&p.a, &p.d}) {
      for (Slot s : *all) {
        if ((s & kConstant) || used[s / kLanes]) continue;
        used[s / kLanes] = true;
        k.productRegisters.push_back(s);
      }
    }
  }
  if (k.products.empty()) return;
  for (Instruction& i : k.code) {
    forOperands(i, [&](Slot s, bool) { i.watched |= !(s & kConstant) && used[s / kLanes]; });
  }
}

}  // namespace tenc::ptx
