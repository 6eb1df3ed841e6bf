// topk of rows: the k best elements so far are kept, in words of a key and a place, which are ordered as a stable sort
// orders them.
#include <cstring>

#include "runtime/library/Matrix.h"
#include "runtime/library/ShortSort.h"
#include "runtime/library/SortElements.h"

namespace tenc::rt::library {
namespace {

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
  /// The k least, or all, in order, at the beginning of the store; returns how many.
  size_t finish() {
    if (size_ > k_) cut();
    sortKeys(store_, size_);
    return size_;
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

/// Places fit into 32 bits, and so do keys.
bool packs(const abi::TensorRef& x) { return abi::dtype::kBytes[x.dtype] < 8 && dim(x, 1) <= int64_t{1} << 32; }

uint64_t placeOf(uint64_t word) { return word & 0xffffffffu; }
uint64_t placeOf(const KeyPlace& word) { return word.place; }
uint64_t keyOfWord(uint64_t word) { return word >> 32; }
uint64_t keyOfWord(const KeyPlace& word) { return word.key; }

constexpr uint64_t kNoKey = ~uint64_t{0};

/// A key of which none of the row's best is larger; blocks tell it each other.
class Limit {
 public:
  explicit Limit(uint64_t* key) : key_(key) {}
  void reset() { __atomic_store_n(key_, kNoKey, __ATOMIC_RELAXED); }
  uint64_t get() const { return key_ ? __atomic_load_n(key_, __ATOMIC_RELAXED) : kNoKey; }
  template <class T>
  void lower(const Least<T>& least) {
    if (!key_ || !least.worst()) return;
    const uint64_t key = keyOfWord(*least.worst());
    uint64_t before = get();
    while (key < before && !__atomic_compare_exchange_n(key_, &before, key, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }

 private:
  uint64_t* key_;  // null: there is one block
};

/// Takes elements of a row into `least`; `wide`: room for kPiece of them.
void look(Least<uint64_t>& least, Limit limit, const Call& call, const std::byte* row, size_t begin, size_t end,
          uint32_t* wide) {
  const uint8_t dtype = call.operands[0].dtype;
  const bool descending = option(call, "largest") != 0;
  const auto width = static_cast<size_t>(abi::dtype::kBytes[dtype]);
  for (size_t at = begin; at < end; at += kPiece) {
    const size_t m = std::min(kPiece, end - at);
    const std::byte* piece = row + at * width;
    if (isNarrow(dtype)) widen(dtype, piece, wide, m);
    const auto* elements = isNarrow(dtype) ? wide : reinterpret_cast<const uint32_t*>(piece);
    uint64_t* room = least.room();
    size_t count = m;
    // Of an equal key the place decides: it is larger than all before, but may be less than that of another block.
    const uint64_t other = limit.get();
    uint64_t bound = other == kNoKey ? kNoKey : other + 1;
    if (least.worst()) bound = std::min(bound, keyOfWord(*least.worst()));
    if (bound <= ~uint32_t{0}) {
      count = encodePairsBelow(elements, room, m, kindOf(dtype), descending, static_cast<uint32_t>(bound));
    } else {
      encodePairs(elements, room, m, kindOf(dtype), descending);
    }
    for (size_t i = 0; i < count; ++i) room[i] += at;
    least.added(count);
    limit.lower(least);
  }
}

void look(Least<KeyPlace>& least, Limit limit, const Call& call, const std::byte* row, size_t begin, size_t end,
          uint32_t*) {
  const uint8_t dtype = call.operands[0].dtype;
  const bool descending = option(call, "largest") != 0;
  for (size_t at = begin; at < end; at += kPiece) {
    KeyPlace* room = least.room();
    const uint64_t other = limit.get();
    size_t count = 0;
    for (size_t i = at; i < std::min(end, at + kPiece); ++i) {
      const KeyPlace pair = {i, stableKeyAt(dtype, row, i, descending)};
      room[count] = pair;
      count += pair.key <= other && (!least.worst() || pair < *least.worst());
    }
    least.added(count);
    limit.lower(least);
  }
}

template <class T>
struct Work {
  Work(Scratch s, int64_t k)
      : store(s.take<T>(static_cast<int64_t>(Least<T>::capacity(static_cast<size_t>(k))))),
        wide(s.take<uint32_t>(kPiece)),
        bytes(s.used()) {}
  T* store;
  uint32_t* wide;
  size_t bytes;
};

/// What the blocks of a row have together.
template <class T>
struct Kept {
  Kept(Scratch s, int64_t blocks, int64_t k)
      : limit(s.take<uint64_t>(1)), counts(s.take<int64_t>(blocks)), words(s.take<T>(blocks * k)), bytes(s.used()) {}
  uint64_t* limit;
  int64_t* counts;  ///< how many words each block has
  T* words;         ///< room for k of each
  size_t bytes;
};

/// Into how many blocks a row is cut, each of which finds its best first. One where they would be much of the row.
int64_t blocksOf(const Call& call) {
  const abi::TensorRef& x = call.operands[0];
  const int64_t n = dim(x, 1), k = option(call, "k");
  if (batch(x, 1) >= 8 || k == 0) return 1;
  return std::max<int64_t>(1, std::min({n >> 15, n / (8 * k), int64_t{64}}));
}

template <class T>
struct TopK {
  static Plan plan(const Call& call) {
    const abi::TensorRef& x = call.operands[0];
    const int64_t k = option(call, "k"), blocks = blocksOf(call), rows = batch(x, 1);
    const double sorted = sortCost(static_cast<double>(k));
    const double looked = 2.0 * static_cast<double>(dim(x, 1)) / static_cast<double>(blocks);
    const size_t scratch = Work<T>(Scratch(), k).bytes;
    if (blocks == 1) return {rows, looked + sorted, scratch};
    return {{{rows, 1}, {rows * blocks, looked}, {rows, static_cast<double>(blocks * k) + sorted}},
            scratch,
            static_cast<size_t>(rows) * Kept<T>(Scratch(), blocks, k).bytes};
  }

  static void run(const Call& call, void* const* buffers, const Item& item) {
    const int64_t k = option(call, "k"), n = dim(call.operands[0], 1), blocks = blocksOf(call);
    if (k == 0) return;
    Work<T> w(Scratch(item.scratch), k);
    Least<T> least(w.store, static_cast<size_t>(k));
    if (blocks == 1) {
      look(least, Limit(nullptr), call, rowOf(call, buffers, item.number), 0, static_cast<size_t>(n), w.wide);
      least.finish();
      return put(call, buffers, item.number, w.store);
    }
    const int64_t row = item.phase == kLook ? item.number / blocks : item.number;
    const size_t bytes = Kept<T>(Scratch(), blocks, k).bytes;
    const Kept<T> kept(Scratch(static_cast<std::byte*>(item.shared) + static_cast<size_t>(row) * bytes), blocks, k);
    Limit limit(kept.limit);
    if (item.phase == kBegin) return limit.reset();
    if (item.phase == kLook) {
      const int64_t block = item.number % blocks;
      look(least, limit, call, rowOf(call, buffers, row), static_cast<size_t>(n * block / blocks),
           static_cast<size_t>(n * (block + 1) / blocks), w.wide);
      kept.counts[block] = static_cast<int64_t>(least.finish());
      std::copy_n(w.store, kept.counts[block], kept.words + block * k);
      return;
    }
    for (int64_t block = 0; block < blocks; ++block) {
      for (int64_t at = 0; at < kept.counts[block]; at += kPiece) {
        const auto m = std::min<int64_t>(kPiece, kept.counts[block] - at);
        std::copy_n(kept.words + block * k + at, m, least.room());
        least.added(static_cast<size_t>(m));
      }
    }
    least.finish();
    put(call, buffers, row, w.store);
  }

 private:
  enum : uint8_t { kBegin, kLook };  // phases

  /// The results of a row, of its k best.
  static void put(const Call& call, void* const* buffers, int64_t row, const T* best) {
    const int64_t k = option(call, "k");
    const auto width = static_cast<size_t>(abi::dtype::kBytes[call.operands[0].dtype]);
    const std::byte* from = rowOf(call, buffers, row);
    auto* values = static_cast<std::byte*>(buffers[1]) + static_cast<size_t>(row * k) * width;
    auto* places = static_cast<uint64_t*>(buffers[2]) + row * k;
    for (int64_t i = 0; i < k; ++i) {
      places[i] = placeOf(best[i]);
      std::memcpy(values + static_cast<size_t>(i) * width, from + places[i] * width, width);
    }
  }
};

Plan planTopK(const Call& call) {
  if (isShortRows(call.operands[0])) return planShortRows(call.operands[0]);
  return packs(call.operands[0]) ? TopK<uint64_t>::plan(call) : TopK<KeyPlace>::plan(call);
}

Failure runTopK(const Call& call, void* const* buffers, const Item& item) {
  if (isShortRows(call.operands[0])) {
    sortShortRows(call.operands[0], buffers[0], option(call, "largest") != 0, option(call, "k"), buffers[1],
                  static_cast<uint64_t*>(buffers[2]), item);
    return Failure::None;
  }
  packs(call.operands[0]) ? TopK<uint64_t>::run(call, buffers, item) : TopK<KeyPlace>::run(call, buffers, item);
  return Failure::None;
}

constexpr Routine kRoutine = {"topk", planTopK, runTopK};

}  // namespace

const Routine& topKRoutine() { return kRoutine; }

}  // namespace tenc::rt::library
