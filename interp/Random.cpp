// The counter-based generator: J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#include <array>
#include <cmath>

#include "interp/TensorOps.h"

namespace tenc::interp {
namespace {

using ir::DType;
using ir::OpKind;
using Words = std::array<uint32_t, 4>;

Words philox(uint64_t counter, uint64_t draw, uint64_t seed) {
  Words c = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), static_cast<uint32_t>(draw),
             static_cast<uint32_t>(draw >> 32)};
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53} * c[0], p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

uint64_t pair(uint32_t low, uint32_t high) { return low | static_cast<uint64_t>(high) << 32; }

double uniform(DType t, uint64_t e, uint64_t draw, uint64_t seed) {
  if (t == DType::F64) {
    Words w = philox(e / 2, draw, seed);
    return std::ldexp(static_cast<double>(pair(w[2 * (e % 2)], w[2 * (e % 2) + 1]) >> 11), -53);
  }
  uint32_t word = philox(e / 4, draw, seed)[e % 4];
  if (t == DType::F16) return std::ldexp(word >> 21, -11);
  if (t == DType::BF16) return std::ldexp(word >> 24, -8);
  return std::ldexp(word >> 8, -24);
}

/// Box and Muller's transform on two uniforms, the first of them never 0.
double normal(DType t, uint64_t e, uint64_t draw, uint64_t seed) {
  constexpr long double kTwoPi = 6.283185307179586476925286766559005768L;
  if (t == DType::F64) {
    Words w = philox(e, draw, seed);
    long double u1 = std::ldexp(static_cast<long double>((pair(w[0], w[1]) >> 11) + 1), -53);
    long double u2 = std::ldexp(static_cast<long double>(pair(w[2], w[3]) >> 11), -53);
    return static_cast<double>(std::sqrt(-2 * std::log(u1)) * std::cos(kTwoPi * u2));
  }
  uint64_t first = e & ~uint64_t{1};
  Words w = philox(first / 4, draw, seed);
  long double u1 = std::ldexp(static_cast<long double>((w[first % 4] >> 8) + 1), -24);
  long double u2 = std::ldexp(static_cast<long double>(w[first % 4 + 1] >> 8), -24);
  long double r = std::sqrt(-2 * std::log(u1)), angle = kTwoPi * u2;
  // The transform is one of f32, narrower dtypes round its result.
  double value = static_cast<float>(r * (e % 2 == 0 ? std::cos(angle) : std::sin(angle)));
  return roundTo(t, value);
}

uint64_t multiplyHigh(uint64_t a, uint64_t b) {
  uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
  uint64_t other = a0 * b1 + (middle & 0xffffffff);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

}  // namespace

void random(const ir::Op& op, Operands in, Tensor& out) {
  const DType t = out.type.dtype;
  auto seed = static_cast<uint64_t>(at(in[0], 0).i), draw = static_cast<uint64_t>(at(in[1], 0).i);
  for (int64_t i = 0; i < out.type.size(); ++i) {
    auto e = static_cast<uint64_t>(i);
    if (op.kind == OpKind::RandomUniform) {
      put(out, i, {uniform(t, e, draw, seed), 0});
    } else if (op.kind == OpKind::RandomNormal) {
      put(out, i, {normal(t, e, draw, seed), 0});
    } else {
      Words w = philox(e / 2, draw, seed);
      uint64_t x = pair(w[2 * (e % 2)], w[2 * (e % 2) + 1]);
      auto lo = static_cast<uint64_t>(at(in[2], 0).i), hi = static_cast<uint64_t>(at(in[3], 0).i);
      put(out, i, {0, wrapTo(t, static_cast<int64_t>(lo + multiplyHigh(x, hi - lo)))});
    }
  }
}

void iota(const ir::Op& op, Tensor& out) {
  auto axis = static_cast<size_t>(op.intAttr("axis"));
  const bool real = ir::isFloat(out.type.dtype);
  Odometer o(out.type.shape);
  for (int64_t i = 0; i < out.type.size(); ++i, o.next()) {
    int64_t v = out.type.shape.empty() ? 0 : o.index()[axis];
    put(out, i,
        real ? Number{roundTo(out.type.dtype, static_cast<long double>(v)), 0} : Number{0, wrapTo(out.type.dtype, v)});
  }
}

}  // namespace tenc::interp
