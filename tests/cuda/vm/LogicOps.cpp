// Predicates, selections, and instructions that permute bits and bytes.
#include "tests/cuda/vm/Operations.h"

namespace tenc::ptx {
namespace {

template <class U>
void select(Warp& w, const Instruction& i) {
  const U *a = w.read<U>(i.from[0]), *b = w.read<U>(i.from[1]);
  Mask p = w.predicate(i.from[2], i.negated >> 2 & 1);
  alignas(64) U values[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) values[l] = p >> l & 1 ? a[l] : b[l];
  w.write(i.to[0], values);
}

template <auto F>
void onPredicates(Warp& w, const Instruction& i) {
  Mask a = w.predicate(i.from[0], i.negated & 1);
  Mask b = i.sources > 1 ? w.predicate(i.from[1], i.negated >> 1 & 1) : 0;
  w.writePredicate(i.to[0], F(a, b));
}

/// Any function of three bits: its table is the fourth operand.
void logic3(Warp& w, const Instruction& i) {
  const uint32_t *a = w.read<uint32_t>(i.from[0]), *b = w.read<uint32_t>(i.from[1]), *c = w.read<uint32_t>(i.from[2]);
  uint32_t table = *w.read<uint32_t>(i.from[3]);
  alignas(64) uint32_t values[kLanes] = {};
  for (uint32_t row = 0; row < 8; ++row) {
    if (!(table >> row & 1)) continue;
    for (uint32_t l = 0; l < kLanes; ++l) {
      values[l] |= (row & 4 ? a[l] : ~a[l]) & (row & 2 ? b[l] : ~b[l]) & (row & 1 ? c[l] : ~c[l]);
    }
  }
  w.write(i.to[0], values);
}

uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selectors) {
  uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t r = 0;
  for (uint32_t n = 0; n < 4; ++n) {
    uint32_t selector = selectors >> 4 * n & 15;
    uint32_t byte = bytes >> 8 * (selector & 7) & 255;
    if (selector & 8) byte = byte & 128 ? 255 : 0;
    r |= byte << 8 * n;
  }
  return r;
}

uint64_t joined(uint32_t low, uint32_t top) { return uint64_t{top} << 32 | low; }

template <class B, class I>
I dot4(uint32_t a, uint32_t b, I c) {
  auto sum = static_cast<uint32_t>(c);  // which wraps around
  for (uint32_t n = 0; n < 32; n += 8) {
    sum += static_cast<uint32_t>(static_cast<B>(a >> n)) * static_cast<uint32_t>(static_cast<B>(b >> n));
  }
  return static_cast<I>(sum);
}

}  // namespace

void addLogic(Operations& t) {
  using U = uint32_t;
  for (const char* type : {"b16", "u16", "s16", "f16", "bf16"})
    t.add(std::string("selp.") + type, {select<U>, 2, {2, 2, 0}});
  for (const char* type : {"b32", "u32", "s32", "f32"}) t.add(std::string("selp.") + type, {select<U>, 4, {4, 4, 0}});
  for (const char* type : {"b64", "u64", "s64", "f64"})
    t.add(std::string("selp.") + type, {select<uint64_t>, 8, {8, 8, 0}});
  t.add("and.pred", {onPredicates<[](Mask a, Mask b) { return a & b; }>, 0, {0, 0}});
  t.add("or.pred", {onPredicates<[](Mask a, Mask b) { return a | b; }>, 0, {0, 0}});
  t.add("xor.pred", {onPredicates<[](Mask a, Mask b) { return a ^ b; }>, 0, {0, 0}});
  t.add("not.pred", {onPredicates<[](Mask a, Mask) { return ~a; }>, 0, {0}});
  t.add("mov.pred", {onPredicates<[](Mask a, Mask) { return a; }>, 0, {0}});
  t.add("lop3.b32", {logic3, 4, {4, 4, 4, 4}});
  t.add("prmt.b32", lanewise<permuteBytes, U, U, U, U>());
  t.add("shf.l.wrap.b32", lanewise<[](U a, U b, U n) { return U(joined(a, b) << (n & 31) >> 32); }, U, U, U, U>());
  t.add("shf.r.wrap.b32", lanewise<[](U a, U b, U n) { return U(joined(a, b) >> (n & 31)); }, U, U, U, U>());
  t.add("shf.l.clamp.b32",
        lanewise<[](U a, U b, U n) { return n >= 32 ? a : U(joined(a, b) << n >> 32); }, U, U, U, U>());
  t.add("shf.r.clamp.b32", lanewise<[](U a, U b, U n) { return n >= 32 ? b : U(joined(a, b) >> n); }, U, U, U, U>());
  t.add("dp4a.s32.s32", lanewise<dot4<int8_t, int32_t>, int32_t, U, U, int32_t>());
  t.add("dp4a.u32.u32", lanewise<dot4<uint8_t, uint32_t>, U, U, U, U>());
}

}  // namespace tenc::ptx
