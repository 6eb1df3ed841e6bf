// Rows of keys that all threads sort together: blocks of the row are distributed to buckets, of which each is sorted by
// itself. The result is that of sorting, so that no cut of the row shows in it.
#pragma once
#include <algorithm>
#include <cstdint>

#include "runtime/library/Matrix.h"
#include "runtime/library/VectorSort.h"

namespace tenc::rt::library {

/// Whether few rows are so long that a thread for each is too little.
constexpr bool isLongRow(int64_t rows, int64_t n) { return rows < 8 && n >= int64_t{1} << 16; }

/// One row; the same shared memory in every phase. `choose`, then `split` for each block, `gather` for each block, and
/// `sort` for each bucket; what stands in one of these steps is there in the next.
template <class Key>
class LongSort {
 public:
  static constexpr int64_t kBuckets = kPivots + 1;

  /// `n` keys, in blocks of the same number but for the last.
  LongSort(Scratch& s, int64_t n)
      : blockSize_(std::max<int64_t>(int64_t{1} << 14, (n / kMostBlocks + 64) / 64 * 64)),
        n_(n),
        pivots_(s.take<Key>(kBuckets)),
        counts_(s.take<int64_t>(blocks() * kBuckets)),
        classes_(s.take<uint8_t>(n)),
        sorted_(s.take<Key>(n)) {}
  int64_t blocks() const { return (n_ + blockSize_ - 1) / blockSize_; }
  int64_t begin(int64_t block) const { return block * blockSize_; }
  int64_t size(int64_t block) const { return std::min(blockSize_, n_ - begin(block)); }

  /// The keys at which buckets begin, from a sample: the same places of the row in every run. keyAt(i): that of element
  /// i.
  template <class F>
  void choose(F keyAt) {
    constexpr int64_t kEach = 64;
    Key sample[kEach * kBuckets];
    uint64_t random = 0x243f6a8885a308d3;
    for (Key& key : sample) {
      random = random * 6364136223846793005 + 1442695040888963407;
      key = keyAt(static_cast<int64_t>(static_cast<unsigned __int128>(random) * static_cast<uint64_t>(n_) >> 64));
    }
    sortKeys(sample, std::size(sample));
    for (int64_t b = 1; b < kBuckets; ++b) pivots_[b] = sample[kEach * b];
  }
  /// Finds the buckets of the `m` keys of a block.
  void split(int64_t block, const Key* keys, int64_t m) {
    uint8_t* const classes = classes_ + begin(block);
    classify(keys, static_cast<size_t>(m), pivots_ + 1, classes);
    int64_t* const counts = counts_ + block * kBuckets;
    std::fill_n(counts, kBuckets, 0);
    for (int64_t i = 0; i < m; ++i) ++counts[classes[i]];
  }
  /// Puts the same keys where their buckets are.
  void gather(int64_t block, const Key* keys) {
    Key* to[kBuckets];
    int64_t at = 0, m = 0;
    for (int64_t b = 0; b < kBuckets; ++b) {
      to[b] = sorted_ + at;
      for (int64_t i = 0; i < block; ++i) to[b] += counts_[i * kBuckets + b];
      m += counts_[block * kBuckets + b];
      at += sizeOf(b);
    }
    const uint8_t* const classes = classes_ + begin(block);
    for (int64_t i = 0; i < m; ++i) *to[classes[i]]++ = keys[i];
  }
  struct Bucket {
    Key* keys;
    int64_t first, size;  ///< among the sorted keys
  };
  /// A bucket with its keys in order.
  Bucket sort(int64_t bucket) {
    Bucket r{sorted_, 0, sizeOf(bucket)};
    for (int64_t b = 0; b < bucket; ++b) r.first += sizeOf(b);
    r.keys += r.first;
    sortKeys(r.keys, static_cast<size_t>(r.size));
    return r;
  }

 private:
  static constexpr int64_t kMostBlocks = 64;

  int64_t sizeOf(int64_t bucket) const {
    int64_t sum = 0;
    for (int64_t i = bucket; i < blocks() * kBuckets; i += kBuckets) sum += counts_[i];
    return sum;
  }
  int64_t blockSize_, n_;
  Key* pivots_;       // of each bucket but the first
  int64_t* counts_;   // of each block, in each bucket
  uint8_t* classes_;  // the bucket of each key
  Key* sorted_;
};

}  // namespace tenc::rt::library
