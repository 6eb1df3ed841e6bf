// Arithmetic on f16 and bf16, one at a time and two in a word. Computed in double and rounded once.
#include <cmath>
#include <limits>

#include "tests/cuda/vm/Operations.h"

namespace tenc::ptx {

template <>
Half fromDouble<Half>(double d) {
  return {std::bit_cast<uint16_t>(static_cast<_Float16>(d))};
}

template <>
Bfloat fromDouble<Bfloat>(double d) {
  // To odd in f32, which has more than two bits to spare, and from there to the nearest.
  float f = static_cast<float>(d);
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if (std::isnan(f)) return {0x7FFF};
  if (std::isfinite(f) && static_cast<double>(f) != d) {
    if (std::fabs(static_cast<double>(f)) > std::fabs(d)) --bits;
    bits |= 1;
  }
  return {static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
}

namespace {

/// a * b + c, whose last bit is set where it is not exact: rounding it to a half is rounding the exact value.
double fusedToOdd(double a, double b, double c) {
  double product = a * b, sum = product + c;
  if (!std::isfinite(sum)) return sum;
  double back = sum - product, error = (product - (sum - back)) + (c - back);
  if (error == 0 || (std::bit_cast<uint64_t>(sum) & 1)) return sum;
  return std::nextafter(sum,
                        error > 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity());
}

template <auto F, class H>
uint16_t applyHalf(uint16_t a, uint16_t b, uint16_t c) {
  return fromDouble<H>(F(toFloat(H{a}), toFloat(H{b}), toFloat(H{c}))).bits;
}

/// `kPairs`: both halves of a word. Sources that the instruction has not are the first one again.
template <auto F, class H, bool kPairs>
void applyHalves(Warp& w, const Instruction& i) {
  const uint32_t* s[3];
  for (uint32_t n = 0; n < 3; ++n) s[n] = w.read<uint32_t>(i.from[n < i.sources ? n : 0]);
  alignas(64) uint32_t values[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    auto part = [&](uint32_t shift) {
      return uint32_t{applyHalf<F, H>(static_cast<uint16_t>(s[0][l] >> shift), static_cast<uint16_t>(s[1][l] >> shift),
                                      static_cast<uint16_t>(s[2][l] >> shift))};
    };
    values[l] = part(0);
    if constexpr (kPairs) values[l] |= part(16) << 16;
  }
  w.write(i.to[0], values);
}

template <auto F>
void addAll(Operations& t, const std::string& name) {
  t.add(name + ".f16", {applyHalves<F, Half, false>, 2, {2, 2, 2}});
  t.add(name + ".bf16", {applyHalves<F, Bfloat, false>, 2, {2, 2, 2}});
  t.add(name + ".f16x2", {applyHalves<F, Half, true>, 4, {4, 4, 4}});
  t.add(name + ".bf16x2", {applyHalves<F, Bfloat, true>, 4, {4, 4, 4}});
}

double least(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}

}  // namespace

void addHalves(Operations& t) {
  using D = double;
  addAll<[](D a, D b, D) { return a + b; }>(t, "add");
  addAll<[](D a, D b, D) { return a - b; }>(t, "sub");
  addAll<[](D a, D b, D) { return a * b; }>(t, "mul");
  addAll<[](D a, D b, D c) { return fusedToOdd(a, b, c); }>(t, "fma");
  addAll<[](D a, D b, D c) { return std::fmax(0., fusedToOdd(a, b, c)); }>(t, "fma.relu");
  addAll<[](D a, D, D) { return -a; }>(t, "neg");
  addAll<[](D a, D, D) { return std::fabs(a); }>(t, "abs");
  addAll<[](D a, D b, D) { return least(a, b); }>(t, "min");
  addAll<[](D a, D b, D) { return -least(-a, -b); }>(t, "max");
  addAll<[](D a, D, D) { return std::exp2(a); }>(t, "ex2.approx");
  addAll<[](D a, D, D) { return std::tanh(a); }>(t, "tanh.approx");
}

}  // namespace tenc::ptx
