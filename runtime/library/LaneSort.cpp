// Compiled once for AVX2 and once for AVX-512 by Highway's foreach_target; which one runs is chosen at the end.
//
// The network is Batcher's bitonic one with each merge's first step mirrored, so that the smaller key always goes to
// the lower place: what stands beyond the end of a row are the largest keys, which stay there (Batcher 1968, "Sorting
// networks and their applications").
#include "runtime/library/LaneSort.h"

#undef HWY_DISABLED_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/library/LaneSort.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "runtime/library/TurnSquare.h"

HWY_BEFORE_NAMESPACE();
namespace tenc::rt::library {
namespace HWY_NAMESPACE {

constexpr int kBlock = 16;  // vectors that are sorted in registers

template <class V>
HWY_ATTR HWY_INLINE void exchange(V& low, V& high) {
  const V least = hn::Min(low, high);
  high = hn::Max(low, high);
  low = least;
}

/// Of each run of 2 kApart vectors, those that are kApart apart.
template <int kApart, int kCount, class V>
HWY_ATTR HWY_INLINE void exchangeApart(V (&v)[kCount]) {
  for (int i = 0; i < kCount; ++i)
    if ((i & kApart) == 0) exchange(v[i], v[i + kApart]);
}

/// The steps of kApart, kApart / 2, ..., 1.
template <int kApart, int kCount, class V>
HWY_ATTR HWY_INLINE void halve(V (&v)[kCount]) {
  if constexpr (kApart > 0) {
    exchangeApart<kApart>(v);
    halve<kApart / 2>(v);
  }
}

/// Of each run of kRun vectors, the first and the last, the second and the last but one, ...
template <int kRun, int kCount, class V>
HWY_ATTR HWY_INLINE void exchangeMirrored(V (&v)[kCount]) {
  for (int i = 0; i < kCount; ++i)
    if (i % kRun < kRun / 2) exchange(v[i], v[i - i % kRun + kRun - 1 - i % kRun]);
}

/// Sorts runs of kRun vectors, of which the halves are in order, and then those of the double length.
template <int kRun, int kCount, class V>
HWY_ATTR HWY_INLINE void sortRuns(V (&v)[kCount]) {
  exchangeMirrored<kRun>(v);
  halve<kRun / 4>(v);
  if constexpr (kRun < kCount) sortRuns<2 * kRun>(v);
}

template <class S, class What>
HWY_ATTR HWY_INLINE void inRegisters(S* block, What what) {
  const Wide<S> d;
  hn::Vec<Wide<S>> v[kBlock];
  for (int i = 0; i < kBlock; ++i) v[i] = hn::Load(d, block + i * kGroup<S>);
  what(v);
  for (int i = 0; i < kBlock; ++i) hn::Store(v[i], d, block + i * kGroup<S>);
}

/// Merges the halves of kBlocks blocks, of which there are `blocks`, and the others stand for the largest keys.
template <class S, int kBlocks>
HWY_ATTR void mergeBlocks(S* keys, int64_t blocks) {
  constexpr int kHalf = kBlocks / 2;
  if (blocks <= kHalf) return;
  const Wide<S> d;
  for (int64_t r = 0; r < kBlock; ++r) {
    S* const low = keys + r * kGroup<S>;
    S* const high = keys + (kBlock - 1 - r) * kGroup<S>;
    hn::Vec<Wide<S>> v[kBlocks];
    for (int i = 0; i < kBlocks; ++i)
      v[i] =
          i < blocks ? hn::Load(d, (i < kHalf ? low : high) + i * kBlock * kGroup<S>) : hn::Set(d, hwy::LimitsMax<S>());
    exchangeMirrored<kBlocks>(v);
    halve<kHalf / 2>(v);
    for (int i = 0; i < kBlocks; ++i)
      if (i < blocks) hn::Store(v[i], d, (i < kHalf ? low : high) + i * kBlock * kGroup<S>);
  }
  for (int64_t i = 0; i < kBlocks && i < blocks; ++i)
    inRegisters(keys + i * kBlock * kGroup<S>, [](auto& v) HWY_ATTR { halve<kBlock / 2>(v); });
}

/// Merges pairs of runs of kBlocks / 2 blocks, and then those of the double length.
template <class S, int kBlocks>
HWY_ATTR void mergeRuns(S* keys, int64_t blocks) {
  if (blocks <= kBlocks / 2) return;
  for (int64_t at = 0; at < blocks; at += kBlocks) mergeBlocks<S, kBlocks>(keys + at * kBlock * kGroup<S>, blocks - at);
  if constexpr (kBlocks * kBlock < kMostLaneRow<S>) mergeRuns<S, 2 * kBlocks>(keys, blocks);
}

/// A key in the order of elements as signed integers, by all bits: -0 is below +0. Its own inverse.
template <class S, class V>
HWY_ATTR HWY_INLINE V turn(V bits, Element kind) {
  const Wide<S> d;
  if (kind == Element::Unsigned) return hn::Xor(bits, hn::Set(d, hwy::LimitsMin<S>()));
  if (kind == Element::Float)
    return hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), hn::Set(d, hwy::LimitsMax<S>())));
  return bits;
}

template <class U, class S = hwy::MakeSigned<U>>
HWY_ATTR LaneOddities sortLanes(const U* elements, U* sorted, int64_t n, const LaneOrder<U>& order) {
  const S* const rows = reinterpret_cast<const S*>(elements);
  S* const out = reinterpret_cast<S*>(sorted);
  const Element kind = order.kind;
  using V = hn::Vec<Wide<S>>;
  const Wide<S> d;
  constexpr int64_t kStep = kGroup<S>;
  alignas(64) S keys[static_cast<size_t>(kMostLaneRow<S> * kStep)];
  toLanes(rows, keys, n);
  const V flip = hn::Set(d, static_cast<S>(order.descending ? -1 : 0)), most = hn::Set(d, hwy::LimitsMax<S>());
  const V infinity = hn::Set(d, static_cast<S>(order.infinity));
  V largest = hn::Zero(d), zeros = hn::Zero(d);
  for (S* at = keys; at < keys + n * kStep; at += kLanes<S>) {
    const V bits = hn::Load(d, at);
    if (kind == Element::Float) {
      largest = hn::Max(largest, hn::And(bits, most));
      zeros = hn::Or(zeros, hn::VecFromMask(d, hn::Eq(bits, hn::Set(d, hwy::LimitsMin<S>()))));
    }
    hn::Store(hn::Xor(turn<S>(bits, kind), flip), d, at);
  }
  if (!hn::AllFalse(d, hn::Gt(largest, infinity))) return {true, false};
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  for (S* at = keys + n * kStep; at < keys + blocks * kBlock * kStep; at += kLanes<S>) hn::Store(most, d, at);
  for (S* half = keys; half < keys + kStep; half += kLanes<S>) {
    for (int64_t i = 0; i < blocks; ++i)
      inRegisters(half + i * kBlock * kStep, [](auto& v) HWY_ATTR { sortRuns<2>(v); });
    mergeRuns<S, 2>(half, blocks);
  }
  for (S* at = keys; at < keys + n * kStep; at += kLanes<S>)
    hn::Store(turn<S>(hn::Xor(hn::Load(d, at), flip), kind), d, at);
  fromLanes(keys, out, n);
  return {false, !hn::AllTrue(d, hn::Eq(zeros, hn::Zero(d)))};
}

LaneOddities sortLanes16(const uint16_t* rows, uint16_t* out, int64_t n, const LaneOrder<uint16_t>& order) {
  return sortLanes(rows, out, n, order);
}
LaneOddities sortLanes32(const uint32_t* rows, uint32_t* out, int64_t n, const LaneOrder<uint32_t>& order) {
  return sortLanes(rows, out, n, order);
}
LaneOddities sortLanes64(const uint64_t* rows, uint64_t* out, int64_t n, const LaneOrder<uint64_t>& order) {
  return sortLanes(rows, out, n, order);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenc::rt::library
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenc::rt::library {

LaneOddities sortInLanes(const uint16_t* rows, uint16_t* out, int64_t n, const LaneOrder<uint16_t>& order) {
  return (hasAvx512() ? N_AVX3::sortLanes16 : N_AVX2::sortLanes16)(rows, out, n, order);
}
LaneOddities sortInLanes(const uint32_t* rows, uint32_t* out, int64_t n, const LaneOrder<uint32_t>& order) {
  return (hasAvx512() ? N_AVX3::sortLanes32 : N_AVX2::sortLanes32)(rows, out, n, order);
}
LaneOddities sortInLanes(const uint64_t* rows, uint64_t* out, int64_t n, const LaneOrder<uint64_t>& order) {
  return (hasAvx512() ? N_AVX3::sortLanes64 : N_AVX2::sortLanes64)(rows, out, n, order);
}

}  // namespace tenc::rt::library
#endif  // HWY_ONCE
