// Random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#include "codegen/ScalarRandom.h"

#include "codegen/ScalarConvert.h"
#include "codegen/ScalarMath.h"

namespace tenc::codegen {
namespace {
using ir::DType;
using ir::OpKind;

constexpr double kTwoPi = 6.283185307179586476925;

Scalar low32(Scalar x) { return convert(ConvertInst::Trunc, x, Repr::I32); }
Scalar lowHalf(Scalar x) { return x & uint64_t{0xffffffff}; }
Scalar toFloat(Scalar x, Repr r) { return convert(ConvertInst::SIntToF, x, r); }
Scalar pick(Scalar which, Scalar odd, Scalar even) { return select(equal(which, 0), even, odd); }

/// Word `e % 4` of block `e / 4`, as I32.
Scalar word(Scalar seed, Scalar draw, Scalar e) {
  RandomWords w = philox(lshr(e, 2), draw, seed);
  Scalar low = e & uint64_t{1}, high = e & uint64_t{2};
  return low32(pick(high, pick(low, w[3], w[2]), pick(low, w[1], w[0])));
}

/// The 64 bits of element e: words 2 (e % 2) and the next, low word first.
Scalar pair(Scalar seed, Scalar draw, Scalar e) {
  RandomWords w = philox(lshr(e, 1), draw, seed);
  Scalar odd = e & uint64_t{1};
  return joinWords(pick(odd, w[2], w[0]), pick(odd, w[3], w[1]));
}

Scalar normal(DType t, Scalar seed, Scalar draw, Scalar e) {
  if (t == DType::F64) {
    RandomWords w = philox(e, draw, seed);
    return normalOf(joinWords(w[0], w[1]), joinWords(w[2], w[3]));
  }
  RandomWords w = philox(lshr(e, 2), draw, seed);
  Scalar second = e & uint64_t{2};
  NormalPair both = normalsOf(low32(pick(second, w[2], w[0])), low32(pick(second, w[3], w[1])));
  return pick(e & uint64_t{1}, both.odd, both.even);
}

/// The high 64 bits of the product of two unsigned 64-bit numbers.
Scalar multiplyHigh(Scalar a, Scalar b) {
  Scalar a0 = lowHalf(a), a1 = lshr(a, 32), b0 = lowHalf(b), b1 = lshr(b, 32);
  Scalar middle = a1 * b0 + lshr(a0 * b0, 32);
  Scalar other = a0 * b1 + lowHalf(middle);
  return a1 * b1 + lshr(middle, 32) + lshr(other, 32);
}

}  // namespace

RandomWords philox(Scalar counter, Scalar draw, Scalar seed) {
  std::array<Scalar, 6> state = {counter, lshr(counter, 32), draw, lshr(draw, 32), seed, lshr(seed, 32)};
  counter.builder->repeat(10, state, [](std::span<Scalar> s) {
    Scalar p0 = lowHalf(s[0]) * bits(s[0], 0xD2511F53), p1 = lowHalf(s[2]) * bits(s[2], 0xCD9E8D57);
    Scalar k0 = s[4], k1 = s[5];
    s[0] = lshr(p1, 32) ^ s[1] ^ k0;
    s[1] = p1;
    s[2] = lshr(p0, 32) ^ s[3] ^ k1;
    s[3] = p0;
    s[4] = k0 + bits(k0, 0x9E3779B9);
    s[5] = k1 + bits(k1, 0xBB67AE85);
  });
  return {state[0], state[1], state[2], state[3]};
}

Scalar joinWords(Scalar low, Scalar high) { return lowHalf(low) | shl(high, 32); }

Scalar uniformOf(DType t, Scalar random) {
  switch (t) {
    case DType::F64: return toFloat(lshr(random, 11), Repr::F64) * 0x1p-53;
    case DType::F16: return toFloat(lshr(random, 21), Repr::F32) * 0x1p-11;
    case DType::BF16: return toFloat(lshr(random, 24), Repr::F32) * 0x1p-8;
    default: return toFloat(lshr(random, 8), Repr::F32) * 0x1p-24;
  }
}

NormalPair normalsOf(Scalar a, Scalar b) {
  Scalar u1 = toFloat(lshr(a, 8) + 1, Repr::F32) * 0x1p-24;
  Scalar u2 = toFloat(lshr(b, 8), Repr::F32) * 0x1p-24;
  Scalar r = sqrt(math::logOfNormal(u1) * -2.0);
  math::SinCos angle = math::sinCos(u2 * kTwoPi);
  return {r * angle.cos, r * angle.sin};
}

Scalar normalOf(Scalar a, Scalar b) {
  Scalar u1 = toFloat(lshr(a, 11) + 1, Repr::F64) * 0x1p-53;
  Scalar u2 = toFloat(lshr(b, 11), Repr::F64) * 0x1p-53;
  return sqrt(math::log(u1) * -2.0) * math::sinCos(u2 * kTwoPi).cos;
}

Scalar integerOf(DType t, Scalar random, Scalar lo, Scalar hi) {
  ScalarBuilder& b = *random.builder;
  Scalar wideLo = emitCast(b, lo, t, DType::I64), wideHi = emitCast(b, hi, t, DType::I64);
  return emitCast(b, wideLo + multiplyHigh(random, wideHi - wideLo), DType::I64, t);
}

Scalar emitRandom(OpKind kind, DType t, Scalar seed, Scalar draw, Scalar element, Scalar lo, Scalar hi) {
  if (kind == OpKind::RandomNormal) return roundTo(normal(t, seed, draw, element), t);
  if (kind == OpKind::RandomInt) return integerOf(t, pair(seed, draw, element), lo, hi);
  return uniformOf(t, t == DType::F64 ? pair(seed, draw, element) : word(seed, draw, element));
}

int randomCost(OpKind kind, DType t) {
  const int wide = ir::byteSize(t) == 8 ? 2 : 1;
  return kind == OpKind::RandomInt ? 40 : wide * (kind == OpKind::RandomNormal ? 32 : 12);
}

}  // namespace tenc::codegen
