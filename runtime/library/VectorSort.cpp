// Compiled once for AVX2 and once for AVX-512 by Highway's foreach_target; which one runs is chosen here.
#include "runtime/library/VectorSort.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "runtime/library/Library.h"
#include "runtime/library/Processor.h"

#undef HWY_DISABLED_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/library/VectorSort.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
// After highway.h
#include "hwy/contrib/sort/traits-inl.h"
#include "hwy/contrib/sort/traits128-inl.h"
#include "hwy/contrib/sort/vqsort-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenc::rt::library {
namespace HWY_NAMESPACE {

template <class T>
HWY_ATTR void sortLanes(T* keys, size_t n) {
  using Order = hwy::HWY_NAMESPACE::detail::OrderAscending<T>;
  const hwy::HWY_NAMESPACE::detail::SharedTraits<hwy::HWY_NAMESPACE::detail::TraitsLane<Order>> traits;
  hwy::HWY_NAMESPACE::Sort(hwy::HWY_NAMESPACE::SortTag<T>(), traits, keys, n, static_cast<T*>(nullptr));
}

HWY_ATTR void sortPairs(uint64_t* words, size_t n) {
  using Order = hwy::HWY_NAMESPACE::detail::OrderAscending128;
  const hwy::HWY_NAMESPACE::detail::SharedTraits<hwy::HWY_NAMESPACE::detail::Traits128<Order>> traits;
  hwy::HWY_NAMESPACE::Sort(hwy::HWY_NAMESPACE::SortTag<uint64_t>(), traits, words, 2 * n,
                           static_cast<uint64_t*>(nullptr));
}

constexpr size_t kTogether = 4;  // vectors that are read together

/// Stores the lanes of v that are below the pivot from *begin on and the others before *end, where between them is room
/// for a vector on either side, or for this one alone.
template <class D, class T, class Mask>
HWY_ATTR HWY_INLINE void storeParts(D d, hwy::HWY_NAMESPACE::Vec<D> v, Mask below, T* HWY_RESTRICT keys, size_t& begin,
                                    size_t& end) {
  namespace hn = hwy::HWY_NAMESPACE;
  const size_t lanes = hn::Lanes(d), count = hn::CountTrue(d, below);
  if constexpr (hn::CompressIsPartition<T>::value) {
    const auto parts = hn::Compress(v, below);
    hn::StoreU(parts, d, keys + begin);
    hn::StoreU(parts, d, keys + end - lanes);
  } else {
    hn::CompressBlendedStore(v, below, d, keys + begin);
    hn::CompressBlendedStore(v, hn::Not(below), d, keys + end - (lanes - count));
  }
  begin += count;
  end -= lanes - count;
}

/// Moves the keys below the pivot before all others and returns how many they are; n is a multiple of the lanes of a
/// group, or 0. A key is one lane, or two where `isBelow` says the same of both. In place with groups from both ends
/// held aside, which leave room for those that are written (Bramas 2017, "A Novel Hybrid Quicksort Algorithm Vectorized
/// using AVX-512 on Intel Skylake").
template <class D, class T, class IsBelow>
HWY_ATTR HWY_INLINE size_t partitionLanes(D d, T* HWY_RESTRICT keys, size_t n, IsBelow isBelow) {
  namespace hn = hwy::HWY_NAMESPACE;
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d), step = kTogether * lanes;
  size_t readBegin = 0, readEnd = n, begin = 0, end = n;
  if (n < 2 * step) {
    // One group.
    if (n == 0) return 0;
    const V v0 = hn::LoadU(d, keys), v1 = hn::LoadU(d, keys + lanes), v2 = hn::LoadU(d, keys + 2 * lanes),
            v3 = hn::LoadU(d, keys + 3 * lanes);
    for (const V& v : {v0, v1, v2, v3}) storeParts(d, v, isBelow(v), keys, begin, end);
    return begin;
  }
  const T* const last = keys + n - step;
  const V a0 = hn::LoadU(d, keys), a1 = hn::LoadU(d, keys + lanes), a2 = hn::LoadU(d, keys + 2 * lanes),
          a3 = hn::LoadU(d, keys + 3 * lanes);
  const V b0 = hn::LoadU(d, last), b1 = hn::LoadU(d, last + lanes), b2 = hn::LoadU(d, last + 2 * lanes),
          b3 = hn::LoadU(d, last + 3 * lanes);
  readBegin += step;
  readEnd -= step;
  while (readBegin < readEnd) {
    // From the end with less room: both have room for a group then.
    const bool atBegin = readBegin - begin <= end - readEnd;
    readEnd -= atBegin ? 0 : step;
    const T* const next = keys + (atBegin ? readBegin : readEnd);
    readBegin += atBegin ? step : 0;
    const V v0 = hn::LoadU(d, next), v1 = hn::LoadU(d, next + lanes), v2 = hn::LoadU(d, next + 2 * lanes),
            v3 = hn::LoadU(d, next + 3 * lanes);
    storeParts(d, v0, isBelow(v0), keys, begin, end);
    storeParts(d, v1, isBelow(v1), keys, begin, end);
    storeParts(d, v2, isBelow(v2), keys, begin, end);
    storeParts(d, v3, isBelow(v3), keys, begin, end);
  }
  for (const V& v : {a0, a1, a2, a3, b0, b1, b2, b3}) storeParts(d, v, isBelow(v), keys, begin, end);
  return begin;
}

template <class T>
HWY_ATTR size_t partitionKeys(T* keys, size_t n, T pivot) {
  const hwy::HWY_NAMESPACE::ScalableTag<T> d;
  const auto pivots = hwy::HWY_NAMESPACE::Set(d, pivot);
  return partitionLanes(d, keys, n, [=](auto v) HWY_ATTR { return hwy::HWY_NAMESPACE::Lt(v, pivots); });
}

HWY_ATTR size_t partitionPairs(KeyPlace* pairs, size_t n, KeyPlace pivot) {
  const hwy::HWY_NAMESPACE::ScalableTag<uint64_t> d;
  const auto pivots = hwy::HWY_NAMESPACE::LoadDup128(d, &pivot.place);
  return partitionLanes(d, &pairs->place, 2 * n,
                        [=](auto v) HWY_ATTR { return hwy::HWY_NAMESPACE::Lt128(d, v, pivots); }) /
         2;
}

template <class U>
HWY_ATTR Oddities encodeLanes(const U* HWY_RESTRICT row, U* HWY_RESTRICT keys, size_t n, Element kind,
                              bool descending) {
  constexpr U kTop = kTopBit<U>;
  const U flip = descending ? ~U{0} : U{0};
  Oddities odd;
  if (kind != Element::Float) {
    const U turn = flip ^ (kind == Element::Signed ? kTop : U{0});
    for (size_t i = 0; i < n; ++i) keys[i] = row[i] ^ turn;
    return odd;
  }
  U nans = 0, zeros = 0;
  for (size_t i = 0; i < n; ++i) {
    const U x = row[i];
    nans += isNan(x);
    zeros += x == kTop;
    keys[i] = x ^ ((U{0} - (x >> (8 * sizeof(U) - 1))) | kTop) ^ flip;
  }
  odd.nans = nans;
  odd.negativeZeros = zeros;
  return odd;
}

template <class U>
HWY_ATTR void decodeLanes(U* keys, size_t n, Element kind, bool descending) {
  constexpr U kTop = kTopBit<U>;
  const U flip = descending ? ~U{0} : U{0};
  if (kind != Element::Float) {
    const U turn = flip ^ (kind == Element::Signed ? kTop : U{0});
    if (turn == 0) return;
    for (size_t i = 0; i < n; ++i) keys[i] ^= turn;
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    const U k = keys[i] ^ flip;
    keys[i] = k ^ (((k >> (8 * sizeof(U) - 1)) - U{1}) | kTop);
  }
}

/// The keys of a stable order: -0 as +0, every NaN as the largest element. put(i, key) takes them.
template <class U, class F>
HWY_ATTR HWY_INLINE void stableKeys(const U* HWY_RESTRICT row, size_t n, Element kind, bool descending, F put) {
  constexpr int kLast = 8 * sizeof(U) - 1;
  constexpr U kTop = kTopBit<U>;
  const U flip = descending ? ~U{0} : U{0};
  if (kind != Element::Float) {
    const U turn = flip ^ (kind == Element::Signed ? kTop : U{0});
    for (size_t i = 0; i < n; ++i) put(i, row[i] ^ turn);
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    U x = row[i];
    x = x == kTop ? U{0} : x;
    x = isNan(x) ? ~kTop : x;
    put(i, x ^ ((U{0} - (x >> kLast)) | kTop) ^ flip);
  }
}

HWY_ATTR KeyRange<uint64_t> stableLanes(const uint64_t* HWY_RESTRICT row, uint64_t* HWY_RESTRICT keys, size_t n,
                                        Element kind, bool descending) {
  uint64_t least = ~uint64_t{0}, most = 0;
  stableKeys(row, n, kind, descending, [&](size_t i, uint64_t key) HWY_ATTR {
    keys[i] = key;
    least = key < least ? key : least;
    most = key > most ? key : most;
  });
  return {least, most};
}

HWY_ATTR void encodePairLanes(const uint32_t* HWY_RESTRICT row, uint64_t* HWY_RESTRICT pairs, size_t n, Element kind,
                              bool descending) {
  stableKeys(row, n, kind, descending,
             [=](size_t i, uint32_t key) HWY_ATTR { pairs[i] = uint64_t{key} << 32 | static_cast<uint32_t>(i); });
}

HWY_ATTR size_t pairsBelowLanes(const uint32_t* HWY_RESTRICT row, uint64_t* HWY_RESTRICT pairs, size_t n, Element kind,
                                bool descending, uint32_t bound) {
  constexpr size_t kGroup = 32;  // looked through together; most groups hold no such key
  uint32_t keys[256];
  uint32_t* HWY_RESTRICT k = keys;
  stableKeys(row, n, kind, descending, [=](size_t i, uint32_t key) HWY_ATTR { k[i] = key; });
  size_t count = 0;
  for (size_t at = 0; at < n; at += kGroup) {
    const size_t end = at + kGroup < n ? at + kGroup : n;
    uint32_t least = ~0u;
    for (size_t i = at; i < end; ++i) least = keys[i] < least ? keys[i] : least;
    if (least >= bound) continue;
    for (size_t i = at; i < end; ++i) {
      pairs[count] = uint64_t{keys[i]} << 32 | static_cast<uint32_t>(i);
      count += keys[i] < bound;
    }
  }
  return count;
}

template <class Key>
HWY_ATTR void classifyLanes(const Key* HWY_RESTRICT keys, size_t n, const Key* HWY_RESTRICT pivots,
                            uint8_t* HWY_RESTRICT classes) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<Key> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto a = hn::LoadU(d, keys + i), b = hn::LoadU(d, keys + i + lanes);
    auto atA = hn::Set(d, Key{kPivots}), atB = atA;
    for (size_t p = 0; p < kPivots; ++p) {
      const auto pivot = hn::Set(d, pivots[p]);
      atA = hn::Add(atA, hn::VecFromMask(d, hn::Lt(a, pivot)));
      atB = hn::Add(atB, hn::VecFromMask(d, hn::Lt(b, pivot)));
    }
    hn::StoreU(hn::TruncateTo(bytes, atA), bytes, classes + i);
    hn::StoreU(hn::TruncateTo(bytes, atB), bytes, classes + i + lanes);
  }
  for (; i < n; ++i) {
    classes[i] = 0;
    for (size_t p = 0; p < kPivots; ++p) classes[i] += keys[i] >= pivots[p];
  }
}
void classify32(const uint32_t* k, size_t n, const uint32_t* p, uint8_t* c) { classifyLanes(k, n, p, c); }
void classify64(const uint64_t* k, size_t n, const uint64_t* p, uint8_t* c) { classifyLanes(k, n, p, c); }

void sort32(uint32_t* k, size_t n) { sortLanes(k, n); }
void sort64(uint64_t* k, size_t n) { sortLanes(k, n); }
void sort128(KeyPlace* k, size_t n) { sortPairs(&k->place, n); }
size_t partition32(uint32_t* k, size_t n, uint32_t pivot) { return partitionKeys(k, n, pivot); }
size_t partition64(uint64_t* k, size_t n, uint64_t pivot) { return partitionKeys(k, n, pivot); }
size_t partition128(KeyPlace* k, size_t n, KeyPlace pivot) { return partitionPairs(k, n, pivot); }
Oddities encode32(const uint32_t* r, uint32_t* k, size_t n, Element kind, bool d) {
  return encodeLanes(r, k, n, kind, d);
}
Oddities encode64(const uint64_t* r, uint64_t* k, size_t n, Element kind, bool d) {
  return encodeLanes(r, k, n, kind, d);
}
void decode32(uint32_t* k, size_t n, Element kind, bool d) { decodeLanes(k, n, kind, d); }
void decode64(uint64_t* k, size_t n, Element kind, bool d) { decodeLanes(k, n, kind, d); }

}  // namespace HWY_NAMESPACE
}  // namespace tenc::rt::library
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hwy {

/// Seeds the choice of pivots. Nothing random: a sort takes the same time on every run.
void Sorter::Fill24Bytes(const void*, size_t, void* bytes) {
  static constexpr uint64_t kSeed[3] = {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0};
  __builtin_memcpy(bytes, kSeed, sizeof kSeed);
}

/// Highway's assertions, compiled in debug builds.
HWY_NORETURN void Abort(const char* file, int line, const char* format, ...) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, format);
  std::abort();
}

}  // namespace hwy

namespace tenc::rt::library {
namespace {

/// AVX-512 where it is fast: on AMD's processors a compressing store to memory is microcode.
bool wideVectors() {
  static const bool wide = __builtin_cpu_is("intel") && hasAvx512();
  return wide;
}

#define TENC_CHOOSE(call) return wideVectors() ? N_AVX3::call : N_AVX2::call
void sortPiece(uint32_t* keys, size_t n) { TENC_CHOOSE(sort32(keys, n)); }
void sortPiece(uint64_t* keys, size_t n) { TENC_CHOOSE(sort64(keys, n)); }
void sortPiece(KeyPlace* keys, size_t n) { TENC_CHOOSE(sort128(keys, n)); }
size_t partitionVectors(uint32_t* keys, size_t n, uint32_t pivot) { TENC_CHOOSE(partition32(keys, n, pivot)); }
size_t partitionVectors(uint64_t* keys, size_t n, uint64_t pivot) { TENC_CHOOSE(partition64(keys, n, pivot)); }
size_t partitionVectors(KeyPlace* keys, size_t n, KeyPlace pivot) { TENC_CHOOSE(partition128(keys, n, pivot)); }

bool isLast(uint32_t key) { return key == ~uint32_t{0}; }
bool isLast(uint64_t key) { return key == ~uint64_t{0}; }
bool isLast(KeyPlace pair) { return isLast(pair.place); }
uint32_t after(uint32_t key) { return key + 1; }
uint64_t after(uint64_t key) { return key + 1; }
KeyPlace after(KeyPlace pair) { return {pair.place + 1, pair.key}; }

/// Moves the keys below the pivot before all others and returns how many they are.
template <class Key>
size_t partition(Key* keys, size_t n, Key pivot) {
  constexpr size_t kWhole = 64;  // the keys of a group, or a multiple
  size_t below = partitionVectors(keys, n / kWhole * kWhole, pivot);
  for (size_t i = n / kWhole * kWhole; i < n; ++i)
    if (keys[i] < pivot) std::swap(keys[below++], keys[i]);
  return below;
}

/// The median of some keys, the same ones in every run.
template <class Key>
Key pivotOf(const Key* keys, size_t n) {
  constexpr size_t kSample = 511;
  Key sample[kSample];
  uint64_t random = 0x243f6a8885a308d3;
  for (Key& key : sample) {
    random = random * 6364136223846793005 + 1442695040888963407;
    key = keys[static_cast<unsigned __int128>(random) * n >> 64];
  }
  sortPiece(sample, kSample);
  return sample[kSample / 2];
}

/// Split at pivots until Highway sorts a piece in a fraction of a second, as a call of it cannot be left.
template <class Key>
void sortInPieces(Key* keys, size_t n, int splits) {
  constexpr size_t kPiece = size_t{1} << 22;
  while (n > kPiece && splits-- > 0) {
    leaveIfInterrupted();
    const Key pivot = pivotOf(keys, n);
    size_t below = partition(keys, n, pivot);
    if (below == 0) {
      // The pivot is the least key: those that equal it are in place after another step.
      if (isLast(pivot)) return;
      below = partition(keys, n, after(pivot));
    } else {
      sortInPieces(keys, below, splits);
    }
    keys += below;
    n -= below;
  }
  leaveIfInterrupted();
  // Highway wants at least one key; a row of NaNs has none.
  if (n > 1) sortPiece(keys, n);
}

constexpr int kMostSplits = 80;  // twice what 2^62 keys need where pivots are medians

}  // namespace

void sortKeys(uint32_t* keys, size_t n) { sortInPieces(keys, n, kMostSplits); }
void sortKeys(uint64_t* keys, size_t n) { sortInPieces(keys, n, kMostSplits); }
void sortKeys(KeyPlace* keys, size_t n) { sortInPieces(keys, n, kMostSplits); }
Oddities encode(const uint32_t* row, uint32_t* keys, size_t n, Element kind, bool descending) {
  TENC_CHOOSE(encode32(row, keys, n, kind, descending));
}
Oddities encode(const uint64_t* row, uint64_t* keys, size_t n, Element kind, bool descending) {
  TENC_CHOOSE(encode64(row, keys, n, kind, descending));
}
void decode(uint32_t* keys, size_t n, Element kind, bool descending) {
  TENC_CHOOSE(decode32(keys, n, kind, descending));
}
void decode(uint64_t* keys, size_t n, Element kind, bool descending) {
  TENC_CHOOSE(decode64(keys, n, kind, descending));
}
void encodePairs(const uint32_t* row, uint64_t* pairs, size_t n, Element kind, bool descending) {
  TENC_CHOOSE(encodePairLanes(row, pairs, n, kind, descending));
}
KeyRange<uint64_t> encodeStable(const uint64_t* row, uint64_t* keys, size_t n, Element kind, bool descending) {
  TENC_CHOOSE(stableLanes(row, keys, n, kind, descending));
}
size_t encodePairsBelow(const uint32_t* row, uint64_t* pairs, size_t n, Element kind, bool descending, uint32_t bound) {
  TENC_CHOOSE(pairsBelowLanes(row, pairs, n, kind, descending, bound));
}
#undef TENC_CHOOSE
// Nothing here is slow on AMD's processors.
void classify(const uint32_t* keys, size_t n, const uint32_t* pivots, uint8_t* classes) {
  return hasAvx512() ? N_AVX3::classify32(keys, n, pivots, classes) : N_AVX2::classify32(keys, n, pivots, classes);
}
void classify(const uint64_t* keys, size_t n, const uint64_t* pivots, uint8_t* classes) {
  return hasAvx512() ? N_AVX3::classify64(keys, n, pivots, classes) : N_AVX2::classify64(keys, n, pivots, classes);
}

}  // namespace tenc::rt::library

#endif  // HWY_ONCE
