// cvt between integers, floats and halves.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cuda/vm/Operations.h"

namespace tenc::ptx {
namespace {

template <class I>
const char* name();
template <>
const char* name<uint8_t>() {
  return "u8";
}
template <>
const char* name<int8_t>() {
  return "s8";
}
template <>
const char* name<uint16_t>() {
  return "u16";
}
template <>
const char* name<int16_t>() {
  return "s16";
}
template <>
const char* name<uint32_t>() {
  return "u32";
}
template <>
const char* name<int32_t>() {
  return "s32";
}
template <>
const char* name<uint64_t>() {
  return "u64";
}
template <>
const char* name<int64_t>() {
  return "s64";
}

enum class ToInteger { Nearest, Zero, Down, Up };

template <ToInteger R, class F>
F rounded(F f) {
  switch (R) {
    case ToInteger::Nearest: return std::nearbyint(f);
    case ToInteger::Zero: return std::trunc(f);
    case ToInteger::Down: return std::floor(f);
    case ToInteger::Up: return std::ceil(f);
  }
}

/// Values out of range become the nearest integer, and NaN zero.
template <class I, ToInteger R>
I toInteger(double f) {
  using L = std::numeric_limits<I>;
  if (std::isnan(f)) return 0;
  f = rounded<R>(f);
  if (f <= static_cast<double>(L::min())) return L::min();
  return f >= static_cast<double>(L::max()) ? L::max() : static_cast<I>(f);
}

template <class To, class From>
To clamped(From v) {
  using L = std::numeric_limits<To>;
  if constexpr (std::is_signed_v<From>) {
    if (!std::is_signed_v<To> && v < 0) return 0;
    if (std::is_signed_v<To> && int64_t{v} < int64_t(L::min())) return L::min();
  }
  return v > 0 && uint64_t(v) > uint64_t(L::max()) ? L::max() : static_cast<To>(v);
}

template <class To, class From>
void addBetween(Operations& t) {
  std::string types = std::string(name<To>()) + "." + name<From>();
  t.add("cvt." + types, lanewise<[](From a) { return static_cast<To>(a); }, To, From>());
  t.add("cvt.sat." + types, lanewise<[](From a) { return clamped<To, From>(a); }, To, From>());
}

template <class I, ToInteger R>
void addToInteger(Operations& t, const std::string& mode) {
  std::string to = "cvt." + mode + "." + name<I>();
  t.add(to + ".f32", lanewise<[](float a) { return toInteger<I, R>(double{a}); }, I, float>());
  t.add(to + ".f64", lanewise<[](double a) { return toInteger<I, R>(a); }, I, double>());
  t.add(to + ".f16", lanewise<[](Half a) { return toInteger<I, R>(double{toFloat(a)}); }, I, Half>());
  t.add(to + ".bf16", lanewise<[](Bfloat a) { return toInteger<I, R>(double{toFloat(a)}); }, I, Bfloat>());
}

/// Integers of 64 bits lose bits in double: their last one says so, and the second rounding is right.
template <class H, class I>
H halfOf(I a) {
  if constexpr (sizeof(I) == 8) {
    uint64_t magnitude = std::is_signed_v<I> && a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
    if (magnitude >> 53) magnitude = (magnitude >> 12 | ((magnitude & 4095) != 0)) << 12;
    double d = static_cast<double>(magnitude);
    return fromDouble<H>(std::is_signed_v<I> && a < 0 ? -d : d);
  } else {
    return fromDouble<H>(static_cast<double>(a));
  }
}

template <class I>
void addInteger(Operations& t) {
  addBetween<I, uint8_t>(t);
  addBetween<I, int8_t>(t);
  addBetween<I, uint16_t>(t);
  addBetween<I, int16_t>(t);
  addBetween<I, uint32_t>(t);
  addBetween<I, int32_t>(t);
  addBetween<I, uint64_t>(t);
  addBetween<I, int64_t>(t);
  addToInteger<I, ToInteger::Nearest>(t, "rni");
  addToInteger<I, ToInteger::Zero>(t, "rzi");
  addToInteger<I, ToInteger::Down>(t, "rmi");
  addToInteger<I, ToInteger::Up>(t, "rpi");
  std::string from = std::string(".") + name<I>();
  t.add("cvt.rn.f32" + from, lanewise<[](I a) { return static_cast<float>(a); }, float, I>());
  t.add("cvt.rn.f64" + from, lanewise<[](I a) { return static_cast<double>(a); }, double, I>());
  t.add("cvt.rn.f16" + from, lanewise<halfOf<Half, I>, Half, I>());
  t.add("cvt.rn.bf16" + from, lanewise<halfOf<Bfloat, I>, Bfloat, I>());
}

template <class F>
void addRounding(Operations& t, const std::string& types) {
  t.add("cvt.rni." + types, lanewise<rounded<ToInteger::Nearest, F>, F, F>());
  t.add("cvt.rzi." + types, lanewise<rounded<ToInteger::Zero, F>, F, F>());
  t.add("cvt.rmi." + types, lanewise<rounded<ToInteger::Down, F>, F, F>());
  t.add("cvt.rpi." + types, lanewise<rounded<ToInteger::Up, F>, F, F>());
  t.add("cvt." + types, lanewise<[](F a) { return a; }, F, F>());
}

template <class H>
uint32_t packed(float high, float low) {
  return uint32_t{fromDouble<H>(high).bits} << 16 | fromDouble<H>(low).bits;
}

/// 10 bits of fraction, ties away from zero.
uint32_t toTf32(float f) {
  uint32_t bits = std::bit_cast<uint32_t>(f);
  return std::isfinite(f) ? (bits + 0x1000) & 0xFFFFE000 : bits;
}

/// Towards zero where that is not exact.
float truncated(double d) {
  float f = static_cast<float>(d);
  return std::fabs(double{f}) > std::fabs(d) ? std::nextafter(f, 0.f) : f;
}

}  // namespace

void addConversions(Operations& t) {
  addInteger<uint8_t>(t);
  addInteger<int8_t>(t);
  addInteger<uint16_t>(t);
  addInteger<int16_t>(t);
  addInteger<uint32_t>(t);
  addInteger<int32_t>(t);
  addInteger<uint64_t>(t);
  addInteger<int64_t>(t);
  addRounding<float>(t, "f32.f32");
  addRounding<double>(t, "f64.f64");
  t.add("cvt.f64.f32", lanewise<[](float a) { return double{a}; }, double, float>());
  t.add("cvt.rn.f32.f64", lanewise<[](double a) { return static_cast<float>(a); }, float, double>());
  t.add("cvt.rz.f32.f64", lanewise<truncated, float, double>());
  t.add("cvt.f32.f16", lanewise<[](Half a) { return toFloat(a); }, float, Half>());
  t.add("cvt.f32.bf16", lanewise<[](Bfloat a) { return toFloat(a); }, float, Bfloat>());
  t.add("cvt.f64.f16", lanewise<[](Half a) { return double{toFloat(a)}; }, double, Half>());
  t.add("cvt.f64.bf16", lanewise<[](Bfloat a) { return double{toFloat(a)}; }, double, Bfloat>());
  t.add("cvt.rn.f16.f32", lanewise<[](float a) { return fromDouble<Half>(a); }, Half, float>());
  t.add("cvt.rn.bf16.f32", lanewise<[](float a) { return fromDouble<Bfloat>(a); }, Bfloat, float>());
  t.add("cvt.rn.f16.f64", lanewise<[](double a) { return fromDouble<Half>(a); }, Half, double>());
  t.add("cvt.rn.bf16.f64", lanewise<[](double a) { return fromDouble<Bfloat>(a); }, Bfloat, double>());
  t.add("cvt.rn.bf16.f16", lanewise<[](Half a) { return fromDouble<Bfloat>(toFloat(a)); }, Bfloat, Half>());
  t.add("cvt.rn.f16.bf16", lanewise<[](Bfloat a) { return fromDouble<Half>(toFloat(a)); }, Half, Bfloat>());
  t.add("cvt.rn.f16x2.f32", lanewise<packed<Half>, uint32_t, float, float>());
  t.add("cvt.rn.bf16x2.f32", lanewise<packed<Bfloat>, uint32_t, float, float>());
  t.add("cvt.rna.tf32.f32", lanewise<toTf32, uint32_t, float>());
}

}  // namespace tenc::ptx
