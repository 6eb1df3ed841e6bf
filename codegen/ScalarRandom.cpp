// Random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#include <array>
#include <cmath>

#include "codegen/ScalarBodies.h"
#include "codegen/ScalarMath.h"

namespace tenc::codegen {
namespace {
using ir::DType;
using ir::OpKind;
using Words = std::array<Scalar, 4>;

Scalar low32(Scalar x) { return convert(ConvertInst::Trunc, x, Repr::I32); }
Scalar high32(Scalar x) { return convert(ConvertInst::Trunc, lshr(x, 32), Repr::I32); }
Scalar to64(Scalar x) { return convert(ConvertInst::ZExt, x, Repr::I64); }

Words philox(Scalar counter, Scalar draw, Scalar seed) {
  std::array<Scalar, 6> state = {low32(counter), high32(counter), low32(draw), high32(draw), low32(seed), high32(seed)};
  counter.builder->repeat(10, state, [](std::span<Scalar> s) {
    Scalar k0 = s[4], k1 = s[5];
    Scalar p0 = to64(s[0]);
    p0 = p0 * bits(p0, 0xD2511F53);
    Scalar p1 = to64(s[2]);
    p1 = p1 * bits(p1, 0xCD9E8D57);
    Scalar c0 = high32(p1) ^ s[1] ^ k0, c2 = high32(p0) ^ s[3] ^ k1;
    s[0] = c0;
    s[1] = low32(p1);
    s[2] = c2;
    s[3] = low32(p0);
    s[4] = k0 + bits(k0, 0x9E3779B9);
    s[5] = k1 + bits(k1, 0xBB67AE85);
  });
  return {state[0], state[1], state[2], state[3]};
}

Scalar pick(Scalar which, Scalar odd, Scalar even) { return select(equal(which, 0), even, odd); }

/// Word `e % 4` of block `e / 4`.
Scalar word(Scalar seed, Scalar draw, Scalar e) {
  Words w = philox(lshr(e, 2), draw, seed);
  Scalar low = e & uint64_t{1}, high = e & uint64_t{2};
  return pick(high, pick(low, w[3], w[2]), pick(low, w[1], w[0]));
}

/// The 64 bits of element e: words 2 (e % 2) and the next, low word first.
Scalar pair(Scalar seed, Scalar draw, Scalar e) {
  Words w = philox(lshr(e, 1), draw, seed);
  Scalar odd = e & uint64_t{1};
  return to64(pick(odd, w[2], w[0])) | shl(to64(pick(odd, w[3], w[1])), 32);
}

Scalar uniform32(Scalar w, uint64_t drop, double scale) {
  return convert(ConvertInst::SIntToF, lshr(w, drop), Repr::F32) * scale;
}

Scalar uniform(DType t, Scalar seed, Scalar draw, Scalar e) {
  switch (t) {
    case DType::F64: return convert(ConvertInst::SIntToF, lshr(pair(seed, draw, e), 11), Repr::F64) * 0x1p-53;
    case DType::F16: return uniform32(word(seed, draw, e), 21, 0x1p-11);
    case DType::BF16: return uniform32(word(seed, draw, e), 24, 0x1p-8);
    default: return uniform32(word(seed, draw, e), 8, 0x1p-24);
  }
}

/// Box and Muller's transform.
Scalar normal(DType t, Scalar seed, Scalar draw, Scalar e) {
  constexpr double kTwoPi = 6.283185307179586476925;
  if (t == DType::F64) {
    Words w = philox(e, draw, seed);
    Scalar a = lshr(to64(w[0]) | shl(to64(w[1]), 32), 11), b = lshr(to64(w[2]) | shl(to64(w[3]), 32), 11);
    Scalar u1 = convert(ConvertInst::SIntToF, a + 1, Repr::F64) * 0x1p-53;
    Scalar u2 = convert(ConvertInst::SIntToF, b, Repr::F64) * 0x1p-53;
    return sqrt(math::log(u1) * -2.0) * math::sinCos(u2 * kTwoPi).cos;
  }
  Words w = philox(lshr(e, 2), draw, seed);
  Scalar second = e & uint64_t{2};
  Scalar a = lshr(pick(second, w[2], w[0]), 8), b = lshr(pick(second, w[3], w[1]), 8);
  Scalar u1 = convert(ConvertInst::SIntToF, a + 1, Repr::F32) * 0x1p-24;
  Scalar u2 = convert(ConvertInst::SIntToF, b, Repr::F32) * 0x1p-24;
  Scalar r = sqrt(math::log(u1) * -2.0);
  math::SinCos angle = math::sinCos(u2 * kTwoPi);
  return r * pick(e & uint64_t{1}, angle.sin, angle.cos);
}

/// The high 64 bits of the product of two unsigned 64-bit numbers.
Scalar multiplyHigh(Scalar a, Scalar b) {
  Scalar a0 = a & uint64_t{0xffffffff}, a1 = lshr(a, 32), b0 = b & uint64_t{0xffffffff}, b1 = lshr(b, 32);
  Scalar middle = a1 * b0 + lshr(a0 * b0, 32);
  Scalar other = a0 * b1 + (middle & uint64_t{0xffffffff});
  return a1 * b1 + lshr(middle, 32) + lshr(other, 32);
}

}  // namespace

Scalar emitRandom(ScalarBuilder& b, OpKind kind, DType result, Scalar seed, Scalar draw, Scalar element, Scalar lo,
                  Scalar hi) {
  if (kind == OpKind::RandomUniform) return uniform(result, seed, draw, element);
  if (kind == OpKind::RandomNormal) return roundTo(normal(result, seed, draw, element), result);
  Scalar x = pair(seed, draw, element);
  Scalar wideLo = emitCast(b, lo, result, DType::I64), wideHi = emitCast(b, hi, result, DType::I64);
  return emitCast(b, wideLo + multiplyHigh(x, wideHi - wideLo), DType::I64, result);
}

}  // namespace tenc::codegen
