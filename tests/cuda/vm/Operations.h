// The table of instructions that compute on registers alone: a handler for each opcode with its types, and the widths
// of its operands, which follow from the types of the C++ function that it applies to each lane.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/cuda/vm/Kernel.h"
#include "tests/cuda/vm/Warp.h"

namespace tenc::ptx {

/// Bytes that stand for a predicate where widths of operands are listed.
constexpr uint8_t kPredicateWidth = 0;

struct Operation {
  Handler handler = nullptr;
  uint8_t to = 4;
  std::vector<uint8_t> from;
};

class Operations {
 public:
  /// All of them; made on first use.
  static const Operations& all();
  const Operation* find(const std::string& key) const;
  void add(const std::string& key, Operation o) { table_[key] = std::move(o); }
  void alias(const std::string& key, const std::string& same) { table_[key] = table_.at(same); }

 private:
  std::unordered_map<std::string, Operation> table_;
};

void addIntegers(Operations& all);
void addLogic(Operations& all);
void addFloats(Operations& all);
void addHalves(Operations& all);
void addComparisons(Operations& all);
void addConversions(Operations& all);

// 16-bit floats.
struct Half {
  uint16_t bits = 0;
};
struct Bfloat {
  uint16_t bits = 0;
};
inline float toFloat(Half h) { return static_cast<float>(std::bit_cast<_Float16>(h.bits)); }
inline float toFloat(Bfloat b) { return std::bit_cast<float>(static_cast<uint32_t>(b.bits) << 16); }
/// Rounded to the nearest, once.
template <class H>
H fromDouble(double d);

// What a type is kept as in a lane.
template <class T>
struct Kept {
  using Type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
};
template <class T>
using KeptType = typename Kept<T>::Type;

template <class T>
T decodeLane(KeptType<T> v) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(v);
  else if constexpr (std::is_class_v<T>)
    return T{static_cast<uint16_t>(v)};
  else
    return static_cast<T>(v);
}
/// Narrow integers are extended by their sign, as a wider register wants them.
template <class T>
KeptType<T> encodeLane(T v) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<KeptType<T>>(v);
  else if constexpr (std::is_class_v<T>)
    return v.bits;
  else if constexpr (std::is_signed_v<T> && sizeof(T) < 4)
    return static_cast<uint32_t>(static_cast<int32_t>(v));
  else
    return static_cast<KeptType<T>>(v);
}

namespace detail {

template <auto F, class To, class... From, size_t... N>
void applyLanes(Warp& w, const Instruction& i, std::index_sequence<N...>) {
  auto apply = [&](const KeptType<From>* __restrict... from) {
    alignas(64) KeptType<To> values[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) values[l] = encodeLane<To>(F(decodeLane<From>(from[l])...));
    w.write(i.to[0], values);
  };
  apply(w.read<KeptType<From>>(i.from[N])...);
}
template <auto F, class To, class... From>
void applyAll(Warp& w, const Instruction& i) {
  applyLanes<F, To, From...>(w, i, std::index_sequence_for<From...>{});
}

/// Where two predicates are written, the second is the opposite; `mode` joins a third operand: 1 and, 2 or, 3 xor.
inline void writeComparison(Warp& w, const Instruction& i, Mask holds) {
  Mask opposite = ~holds;
  if (i.mode) {
    Mask c = w.predicate(i.from[2], i.negated >> 2 & 1);
    auto join = [&](Mask m) { return i.mode == 1 ? m & c : i.mode == 2 ? m | c : m ^ c; };
    holds = join(holds);
    opposite = join(opposite);
  }
  w.writePredicate(i.to[0], holds);
  if (i.destinations > 1) w.writePredicate(i.to[1], opposite);
}
template <auto F, class T>
void compareAll(Warp& w, const Instruction& i) {
  const auto* a = w.read<KeptType<T>>(i.from[0]);
  const auto* b = w.read<KeptType<T>>(i.from[1]);
  Mask holds = 0;
  for (uint32_t l = 0; l < kLanes; ++l) holds |= static_cast<Mask>(F(decodeLane<T>(a[l]), decodeLane<T>(b[l]))) << l;
  writeComparison(w, i, holds);
}

}  // namespace detail

/// An instruction that applies F to each lane.
template <auto F, class To, class... From>
Operation lanewise() {
  return {&detail::applyAll<F, To, From...>, sizeof(To), {sizeof(From)...}};
}
/// One that gives predicates.
template <auto F, class T>
Operation comparison() {
  return {&detail::compareAll<F, T>, kPredicateWidth, {sizeof(T), sizeof(T), kPredicateWidth}};
}

}  // namespace tenc::ptx
