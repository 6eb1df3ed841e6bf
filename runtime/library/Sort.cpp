// sort, argsort and topk of rows: keys are made, sorted by vectors (VectorSort.h), and turned back. Stable; -0 equals
// +0, NaN is the largest.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/library/Library.h"
#include "runtime/library/VectorSort.h"

namespace tenc::rt::library {
namespace {

Element kindOf(uint8_t dtype) {
  if (dtype <= abi::dtype::F64) return Element::Float;
  return dtype <= abi::dtype::I64 ? Element::Signed : Element::Unsigned;
}

double sortCost(double n) { return n * (1.0 + 0.3 * std::log2(std::max(2.0, n))); }

// ---- sort

template <class U>
bool isNan(U bits) {
  constexpr U kTop = U{1} << (8 * sizeof(U) - 1);
  constexpr U kInf = sizeof(U) == 4 ? U{0x7f800000} : static_cast<U>(uint64_t{0x7ff0000000000000});
  return (bits & ~kTop) > kInf;
}

/// Zeros of both signs stand together: they take the order that they had in the row.
template <class U>
void orderZeros(const U* row, size_t n, U* sorted, size_t numbers, bool descending) {
  constexpr U kTop = U{1} << (8 * sizeof(U) - 1);
  // Keys below all zeros: the negative numbers, or the positive ones when descending.
  U* zero = std::partition_point(sorted, sorted + numbers,
                                 [&](U x) { return (x << 1) != 0 && ((x & kTop) != 0) != descending; });
  for (size_t i = 0; i < n; ++i)
    if (static_cast<U>(row[i] << 1) == 0) *zero++ = row[i];
}

template <class U>
void sortWide(const U* row, U* out, size_t n, Element kind, bool descending) {
  Oddities odd = encode(row, out, n, kind, descending);
  size_t numbers = n - odd.nans;
  U* keys = out;
  if (odd.nans > 0) {
    // NaNs in their order go to the end, or to the beginning when descending.
    U* nans = descending ? out : out + numbers;
    keys = descending ? out + odd.nans : out;
    U* next = keys;
    for (size_t i = 0; i < n; ++i) {
      if (isNan(row[i]))
        *nans++ = row[i];
      else
        *next++ = keyOf(row[i], kind, descending);
    }
  }
  sortKeys(keys, numbers);
  decode(keys, numbers, kind, descending);
  if (odd.negativeZeros > 0) orderZeros(row, n, keys, numbers, descending);
}

/// Elements of 8 or 16 bits, widened so that the order and every bit stay: a narrow float is the upper half of a wider
/// one of the same order.
uint32_t widened(uint8_t dtype, const void* row, size_t i) {
  switch (dtype) {
    case abi::dtype::F16:
    case abi::dtype::BF16: return static_cast<const uint16_t*>(row)[i];
    case 4: return static_cast<uint32_t>(static_cast<int32_t>(static_cast<const int8_t*>(row)[i]));
    case 5: return static_cast<uint32_t>(static_cast<int32_t>(static_cast<const int16_t*>(row)[i]));
    case 9: return static_cast<const uint16_t*>(row)[i];
    default: return static_cast<const uint8_t*>(row)[i];
  }
}

/// f16 and bf16 bits as those of an f32 of the same order: sign, then exponent and mantissa moved up. NaNs of f16 need
/// an exponent of all ones.
uint32_t widenedFloat(uint8_t dtype, uint16_t x) {
  if (dtype == abi::dtype::BF16) return uint32_t{x} << 16;
  const uint32_t sign = uint32_t{x & 0x8000u} << 16, rest = x & 0x7fffu;
  return sign | (rest > 0x7c00u ? 0x7f800000u | rest : rest << 13);
}

void widen(uint8_t dtype, const void* row, uint32_t* wide, size_t n) {
  if (dtype == abi::dtype::F16 || dtype == abi::dtype::BF16) {
    for (size_t i = 0; i < n; ++i) wide[i] = widenedFloat(dtype, static_cast<const uint16_t*>(row)[i]);
  } else {
    for (size_t i = 0; i < n; ++i) wide[i] = widened(dtype, row, i);
  }
}

void narrow(uint8_t dtype, const uint32_t* wide, void* out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const uint32_t w = wide[i];
    if (abi::dtype::kBytes[dtype] == 1) {
      static_cast<uint8_t*>(out)[i] = static_cast<uint8_t>(w);
    } else if (dtype == abi::dtype::BF16) {
      static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(w >> 16);
    } else if (dtype == abi::dtype::F16) {
      const uint32_t sign = w >> 16 & 0x8000u, rest = w & 0x7fffffffu;
      static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(sign | (rest > 0x7f800000u ? rest & 0x7fffu : rest >> 13));
    } else {
      static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(w);
    }
  }
}

const std::byte* rowOf(void* const* buffers, const abi::TensorRef& t, int64_t item, int width) {
  return static_cast<const std::byte*>(buffers[0]) + item * dim(t, 1) * width;
}

Plan planSort(const Call& call) {
  const abi::TensorRef& x = call.operands[0];
  const auto n = static_cast<size_t>(dim(x, 1));
  const size_t scratch = abi::dtype::kBytes[x.dtype] < 4 ? 2 * 4 * n : 0;
  return {batch(x, 1), sortCost(static_cast<double>(n)), scratch};
}

Failure runSort(const Call& call, void* const* buffers, int64_t item, void* scratch) {
  const abi::TensorRef& x = call.operands[0];
  const auto n = static_cast<size_t>(dim(x, 1));
  const bool descending = option(call, "descending") != 0;
  const int width = abi::dtype::kBytes[x.dtype];
  const void* row = rowOf(buffers, x, item, width);
  void* out = static_cast<std::byte*>(buffers[1]) + item * dim(x, 1) * width;
  if (width == 8) {
    sortWide(static_cast<const uint64_t*>(row), static_cast<uint64_t*>(out), n, kindOf(x.dtype), descending);
  } else if (width == 4) {
    sortWide(static_cast<const uint32_t*>(row), static_cast<uint32_t*>(out), n, kindOf(x.dtype), descending);
  } else {
    auto* wide = static_cast<uint32_t*>(scratch);
    widen(x.dtype, row, wide, n);
    sortWide(wide, wide + n, n, kindOf(x.dtype), descending);
    narrow(x.dtype, wide + n, out, n);
  }
  return Failure::None;
}

// ---- argsort

/// The key of a 64-bit element in the stable order: -0 as +0, every NaN as the largest.
uint64_t stableKey(uint64_t bits, Element kind, bool descending) {
  constexpr uint64_t kTop = uint64_t{1} << 63;
  if (kind == Element::Float) {
    if (bits == kTop) bits = 0;
    if (isNan(bits)) bits = ~kTop;
  }
  return keyOf(bits, kind, descending);
}

/// Places fit into 32 bits, and so do keys.
bool packs(uint8_t dtype, size_t n) { return abi::dtype::kBytes[dtype] < 8 && n <= uint64_t{1} << 32; }

Plan planArgSort(const Call& call) {
  const abi::TensorRef& x = call.operands[0];
  const auto n = static_cast<size_t>(dim(x, 1));
  size_t scratch = abi::dtype::kBytes[x.dtype] < 4 ? 4 * n : 0;
  if (!packs(x.dtype, n)) scratch = sizeof(KeyPlace) * n;
  return {batch(x, 1), 2 * sortCost(static_cast<double>(n)), scratch};
}

/// Key and place of every element of a row that has 64-bit elements or 2^32 of them.
void wideKeys(uint8_t dtype, const void* row, KeyPlace* pairs, size_t n, bool descending) {
  for (size_t i = 0; i < n; ++i) {
    uint64_t bits = 0;
    if (abi::dtype::kBytes[dtype] == 8) {
      bits = stableKey(static_cast<const uint64_t*>(row)[i], kindOf(dtype), descending);
    } else {
      uint32_t x = abi::dtype::kBytes[dtype] == 4    ? static_cast<const uint32_t*>(row)[i]
                   : kindOf(dtype) == Element::Float ? widenedFloat(dtype, static_cast<const uint16_t*>(row)[i])
                                                     : widened(dtype, row, i);
      uint64_t pair;
      encodePairs(&x, &pair, 1, kindOf(dtype), descending);
      bits = pair >> 32;
    }
    pairs[i] = {i, bits};
  }
}

Failure runArgSort(const Call& call, void* const* buffers, int64_t item, void* scratch) {
  const abi::TensorRef& x = call.operands[0];
  const auto n = static_cast<size_t>(dim(x, 1));
  const bool descending = option(call, "descending") != 0;
  const void* row = rowOf(buffers, x, item, abi::dtype::kBytes[x.dtype]);
  auto* places = static_cast<uint64_t*>(buffers[1]) + item * dim(x, 1);
  if (packs(x.dtype, n)) {
    const auto* wide = static_cast<const uint32_t*>(row);
    if (abi::dtype::kBytes[x.dtype] < 4) {
      widen(x.dtype, row, static_cast<uint32_t*>(scratch), n);
      wide = static_cast<uint32_t*>(scratch);
    }
    encodePairs(wide, places, n, kindOf(x.dtype), descending);
    sortKeys(places, n);
    for (size_t i = 0; i < n; ++i) places[i] &= 0xffffffffu;
    return Failure::None;
  }
  auto* pairs = static_cast<KeyPlace*>(scratch);
  wideKeys(x.dtype, row, pairs, n, descending);
  sortKeys(pairs, n);
  for (size_t i = 0; i < n; ++i) places[i] = pairs[i].place;
  return Failure::None;
}

// ---- topk

constexpr size_t kPiece = 256;  // elements looked at between two changes of the bound

/// Keeps the k least of a stream: candidates below the worst one kept are collected, and cut down when there are many.
template <class T>
class Least {
 public:
  Least(T* store, size_t k) : store_(store), k_(k) {}
  static size_t capacity(size_t k) { return 2 * k + 64 + kPiece; }
  /// The largest of the k least so far, or null while there are fewer than k.
  const T* worst() const { return full_ ? &worst_ : nullptr; }
  /// Room for kPiece candidates, in the order of the stream; `added` says how many there are.
  T* room() { return store_ + size_; }
  void added(size_t count) {
    size_ += count;
    if (size_ + kPiece > capacity(k_)) cut();
    if (++pieces_ % 65536 == 0) leaveIfInterrupted();
  }
  /// The k least, in order, at the beginning of the store.
  void finish() {
    if (size_ > k_) cut();
    sortKeys(store_, size_);
  }

 private:
  static constexpr size_t kSorted = 2048;  // up to here sorting by vectors is faster than selecting

  void cut() {
    if (size_ <= kSorted) {
      sortKeys(store_, size_);
    } else {
      std::nth_element(store_, store_ + (k_ - 1), store_ + size_);
    }
    size_ = k_;
    worst_ = store_[k_ - 1];
    full_ = true;
  }
  T* store_;
  size_t k_, size_ = 0, pieces_ = 0;
  T worst_{};
  bool full_ = false;
};

Plan planTopK(const Call& call) {
  const abi::TensorRef& x = call.operands[0];
  const auto n = static_cast<size_t>(dim(x, 1)), k = static_cast<size_t>(option(call, "k"));
  const size_t element = packs(x.dtype, n) ? 8 : sizeof(KeyPlace);
  const size_t scratch = Least<uint64_t>::capacity(k) * element + kPiece * 4;
  return {batch(x, 1), 2.0 * static_cast<double>(n) + sortCost(static_cast<double>(k)), scratch};
}

Failure runTopK(const Call& call, void* const* buffers, int64_t item, void* scratch) {
  const abi::TensorRef& x = call.operands[0];
  const auto n = static_cast<size_t>(dim(x, 1)), k = static_cast<size_t>(option(call, "k"));
  if (k == 0) return Failure::None;
  const bool descending = option(call, "largest") != 0;
  const int width = abi::dtype::kBytes[x.dtype];
  const std::byte* row = rowOf(buffers, x, item, width);
  auto* values = static_cast<std::byte*>(buffers[1]) + item * static_cast<int64_t>(k) * width;
  auto* places = static_cast<uint64_t*>(buffers[2]) + item * static_cast<int64_t>(k);
  if (packs(x.dtype, n)) {
    auto* store = static_cast<uint64_t*>(scratch);
    auto* wide = reinterpret_cast<uint32_t*>(store + Least<uint64_t>::capacity(k));
    Least<uint64_t> least(store, k);
    for (size_t at = 0; at < n; at += kPiece) {
      const size_t m = std::min(kPiece, n - at);
      const std::byte* piece = row + at * static_cast<size_t>(width);
      if (width < 4) widen(x.dtype, piece, wide, m);
      const auto* elements = width < 4 ? wide : reinterpret_cast<const uint32_t*>(piece);
      uint64_t* room = least.room();
      size_t count = m;
      if (const uint64_t* worst = least.worst()) {
        // An equal key further on is larger: its place is.
        const auto bound = static_cast<uint32_t>(*worst >> 32);
        count = encodePairsBelow(elements, room, m, kindOf(x.dtype), descending, bound);
      } else {
        encodePairs(elements, room, m, kindOf(x.dtype), descending);
      }
      for (size_t i = 0; i < count; ++i) room[i] += at;
      least.added(count);
    }
    least.finish();
    for (size_t i = 0; i < k; ++i) places[i] = store[i] & 0xffffffffu;
  } else {
    auto* store = static_cast<KeyPlace*>(scratch);
    Least<KeyPlace> least(store, k);
    for (size_t at = 0; at < n; at += kPiece) {
      const size_t m = std::min(kPiece, n - at);
      KeyPlace* room = least.room();
      wideKeys(x.dtype, row + at * static_cast<size_t>(width), room, m, descending);
      size_t count = 0;
      for (size_t i = 0; i < m; ++i) {
        const KeyPlace pair = {room[i].place + at, room[i].key};
        room[count] = pair;
        count += !least.worst() || pair < *least.worst();
      }
      least.added(count);
    }
    least.finish();
    for (size_t i = 0; i < k; ++i) places[i] = store[i].place;
  }
  for (size_t i = 0; i < k; ++i)
    std::memcpy(values + i * static_cast<size_t>(width), row + places[i] * static_cast<size_t>(width),
                static_cast<size_t>(width));
  return Failure::None;
}

constexpr Routine kRoutines[] = {
    {"sort", planSort, runSort},
    {"argsort", planArgSort, runArgSort},
    {"topk", planTopK, runTopK},
};

}  // namespace

std::span<const Routine> sortRoutines() { return kRoutines; }

}  // namespace tenc::rt::library
