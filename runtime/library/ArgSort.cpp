// argsort of rows: what is sorted are words of a key and the place that it came from, so that all are different and
// the order is that of a stable sort. Of 64 bits, as much of a key is in the word as a place leaves; words of equal
// parts are sorted once more, by the rest.
#include <bit>

#include "runtime/library/LaneSort.h"
#include "runtime/library/LongSort.h"
#include "runtime/library/ShortSort.h"
#include "runtime/library/SmallMatrix.h"
#include "runtime/library/SortElements.h"

namespace tenc::rt::library {
namespace {

using Range = KeyRange<uint64_t>;

/// Elements of a row, whose keys are less than `range` above the least one.
struct Keys {
  const std::byte* row = nullptr;
  int64_t n = 0;
  uint8_t dtype = 0;
  bool descending = false;
  uint64_t least = 0, range = 0;  ///< of 64 bits

  /// Whether a key and a place of 32 bits are too little.
  bool isWide() const { return abi::dtype::kBytes[dtype] == 8 || n > int64_t{1} << 32; }
  uint64_t key(uint64_t i) const { return stableKeyAt(dtype, row, i, descending); }
  /// Bits of a word that are the place, and of a key that are not in it.
  int placeBits() const {
    return isWide() ? std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(n - 1)))) : 32;
  }
  int lostBits() const { return std::max(0, static_cast<int>(std::bit_width(range)) + placeBits() - 64); }
  uint64_t placeMask() const { return (uint64_t{1} << placeBits()) - 1; }

  /// Of wide keys: puts those of some elements where their words will be.
  Range wideKeys(int64_t begin, int64_t m, uint64_t* to) const {
    if (abi::dtype::kBytes[dtype] == 8)
      return encodeStable(reinterpret_cast<const uint64_t*>(row) + begin, to, static_cast<size_t>(m), kindOf(dtype),
                          descending);
    Range r;
    for (int64_t i = 0; i < m; ++i) {
      to[i] = key(static_cast<uint64_t>(begin + i));
      r = {std::min(r.least, to[i]), std::max(r.most, to[i])};
    }
    return r;
  }
  void limitTo(const Range& r) { least = r.least, range = r.most - r.least; }

  /// The words of some elements; `to` has their keys where these are wide.
  void words(int64_t begin, int64_t m, uint64_t* to, uint32_t* widenedTo) const {
    if (isWide()) {
      const int places = placeBits(), lost = lostBits();
      for (int64_t i = 0; i < m; ++i) to[i] = (to[i] - least) >> lost << places | static_cast<uint64_t>(begin + i);
      return;
    }
    const void* from = row + begin * abi::dtype::kBytes[dtype];
    if (isNarrow(dtype)) {
      widen(dtype, from, widenedTo, static_cast<size_t>(m));
      from = widenedTo;
    }
    encodePairs(static_cast<const uint32_t*>(from), to, static_cast<size_t>(m), kindOf(dtype), descending);
    for (int64_t i = 0; begin > 0 && i < m; ++i) to[i] += static_cast<uint64_t>(begin);
  }
  uint64_t word(int64_t i) const {
    uint64_t w = isWide() ? key(static_cast<uint64_t>(i)) : 0;
    uint32_t wide = 0;
    words(i, 1, &w, &wide);
    return w;
  }

  /// Sorted words become places, in the full order.
  void places(uint64_t* sorted, int64_t m, uint64_t* to) const {
    orderEqual(sorted, m, lostBits());
    const uint64_t mask = placeMask();
    for (int64_t i = 0; i < m; ++i) to[i] = sorted[i] & mask;
  }

 private:
  /// Whether neighbours have the same part of a key. Without branches, so that it becomes vector code.
  bool hasEqual(const uint64_t* sorted, int64_t m) const {
    const int places = placeBits();
    uint64_t equal = 0;
    for (int64_t i = 1; i < m; ++i) equal |= static_cast<uint64_t>((sorted[i] ^ sorted[i - 1]) >> places == 0);
    return equal != 0;
  }
  /// Orders runs of words whose keys differ in the last `lost` bits at most.
  void orderEqual(uint64_t* sorted, int64_t m, int lost) const {
    if (lost == 0 || !hasEqual(sorted, m)) return;
    const int places = placeBits(), stillLost = std::max(0, lost - (64 - places));
    const uint64_t rest = ~uint64_t{0} >> (64 - lost);
    for (int64_t i = 0; i < m;) {
      int64_t end = i + 1;
      while (end < m && sorted[end] >> places == sorted[i] >> places) ++end;
      if (end - i > 1) {
        for (int64_t j = i; j < end; ++j) {
          const uint64_t place = sorted[j] & placeMask();
          sorted[j] = ((key(place) - least) & rest) >> stillLost << places | place;
        }
        sortKeys(sorted + i, static_cast<size_t>(end - i));
        orderEqual(sorted + i, end - i, stillLost);
      }
      i = end;
    }
  }
};

Keys keysOf(const Call& call, void* const* buffers, int64_t row) {
  const abi::TensorRef& x = call.operands[0];
  return {rowOf(call, buffers, row), dim(x, 1), x.dtype, option(call, "descending") != 0};
}

void sortRow(Keys keys, uint64_t* places, uint32_t* wide) {
  if (keys.isWide()) keys.limitTo(keys.wideKeys(0, keys.n, places));
  keys.words(0, keys.n, places, wide);
  sortKeys(places, static_cast<size_t>(keys.n));
  keys.places(places, keys.n, places);
}

// ---- rows that are sorted side by side (LaneSort.h)

constexpr int64_t kWordGroup = kGroup<uint64_t>;

bool fillsLanes(const abi::TensorRef& x) { return isForLanes<uint64_t>(batch(x, 1), dim(x, 1)); }

/// The rows of an item. Zeros fill up the last group.
void sortGroup(const Call& call, void* const* buffers, const Item& item) {
  const abi::TensorRef& x = call.operands[0];
  const int64_t n = dim(x, 1), first = item.number * kWordGroup, rows = std::min(kWordGroup, batch(x, 1) - first);
  uint64_t* const places = static_cast<uint64_t*>(buffers[1]) + first * n;
  alignas(64) uint64_t group[static_cast<size_t>(kWordGroup * kMostLaneRow<uint64_t>)];
  uint64_t* const words = rows < kWordGroup ? group : places;
  uint32_t wide[kMostLaneRow<uint64_t>];
  Keys keys[kWordGroup];
  for (int64_t r = 0; r < rows; ++r) {
    keys[r] = keysOf(call, buffers, first + r);
    if (keys[r].isWide()) keys[r].limitTo(keys[r].wideKeys(0, n, words + r * n));
    keys[r].words(0, n, words + r * n, wide);
  }
  std::fill(words + rows * n, words + kWordGroup * n, uint64_t{0});
  sortInLanes(words, words, n, {Element::Unsigned, false, 0});
  for (int64_t r = 0; r < rows; ++r) keys[r].places(words + r * n, n, places + r * n);
}

Plan planGroups(const abi::TensorRef& x) {
  // Half of what rows cost one by one.
  const double cost = static_cast<double>(kWordGroup) * sortCost(static_cast<double>(dim(x, 1)));
  return {(batch(x, 1) + kWordGroup - 1) / kWordGroup, cost, 0};
}

// ---- rows that all threads sort together (LongSort.h)

enum LongPhase : uint8_t { Ranges, Choose, Split, Gather, Merge, kLongPhases };

struct LongRow {
  LongRow(Scratch s, const abi::TensorRef& x)
      : sort(s, dim(x, 1)),
        ranges(s.take<Range>(sort.blocks())),
        bytesTogether(s.used()),
        wide(s.take<uint32_t>(abi::dtype::kBytes[x.dtype] < 4 ? dim(x, 1) : 0)),
        bytes(s.used()),
        bytesAlone(bytes - bytesTogether) {}
  LongSort<uint64_t> sort;
  Range* ranges;  ///< of the keys of each block
  size_t bytesTogether;
  uint32_t* wide;  ///< narrow elements
  size_t bytes, bytesAlone;
};

/// Items of a phase, of one row.
int64_t longItems(const abi::TensorRef& x, int64_t phase) {
  if (phase == Ranges && !Keys{nullptr, dim(x, 1), x.dtype, false}.isWide()) return 0;
  if (phase == Choose) return 1;
  return phase == Merge ? LongSort<uint64_t>::kBuckets : LongRow(Scratch(), x).sort.blocks();
}

void sortLong(const Call& call, void* const* buffers, const Item& item) {
  const abi::TensorRef& x = call.operands[0];
  const int64_t items = longItems(x, item.phase), index = item.number % items, number = item.number / items;
  const size_t bytes = LongRow(Scratch(), x).bytes;
  LongRow r(Scratch(static_cast<std::byte*>(item.shared) + static_cast<size_t>(number) * bytes), x);
  auto* places = static_cast<uint64_t*>(buffers[1]) + number * dim(x, 1);
  Keys keys = keysOf(call, buffers, number);
  if (item.threads == 1) {
    if (item.phase == Choose) sortRow(keys, places, r.wide);
    return;
  }
  const int64_t begin = r.sort.begin(index);
  if (item.phase == Ranges) {
    r.ranges[index] = keys.wideKeys(begin, r.sort.size(index), places + begin);
    return;
  }
  if (keys.isWide()) {
    Range all = r.ranges[0];
    for (int64_t b = 1; b < r.sort.blocks(); ++b)
      all = {std::min(all.least, r.ranges[b].least), std::max(all.most, r.ranges[b].most)};
    keys.limitTo(all);
  }
  switch (item.phase) {
    case Choose: {
      // Words that are still to be ordered by the rest of their keys are in one bucket.
      const uint64_t kept = keys.lostBits() > 0 ? ~keys.placeMask() : ~uint64_t{0};
      return r.sort.choose([&](int64_t i) { return keys.word(i) & kept; });
    }
    case Split:
      keys.words(begin, r.sort.size(index), places + begin, r.wide + begin);
      return r.sort.split(index, places + begin, r.sort.size(index));
    case Gather: return r.sort.gather(index, places + begin);
    default: {
      const auto bucket = r.sort.sort(index);
      keys.places(bucket.keys, bucket.size, places + bucket.first);
    }
  }
}

Plan planLong(const abi::TensorRef& x) {
  std::vector<Phase> phases;
  const auto n = static_cast<double>(dim(x, 1));
  for (int64_t p = 0; p < kLongPhases; ++p) {
    const int64_t items = longItems(x, p);
    phases.push_back({batch(x, 1) * items, 2 * sortCost(n) / static_cast<double>(std::max<int64_t>(items, 1))});
  }
  const auto rows = static_cast<size_t>(batch(x, 1));
  const LongRow row(Scratch(), x);
  return {std::move(phases), 0, rows * row.bytes, rows * row.bytesAlone};
}

Plan planArgSort(const Call& call) {
  const abi::TensorRef& x = call.operands[0];
  if (isShortRows(x)) return planShortRows(x);
  if (fillsLanes(x)) return planGroups(x);
  if (isLongRow(batch(x, 1), dim(x, 1))) return planLong(x);
  const auto n = static_cast<size_t>(dim(x, 1));
  return {batch(x, 1), 2 * sortCost(static_cast<double>(n)), abi::dtype::kBytes[x.dtype] < 4 ? 4 * n : 0};
}

Failure runArgSort(const Call& call, void* const* buffers, const Item& item) {
  const abi::TensorRef& x = call.operands[0];
  if (dim(x, 1) == 0) return Failure::None;
  if (isShortRows(x)) {
    sortShortRows(x, buffers[0], option(call, "descending") != 0, dim(x, 1), nullptr,
                  static_cast<uint64_t*>(buffers[1]), item);
    return Failure::None;
  }
  if (fillsLanes(x)) {
    sortGroup(call, buffers, item);
    return Failure::None;
  }
  if (isLongRow(batch(x, 1), dim(x, 1))) {
    sortLong(call, buffers, item);
    return Failure::None;
  }
  sortRow(keysOf(call, buffers, item.number), static_cast<uint64_t*>(buffers[1]) + item.number * dim(x, 1),
          static_cast<uint32_t*>(item.scratch));
  return Failure::None;
}

constexpr Routine kRoutine = {"argsort", planArgSort, runArgSort};

}  // namespace

const Routine& argSortRoutine() { return kRoutine; }

}  // namespace tenc::rt::library
