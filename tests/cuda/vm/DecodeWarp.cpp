// Instructions that warps and blocks execute together.
#include <cstdio>

#include "tests/cuda/vm/Form.h"
#include "tests/cuda/vm/Handlers.h"

namespace tenc::ptx {

void decodeBarrier(Form& f) {
  Instruction& out = f.out;
  out.cls = Class::Barrier;
  if (f.has("cluster")) return;
  if (f.has("warp")) {
    f.from(0, 4);
    out.handler = executeWarpBarrier;
    return;
  }
  // bar.red names its predicate last; from[0]: the barrier, from[1]: threads, from[2]: the predicate.
  bool red = f.has("red");
  out.mode = f.has("arrive") ? 1 : red ? (f.has("popc") ? 2 : f.has("and") ? 3 : 4) : 0;
  size_t n = 0, end = f.operands() - red;
  if (red) f.to(n++, out.mode == 2 ? 4 : 0);
  f.from(n++, 4);
  if (n < end) {
    f.from(n, 4);
  } else {
    out.from[out.sources++] = f.symbols.constant(0, 4);
  }
  if (red) f.from(end, 0);
  out.handler = executeBarrier;
}

void decodeFence(Form& f) {
  f.out.cls = Class::Barrier;
  if (f.has("proxy")) {
    f.out.handler = f.has("async") && !f.has("global") ? executeProxyFence : executeNothing;
    return;
  }
  f.out.mode = f.has("gl") || f.has("gpu") || f.has("sys");
  f.kernel.ordersBlocks = true;
  f.out.handler = executeFence;
}

void decodeShuffle(Form& f) {
  f.out.cls = Class::Shuffle;
  const syntax::Operand& to = f.operand(0);
  if (to.kind == syntax::Operand::Kind::Pair) {
    f.addTo(to.elements[0], 4);
    f.addTo(to.elements[1], 0);
  } else {
    f.to(0, 4);
  }
  f.out.mode = f.which({"up", "down", "bfly", "idx"});
  for (size_t n = 1; n < 5; ++n) f.from(n, 4);
  if (f.has("sync")) f.out.handler = executeShuffle;
}

void decodeVote(Form& f) {
  f.out.cls = Class::Shuffle;
  f.out.mode = f.which({"all", "any", "uni", "ballot"});
  f.to(0, f.out.mode == 3 ? 4 : 0);
  f.from(1, 0);
  f.from(2, 4);
  if (f.has("sync")) f.out.handler = executeVote;
}

void decodeMatch(Form& f) {
  f.out.cls = Class::Shuffle;
  f.out.mode = f.has("all");
  f.out.wide = f.bytes() == 8;
  const syntax::Operand& to = f.operand(0);
  if (to.kind == syntax::Operand::Kind::Pair) {
    f.addTo(to.elements[0], 4);
    f.addTo(to.elements[1], 0);
  } else {
    f.to(0, 4);
  }
  f.from(1, f.bytes());
  f.from(2, 4);
  f.out.handler = executeMatch;
}

void decodeRedux(Form& f) {
  f.out.cls = Class::Shuffle;
  f.out.mode = f.which({"add", "min", "max", "and", "or", "xor"});
  f.out.isSigned = f.type() == "s32";
  f.to(0, 4);
  f.from(1, 4);
  f.from(2, 4);
  if (f.type() != "f32") f.out.handler = executeRedux;
}

void decodeLanes(Form& f) {
  f.out.cls = Class::Shuffle;
  if (f.name() == "activemask") {
    f.to(0, 4);
    f.out.handler = executeActiveMask;
    return;
  }
  const syntax::Operand& to = f.operand(0);
  if (to.kind != syntax::Operand::Kind::Pair) return;
  f.addTo(to.elements[0], 4);
  f.addTo(to.elements[1], 0);
  f.from(1, 4);
  f.out.handler = executeElect;
}

void decodeMma(Form& f) {
  Instruction& out = f.out;
  const auto& opcode = f.text.opcode;
  out.cls = Class::Matrix;
  unsigned m = 0, n = 0, k = 0;
  for (const std::string& part : opcode) {
    if (std::sscanf(part.c_str(), "m%un%uk%u", &m, &n, &k) == 3) break;
  }
  if (opcode.size() < 6 || m != 16 || n != 8 || !f.has("row") || !f.has("col")) return;
  const std::string &a = opcode[opcode.size() - 3], &b = opcode[opcode.size() - 2], &d = opcode[opcode.size() - 4],
                    &c = f.type();
  bool integer = a == "s8" || a == "u8";
  if (a != b || c != d || d != (integer ? "s32" : "f32") || f.has("satfinite")) return;
  static constexpr const char* kTypes[] = {"f16", "bf16", "tf32", "s8", "u8"};
  out.mode = 255;
  for (size_t t = 0; t < std::size(kTypes); ++t) {
    if (a == kTypes[t]) out.mode = static_cast<uint8_t>(t);
  }
  if (out.mode == 255) return;
  out.variant = static_cast<uint8_t>(k);
  out.vector = static_cast<uint8_t>(f.operand(1).elements.size());
  out.target = 2 * m * n * k;
  f.to(0, 4);
  for (size_t o = 1; o < 4; ++o) f.from(o, 4);
  out.handler = executeMma;
}

}  // namespace tenc::ptx
