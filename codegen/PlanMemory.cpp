#include "codegen/PlanMemory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>

namespace tenc::codegen {

namespace {

constexpr uint64_t kAlignment = 64;

/// Free blocks of the arena below `top`, by offset and by size.
class FreeList {
 public:
  uint64_t take(uint64_t bytes) {
    auto fit = bySize_.lower_bound({bytes, 0});
    if (fit != bySize_.end()) {
      auto [size, offset] = *fit;
      remove(offset, size);
      if (size > bytes) insert(offset + bytes, size - bytes);
      return offset;
    }
    // Grow; a free block at the top is used as the beginning.
    uint64_t offset = top_;
    if (!byOffset_.empty()) {
      auto [lastOffset, lastSize] = *byOffset_.rbegin();
      if (lastOffset + lastSize == top_) {
        remove(lastOffset, lastSize);
        offset = lastOffset;
      }
    }
    top_ = offset + bytes;
    return offset;
  }

  void give(uint64_t offset, uint64_t bytes) {
    auto next = byOffset_.lower_bound(offset);
    if (next != byOffset_.end() && offset + bytes == next->first) {
      uint64_t size = next->second;
      remove(offset + bytes, size);
      bytes += size;
    }
    auto after = byOffset_.lower_bound(offset);
    if (after != byOffset_.begin()) {
      auto [before, size] = *std::prev(after);
      if (before + size == offset) {
        remove(before, size);
        offset = before;
        bytes += size;
      }
    }
    insert(offset, bytes);
  }

  uint64_t top() const { return top_; }

 private:
  void insert(uint64_t offset, uint64_t bytes) {
    byOffset_[offset] = bytes;
    bySize_.insert({bytes, offset});
  }
  void remove(uint64_t offset, uint64_t bytes) {
    byOffset_.erase(offset);
    bySize_.erase({bytes, offset});
  }

  std::map<uint64_t, uint64_t> byOffset_;
  std::set<std::pair<uint64_t, uint64_t>> bySize_;
  uint64_t top_ = 0;
};

}  // namespace

MemoryLayout planMemory(std::vector<MemoryItem>& items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const MemoryItem &x = items[a], &y = items[b];
    if (x.start != y.start) return x.start < y.start;
    return x.bytes != y.bytes ? x.bytes > y.bytes : a < b;
  });
  using Ending = std::pair<int64_t, size_t>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
  FreeList free;
  MemoryLayout layout;
  uint64_t live = 0;
  uint64_t most = 0;
  auto rounded = [](uint64_t bytes) {
    return std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  };
  // Where more than the usual alignment is wanted, the block is larger by what may be lost in front.
  auto blockOf = [&](const MemoryItem& item) {
    return rounded(item.bytes) + std::max(item.alignment, kAlignment) - kAlignment;
  };
  std::vector<uint64_t> blocks(items.size());
  for (size_t i : order) {
    MemoryItem& item = items[i];
    while (!alive.empty() && alive.top().first <= item.start) {
      const MemoryItem& dead = items[alive.top().second];
      free.give(blocks[alive.top().second], blockOf(dead));
      live -= dead.bytes;
      alive.pop();
    }
    blocks[i] = free.take(blockOf(item));
    const uint64_t alignment = std::max(item.alignment, kAlignment);
    item.offset = (blocks[i] + alignment - 1) / alignment * alignment;
    live += item.bytes;
    if (live > most) {
      most = live;
      layout.peakTime = item.start;
    }
    alive.push({item.end, i});
  }
  layout.peak = free.top();
  return layout;
}

}  // namespace tenc::codegen
