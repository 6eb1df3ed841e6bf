// Compiled once for AVX2 and once for AVX-512 by Highway's foreach_target; which one runs is chosen here.
#include "runtime/library/VectorSort.h"

#include <cstdio>
#include <cstdlib>

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

template <class U>
HWY_ATTR Oddities encodeLanes(const U* HWY_RESTRICT row, U* HWY_RESTRICT keys, size_t n, Element kind,
                              bool descending) {
  constexpr U kTop = U{1} << (8 * sizeof(U) - 1);
  constexpr U kInf = sizeof(U) == 4 ? U{0x7f800000} : static_cast<U>(uint64_t{0x7ff0000000000000});
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
    nans += (x & ~kTop) > kInf;
    zeros += x == kTop;
    keys[i] = x ^ ((U{0} - (x >> (8 * sizeof(U) - 1))) | kTop) ^ flip;
  }
  odd.nans = nans;
  odd.negativeZeros = zeros;
  return odd;
}

template <class U>
HWY_ATTR void decodeLanes(U* keys, size_t n, Element kind, bool descending) {
  constexpr U kTop = U{1} << (8 * sizeof(U) - 1);
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
template <class F>
HWY_ATTR HWY_INLINE void stableKeys(const uint32_t* HWY_RESTRICT row, size_t n, Element kind, bool descending, F put) {
  constexpr uint32_t kTop = 0x80000000u, kInf = 0x7f800000u;
  const uint32_t flip = descending ? ~0u : 0u;
  if (kind != Element::Float) {
    const uint32_t turn = flip ^ (kind == Element::Signed ? kTop : 0u);
    for (size_t i = 0; i < n; ++i) put(i, row[i] ^ turn);
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    uint32_t x = row[i];
    x = x == kTop ? 0u : x;
    x = (x & ~kTop) > kInf ? ~kTop : x;
    put(i, x ^ ((0u - (x >> 31)) | kTop) ^ flip);
  }
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

void sort32(uint32_t* k, size_t n) { sortLanes(k, n); }
void sort64(uint64_t* k, size_t n) { sortLanes(k, n); }
void sort128(KeyPlace* k, size_t n) { sortPairs(&k->place, n); }
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

}  // namespace

#define TENC_CHOOSE(call) return wideVectors() ? N_AVX3::call : N_AVX2::call
// Highway wants at least one key; a row of NaNs has none.
void sortKeys(uint32_t* keys, size_t n) {
  if (n > 1) TENC_CHOOSE(sort32(keys, n));
}
void sortKeys(uint64_t* keys, size_t n) {
  if (n > 1) TENC_CHOOSE(sort64(keys, n));
}
void sortKeys(KeyPlace* keys, size_t n) {
  if (n > 1) TENC_CHOOSE(sort128(keys, n));
}
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
size_t encodePairsBelow(const uint32_t* row, uint64_t* pairs, size_t n, Element kind, bool descending, uint32_t bound) {
  TENC_CHOOSE(pairsBelowLanes(row, pairs, n, kind, descending, bound));
}
#undef TENC_CHOOSE

}  // namespace tenc::rt::library

#endif  // HWY_ONCE
