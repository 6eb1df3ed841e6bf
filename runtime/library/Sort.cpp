// sort of rows: keys are made, sorted by vectors (VectorSort.h) or one row in each lane, and turned back. Stable; -0
// equals +0, NaN is the largest.
#include <cstring>

#include "runtime/library/LaneSort.h"
#include "runtime/library/LongSort.h"
#include "runtime/library/ShortSort.h"
#include "runtime/library/SmallMatrix.h"
#include "runtime/library/SortElements.h"

namespace tenc::rt::library {
namespace {

/// Zeros of both signs stand together: they take the order that they had in the row.
template <class U>
void orderZeros(const U* row, size_t n, U* sorted, size_t numbers, bool descending) {
  // Keys below all zeros: the negative numbers, or the positive ones when descending.
  U* zero = std::partition_point(sorted, sorted + numbers, [&](U x) {
    return static_cast<U>(x << 1) != 0 && ((x & kTopBit<U>) != 0) != descending;
  });
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

// ---- rows that are sorted side by side (LaneSort.h)

template <class U>
bool fillsLanes(const abi::TensorRef& x) {
  // Below, exchanges of neighbours are fewer than those of the network, whose shortest row has 16 elements.
  constexpr int64_t kLeastLaneRow = 9;
  return dim(x, 1) >= kLeastLaneRow && isForLanes<U>(batch(x, 1), dim(x, 1));
}
bool fillsLanes(const abi::TensorRef& x) {
  switch (abi::dtype::kBytes[x.dtype]) {
    case 2: return fillsLanes<uint16_t>(x);
    case 8: return fillsLanes<uint64_t>(x);
    default: return fillsLanes<uint32_t>(x);
  }
}

template <class U>
LaneOrder<U> laneOrder(uint8_t dtype, bool descending) {
  if constexpr (sizeof(U) == 2) {
    const U infinity = dtype == abi::dtype::BF16 ? 0x7f80 : 0x7c00;
    return {kindOf(dtype), descending, infinity};
  } else {
    return {kindOf(dtype), descending, kInfinityBits<U>};
  }
}

/// One row, of which some elements are NaNs.
template <class U>
void sortRow(uint8_t dtype, const U* row, U* out, size_t n, bool descending) {
  if constexpr (sizeof(U) == 2) {
    uint32_t wide[kMostLaneRow<U>], sorted[kMostLaneRow<U>];
    widen(dtype, row, wide, n);
    sortWide(wide, sorted, n, kindOf(dtype), descending);
    narrow(dtype, sorted, out, n);
  } else {
    sortWide(row, out, n, kindOf(dtype), descending);
  }
}

/// The rows of an item. Zeros fill up the last group.
template <class U>
void sortGroup(const Call& call, void* const* buffers, const Item& item) {
  const abi::TensorRef& x = call.operands[0];
  const int64_t n = dim(x, 1), width = abi::dtype::kBytes[x.dtype], first = item.number * kGroup<U>;
  const int64_t rows = std::min(kGroup<U>, batch(x, 1) - first);
  const auto count = static_cast<size_t>(rows * n), length = static_cast<size_t>(n);
  const bool widened = width < static_cast<int64_t>(sizeof(U)), copied = widened || rows < kGroup<U>;
  const LaneOrder<U> order = laneOrder<U>(x.dtype, option(call, "descending") != 0);
  const std::byte* source = rowOf(call, buffers, first);
  std::byte* const out = static_cast<std::byte*>(buffers[1]) + first * n * width;
  alignas(64) U from[static_cast<size_t>(kGroup<U> * kMostLaneRow<U>)];
  alignas(64) U to[static_cast<size_t>(kGroup<U> * kMostLaneRow<U>)];
  const U* unsorted = copied ? from : reinterpret_cast<const U*>(source);
  U* const sorted = copied ? to : reinterpret_cast<U*>(out);
  if (copied) {
    if constexpr (sizeof(U) == 4) {
      if (widened) widen(x.dtype, source, from, count);
    }
    if (!widened) std::memcpy(from, source, count * sizeof(U));
    std::fill(from + count, from + kGroup<U> * n, U{0});
  }
  const LaneOddities odd = sortInLanes(unsorted, sorted, n, order);
  for (int64_t r = 0; r < rows; ++r) {
    if (odd.nans) sortRow(x.dtype, unsorted + r * n, sorted + r * n, length, order.descending);
    if (odd.negativeZeros) orderZeros(unsorted + r * n, length, sorted + r * n, length, order.descending);
  }
  if (!copied) return;
  if constexpr (sizeof(U) == 4) {
    if (widened) narrow(x.dtype, to, out, count);
  }
  if (!widened) std::memcpy(out, to, count * sizeof(U));
}

template <class U>
Plan planGroups(const abi::TensorRef& x) {
  // Half of what rows cost one by one.
  const double cost = static_cast<double>(kGroup<U>) / 2 * sortCost(static_cast<double>(dim(x, 1)));
  return {(batch(x, 1) + kGroup<U> - 1) / kGroup<U>, cost, 0};
}

// ---- rows that all threads sort together (LongSort.h)

enum LongPhase : uint8_t { Choose, Split, Gather, Merge, Zeros, kLongPhases };

template <class U>
struct LongRow {
  LongRow(Scratch s, uint8_t dtype, int64_t length)
      : n(length),
        sort(s, n),
        odd(s.take<Oddities>(sort.blocks())),
        bytesTogether(s.used()),
        row(isNarrow(dtype) ? s.take<U>(n) : nullptr),
        keys(isNarrow(dtype) ? s.take<U>(n) : nullptr),
        bytes(s.used()),
        bytesAlone(bytes - bytesTogether) {}

  Oddities oddities() const {
    Oddities sum;
    for (int64_t b = 0; b < sort.blocks(); ++b) sum.nans += odd[b].nans, sum.negativeZeros += odd[b].negativeZeros;
    return sum;
  }

  int64_t n;
  LongSort<U> sort;
  Oddities* odd;  ///< of each block
  size_t bytesTogether;
  U *row, *keys;  ///< of narrow elements: widened, and in order
  size_t bytes, bytesAlone;
};

/// Items of a phase, of one row.
template <class U>
int64_t longItems(const abi::TensorRef& x, int64_t phase) {
  if (phase == Split || phase == Gather) return LongRow<U>(Scratch(), x.dtype, dim(x, 1)).sort.blocks();
  return phase == Merge ? LongSort<U>::kBuckets + 1 : 1;
}

/// The keys of a block, but for those of NaNs.
template <class U>
int64_t encodeBlock(const U* row, U* keys, int64_t m, Oddities& odd, Element kind, bool descending) {
  odd = encode(row, keys, static_cast<size_t>(m), kind, descending);
  if (odd.nans == 0) return m;
  int64_t next = 0;
  for (int64_t i = 0; i < m; ++i)
    if (!isNan(row[i])) keys[next++] = keyOf(row[i], kind, descending);
  return next;
}

template <class U>
void sortLong(const Call& call, void* const* buffers, const Item& item) {
  const abi::TensorRef& x = call.operands[0];
  const int width = abi::dtype::kBytes[x.dtype];
  const bool descending = option(call, "descending") != 0, narrowed = isNarrow(x.dtype);
  const Element kind = kindOf(x.dtype);
  const int64_t items = longItems<U>(x, item.phase), index = item.number % items, number = item.number / items;
  const size_t bytes = LongRow<U>(Scratch(), x.dtype, dim(x, 1)).bytes;
  LongRow<U> r(Scratch(static_cast<std::byte*>(item.shared) + static_cast<size_t>(number) * bytes), x.dtype, dim(x, 1));
  const std::byte* source = rowOf(call, buffers, number);
  std::byte* const out = static_cast<std::byte*>(buffers[1]) + number * r.n * width;
  if (!narrowed) r.row = reinterpret_cast<U*>(const_cast<std::byte*>(source)), r.keys = reinterpret_cast<U*>(out);
  if (item.threads == 1) {
    // Distributing takes time that nobody else uses.
    if (item.phase != Choose) return;
    if constexpr (sizeof(U) == 4)
      if (narrowed) widen(x.dtype, source, r.row, static_cast<size_t>(r.n));
    sortWide(r.row, r.keys, static_cast<size_t>(r.n), kind, descending);
    if constexpr (sizeof(U) == 4)
      if (narrowed) narrow(x.dtype, r.keys, out, static_cast<size_t>(r.n));
    return;
  }
  const int64_t begin = r.sort.begin(index);
  switch (item.phase) {
    case Choose:
      return r.sort.choose([&](int64_t i) { return keyOf(elementAt<U>(x.dtype, source, i), kind, descending); });
    case Split: {
      const int64_t m = r.sort.size(index);
      if constexpr (sizeof(U) == 4)
        if (narrowed) widen(x.dtype, source + begin * width, r.row + begin, static_cast<size_t>(m));
      return r.sort.split(index, r.keys + begin,
                          encodeBlock(r.row + begin, r.keys + begin, m, r.odd[index], kind, descending));
    }
    case Gather: return r.sort.gather(index, r.keys + begin);
    case Merge: {
      const auto nans = static_cast<int64_t>(r.oddities().nans);
      if (index == LongSort<U>::kBuckets) {
        // NaNs in their order.
        U* to = r.keys + (descending ? 0 : r.n - nans);
        for (int64_t i = 0; nans > 0 && i < r.n; ++i)
          if (isNan(r.row[i])) *to++ = r.row[i];
        return;
      }
      const auto bucket = r.sort.sort(index);
      decode(bucket.keys, static_cast<size_t>(bucket.size), kind, descending);
      std::memcpy(r.keys + bucket.first + (descending ? nans : 0), bucket.keys,
                  static_cast<size_t>(bucket.size) * sizeof(U));
      return;
    }
    default: {
      const Oddities odd = r.oddities();
      if (odd.negativeZeros > 0)
        orderZeros(r.row, static_cast<size_t>(r.n), r.keys + (descending ? odd.nans : 0),
                   static_cast<size_t>(r.n) - odd.nans, descending);
      if constexpr (sizeof(U) == 4)
        if (narrowed) narrow(x.dtype, r.keys, out, static_cast<size_t>(r.n));
    }
  }
}

template <class U>
Plan planLong(const abi::TensorRef& x) {
  std::vector<Phase> phases;
  const auto n = static_cast<double>(dim(x, 1));
  for (int64_t p = 0; p < kLongPhases; ++p) {
    const int64_t items = longItems<U>(x, p);
    phases.push_back({batch(x, 1) * items, sortCost(n) / static_cast<double>(items)});
  }
  const auto rows = static_cast<size_t>(batch(x, 1));
  const LongRow<U> row(Scratch(), x.dtype, dim(x, 1));
  return {std::move(phases), 0, rows * row.bytes, rows * row.bytesAlone};
}

Plan planSort(const Call& call) {
  const abi::TensorRef& x = call.operands[0];
  if (fillsLanes(x)) {
    switch (abi::dtype::kBytes[x.dtype]) {
      case 2: return planGroups<uint16_t>(x);
      case 8: return planGroups<uint64_t>(x);
      default: return planGroups<uint32_t>(x);
    }
  }
  if (isShortRows(x)) return planShortRows(x);
  if (isLongRow(batch(x, 1), dim(x, 1)))
    return abi::dtype::kBytes[x.dtype] == 8 ? planLong<uint64_t>(x) : planLong<uint32_t>(x);
  const auto n = static_cast<size_t>(dim(x, 1));
  return {batch(x, 1), sortCost(static_cast<double>(n)), isNarrow(x.dtype) ? 2 * 4 * n : 0};
}

Failure runSort(const Call& call, void* const* buffers, const Item& item) {
  const abi::TensorRef& x = call.operands[0];
  const auto n = static_cast<size_t>(dim(x, 1));
  const bool descending = option(call, "descending") != 0;
  const int width = abi::dtype::kBytes[x.dtype];
  if (fillsLanes(x)) {
    const auto sort = width == 2 ? sortGroup<uint16_t> : width == 8 ? sortGroup<uint64_t> : sortGroup<uint32_t>;
    sort(call, buffers, item);
    return Failure::None;
  }
  if (isShortRows(x)) {
    sortShortRows(x, buffers[0], descending, dim(x, 1), buffers[1], nullptr, item);
    return Failure::None;
  }
  if (isLongRow(batch(x, 1), dim(x, 1))) {
    width == 8 ? sortLong<uint64_t>(call, buffers, item) : sortLong<uint32_t>(call, buffers, item);
    return Failure::None;
  }
  const void* row = rowOf(call, buffers, item.number);
  void* out = static_cast<std::byte*>(buffers[1]) + item.number * dim(x, 1) * width;
  if (width == 8) {
    sortWide(static_cast<const uint64_t*>(row), static_cast<uint64_t*>(out), n, kindOf(x.dtype), descending);
  } else if (width == 4) {
    sortWide(static_cast<const uint32_t*>(row), static_cast<uint32_t*>(out), n, kindOf(x.dtype), descending);
  } else {
    auto* wide = static_cast<uint32_t*>(item.scratch);
    widen(x.dtype, row, wide, n);
    sortWide(wide, wide + n, n, kindOf(x.dtype), descending);
    narrow(x.dtype, wide + n, out, n);
  }
  return Failure::None;
}

constexpr Routine kRoutine = {"sort", planSort, runSort};

}  // namespace

const Routine& sortRoutine() { return kRoutine; }

}  // namespace tenc::rt::library
