// Integer arithmetic, bit fields and shifts.
#include <algorithm>
#include <limits>
#include <utility>

#include "tests/cuda/vm/Operations.h"

namespace tenc::ptx {
namespace {

template <class I>
constexpr uint32_t kBits = sizeof(I) * 8;

template <class I>
using Wider = std::conditional_t<sizeof(I) == 8, std::conditional_t<std::is_signed_v<I>, __int128, unsigned __int128>,
                                 std::conditional_t<std::is_signed_v<I>, int64_t, uint64_t>>;
/// Of mul.wide.
template <class I>
using Twice = std::conditional_t<sizeof(I) == 2, std::conditional_t<std::is_signed_v<I>, int32_t, uint32_t>,
                                 std::conditional_t<std::is_signed_v<I>, int64_t, uint64_t>>;

template <class I>
I high(I a, I b) {
  return static_cast<I>(static_cast<Wider<I>>(a) * static_cast<Wider<I>>(b) >> kBits<I>);
}

// What the hardware gives where C++ says nothing.
template <class I>
I quotient(I a, I b) {
  if (b == 0) return static_cast<I>(-1);
  if (std::is_signed_v<I> && b == static_cast<I>(-1)) return static_cast<I>(0 - static_cast<uint64_t>(a));
  return static_cast<I>(a / b);
}
template <class I>
I remainder(I a, I b) {
  if (b == 0) return a;
  if (std::is_signed_v<I> && b == static_cast<I>(-1)) return 0;
  return static_cast<I>(a % b);
}

template <class I>
I shiftRight(I a, uint32_t by) {
  if constexpr (std::is_signed_v<I>)
    return static_cast<I>(a >> std::min(by, kBits<I> - 1));
  else
    return by >= kBits<I> ? 0 : static_cast<I>(a >> by);
}
template <class I>
I shiftLeft(I a, uint32_t by) {
  return by >= kBits<I> ? 0 : static_cast<I>(static_cast<uint64_t>(a) << by);
}

template <class I>
I extractBits(I a, uint32_t at, uint32_t count) {
  using U = std::make_unsigned_t<I>;
  at &= 255;
  count &= 255;
  if (!count) return 0;
  bool ones = std::is_signed_v<I> && (static_cast<U>(a) >> std::min(at + count - 1, kBits<I> - 1) & 1);
  U field = at >= kBits<I> ? 0 : static_cast<U>(static_cast<U>(a) >> at);
  if (count < kBits<I>) field &= static_cast<U>((U{1} << count) - 1);
  uint32_t kept = at >= kBits<I> ? 0 : std::min(count, kBits<I> - at);
  if (ones && kept < kBits<I>) field |= static_cast<U>(~U{0} << kept);
  return static_cast<I>(field);
}
template <class I>
I insertBits(I a, I b, uint32_t at, uint32_t count) {
  at &= 255;
  count &= 255;
  if (at >= kBits<I> || !count) return b;
  I ones = count >= kBits<I> ? static_cast<I>(~I{0}) : static_cast<I>((I{1} << count) - 1);
  return static_cast<I>((b & ~(ones << at)) | ((a & ones) << at));
}

/// The highest bit that differs from the sign, as its place or as the shift that brings it to the top.
template <class I, bool kShift>
uint32_t findBit(I a) {
  using U = std::make_unsigned_t<I>;
  U v = static_cast<U>(std::is_signed_v<I> && a < 0 ? ~a : a);
  if (!v) return ~0u;
  uint32_t zeros = static_cast<uint32_t>(std::countl_zero(v));
  return kShift ? zeros : kBits<I> - 1 - zeros;
}

template <class I>
I reverseBits(I a) {
  I r = 0;
  for (uint32_t b = 0; b < kBits<I>; ++b) r |= static_cast<I>((a >> b & 1) << (kBits<I> - 1 - b));
  return r;
}

template <class I, bool kSubtract>
I saturating(I a, I b) {
  Wider<I> v = kSubtract ? Wider<I>{a} - b : Wider<I>{a} + b;
  return static_cast<I>(std::clamp<Wider<I>>(v, std::numeric_limits<I>::min(), std::numeric_limits<I>::max()));
}

/// Reports lanes that have -32768.
template <auto F>
void watchedShort(Warp& w, const Instruction& i) {
  const uint32_t* a = w.read<uint32_t>(i.from[0]);
  for (uint32_t l = 0; l < kLanes; ++l)
    if ((w.executing() >> l & 1) && static_cast<uint16_t>(a[l]) == 0x8000) w.report(Finding::ShortOverflow, w.who(l));
  detail::applyAll<F, int16_t, int16_t>(w, i);
}

template <class I>
void addArithmetic(Operations& t, const std::string& type) {
  using U = std::make_unsigned_t<I>;
  t.add("add." + type,
        lanewise<[](I a, I b) { return static_cast<I>(static_cast<U>(a) + static_cast<U>(b)); }, I, I, I>());
  t.add("sub." + type,
        lanewise<[](I a, I b) { return static_cast<I>(static_cast<U>(a) - static_cast<U>(b)); }, I, I, I>());
  t.add("mul.lo." + type, lanewise<[](I a, I b) { return static_cast<I>(uint64_t(a) * uint64_t(b)); }, I, I, I>());
  t.add("mad.lo." + type,
        lanewise<[](I a, I b, I c) { return static_cast<I>(uint64_t(a) * uint64_t(b) + uint64_t(c)); }, I, I, I, I>());
  t.add("mul.hi." + type, lanewise<high<I>, I, I, I>());
  t.add("mad.hi." + type,
        lanewise<[](I a, I b, I c) { return static_cast<I>(uint64_t(high(a, b)) + uint64_t(c)); }, I, I, I, I>());
  if constexpr (sizeof(I) < 8) {
    using W = Twice<I>;
    t.add("mul.wide." + type, lanewise<[](I a, I b) { return static_cast<W>(Wider<I>{a} * b); }, W, I, I>());
    t.add(
        "mad.wide." + type,
        lanewise<[](I a, I b, W c) { return static_cast<W>(uint64_t(Wider<I>{a} * b) + uint64_t(c)); }, W, I, I, W>());
  }
  t.add("div." + type, lanewise<quotient<I>, I, I, I>());
  t.add("rem." + type, lanewise<remainder<I>, I, I, I>());
  t.add("min." + type, lanewise<[](I a, I b) { return std::min(a, b); }, I, I, I>());
  t.add("max." + type, lanewise<[](I a, I b) { return std::max(a, b); }, I, I, I>());
  t.add("shr." + type, lanewise<shiftRight<I>, I, I, uint32_t>());
  t.add(
      "sad." + type,
      lanewise<[](I a, I b, I c) { return static_cast<I>((a > b ? U(a) - U(b) : U(b) - U(a)) + U(c)); }, I, I, I, I>());
  if constexpr (sizeof(I) >= 4) {
    t.add("bfe." + type, lanewise<extractBits<I>, I, I, uint32_t, uint32_t>());
    t.add("bfind." + type, lanewise<findBit<I, false>, uint32_t, I>());
    t.add("bfind.shiftamt." + type, lanewise<findBit<I, true>, uint32_t, I>());
  }
  if constexpr (std::is_signed_v<I>) {
    Operation abs = lanewise<[](I a) { return static_cast<I>(a < 0 ? 0 - U(a) : U(a)); }, I, I>();
    Operation neg = lanewise<[](I a) { return static_cast<I>(0 - U(a)); }, I, I>();
    if constexpr (sizeof(I) == 2) {
      abs.handler = watchedShort<[](I a) { return static_cast<I>(a < 0 ? 0 - U(a) : U(a)); }>;
      neg.handler = watchedShort<[](I a) { return static_cast<I>(0 - U(a)); }>;
    }
    t.add("abs." + type, std::move(abs));
    t.add("neg." + type, std::move(neg));
  }
}

template <class U>
void addBits(Operations& t, const std::string& bits) {
  std::string type = "b" + bits;
  t.add("and." + type, lanewise<[](U a, U b) { return static_cast<U>(a & b); }, U, U, U>());
  t.add("or." + type, lanewise<[](U a, U b) { return static_cast<U>(a | b); }, U, U, U>());
  t.add("xor." + type, lanewise<[](U a, U b) { return static_cast<U>(a ^ b); }, U, U, U>());
  t.add("not." + type, lanewise<[](U a) { return static_cast<U>(~a); }, U, U>());
  t.add("cnot." + type, lanewise<[](U a) { return static_cast<U>(a == 0); }, U, U>());
  t.add("shl." + type, lanewise<shiftLeft<U>, U, U, uint32_t>());
  t.alias("shr." + type, "shr.u" + bits);
  t.add("mov." + type, lanewise<[](U a) { return a; }, U, U>());
  for (const char* same : {"u", "s", "f"}) t.alias(std::string("mov.") + same + bits, "mov." + type);
  if constexpr (sizeof(U) >= 4) {
    t.add("popc." + type, lanewise<[](U a) { return static_cast<uint32_t>(std::popcount(a)); }, uint32_t, U>());
    t.add("clz." + type, lanewise<[](U a) { return static_cast<uint32_t>(std::countl_zero(a)); }, uint32_t, U>());
    t.add("brev." + type, lanewise<reverseBits<U>, U, U>());
    t.add("bfi." + type, lanewise<insertBits<U>, U, U, U, uint32_t, uint32_t>());
  }
}

/// add.cc, subc, madc.lo.cc and the like. `mode`: 1 reads the carry, 2 writes it; `variant`: 0 add, 1 sub, 2 mad.lo,
/// 3 mad.hi.
template <class U>
void withCarry(Warp& w, const Instruction& i) {
  using S = std::make_signed_t<U>;
  const U *a = w.read<U>(i.from[0]), *b = w.read<U>(i.from[1]), *c = w.read<U>(i.from[i.sources > 2 ? 2 : 0]);
  alignas(64) U values[kLanes];
  Mask out = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    U in = i.mode & 1 ? w.carry >> l & 1 : 0, x = a[l], y = b[l];
    if (i.variant >= 2) {
      x = i.variant == 2 ? static_cast<U>(x * y)
          : i.isSigned   ? static_cast<U>(high(static_cast<S>(x), static_cast<S>(y)))
                         : high(x, y);
      y = c[l];
    }
    unsigned __int128 wide = static_cast<unsigned __int128>(y) + in;
    bool carries = i.variant == 1 ? x < wide : (x + wide) >> kBits<U> != 0;
    values[l] = static_cast<U>(i.variant == 1 ? x - wide : x + wide);
    out |= static_cast<Mask>(carries) << l;
  }
  w.write(i.to[0], values);
  if (i.mode & 2) w.carry = (w.carry & ~w.executing()) | (out & w.executing());
}

/// dp4a, and dp2a with the lower or the upper half of its second operand: a sum of products of parts.
template <class A, class B, int kParts, int kFirst>
uint32_t dotProduct(uint32_t a, uint32_t b, uint32_t sum) {
  for (int p = 0; p < kParts; ++p) {
    const auto x = static_cast<A>(a >> (32 / kParts * p));
    const auto y = static_cast<B>(b >> (8 * (p + kFirst)));
    sum += static_cast<uint32_t>(int64_t{x} * y);
  }
  return sum;
}

template <class A, class B>
void addDotProducts(Operations& t, const std::string& types) {
  using Narrow = std::conditional_t<std::is_signed_v<A>, int8_t, uint8_t>;
  const auto add = [&](const std::string& name, auto operation) { t.add(name + types, std::move(operation)); };
  add("dp2a.lo.", lanewise<dotProduct<A, B, 2, 0>, uint32_t, uint32_t, uint32_t, uint32_t>());
  add("dp2a.hi.", lanewise<dotProduct<A, B, 2, 2>, uint32_t, uint32_t, uint32_t, uint32_t>());
  add("dp4a.", lanewise<dotProduct<Narrow, B, 4, 0>, uint32_t, uint32_t, uint32_t, uint32_t>());
}

}  // namespace

void addIntegers(Operations& t) {
  addDotProducts<uint16_t, uint8_t>(t, "u32.u32");
  addDotProducts<uint16_t, int8_t>(t, "u32.s32");
  addDotProducts<int16_t, uint8_t>(t, "s32.u32");
  addDotProducts<int16_t, int8_t>(t, "s32.s32");
  addArithmetic<int16_t>(t, "s16");
  addArithmetic<uint16_t>(t, "u16");
  addArithmetic<int32_t>(t, "s32");
  addArithmetic<uint32_t>(t, "u32");
  addArithmetic<int64_t>(t, "s64");
  addArithmetic<uint64_t>(t, "u64");
  addBits<uint16_t>(t, "16");
  addBits<uint32_t>(t, "32");
  addBits<uint64_t>(t, "64");
  t.add("add.sat.s32", lanewise<saturating<int32_t, false>, int32_t, int32_t, int32_t>());
  t.add("sub.sat.s32", lanewise<saturating<int32_t, true>, int32_t, int32_t, int32_t>());
  t.add("carry.32", {withCarry<uint32_t>, 4, {4, 4, 4}});
  t.add("carry.64", {withCarry<uint64_t>, 8, {8, 8, 8}});
}

}  // namespace tenc::ptx
