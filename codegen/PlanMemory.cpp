#include "codegen/PlanMemory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>

namespace tenc::codegen {

namespace {

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

uint64_t rounded(uint64_t bytes) {
  return std::max(kPlannedAlignment, (bytes + kPlannedAlignment - 1) / kPlannedAlignment * kPlannedAlignment);
}

/// Where more than the usual alignment is wanted, the block is larger by what may be lost in front.
uint64_t blockOf(const MemoryItem& item) {
  return rounded(item.bytes) + item.gap + std::max(item.alignment, kPlannedAlignment) - kPlannedAlignment;
}

struct Blocks {
  std::vector<uint64_t> offsets;
  uint64_t top = 0;
};

/// In the order of their starts, each in the smallest free block that holds it. `most` gets the most that is alive,
/// rounded, and `time` when that is so for the bytes alone.
Blocks byStart(const std::vector<MemoryItem>& items, uint64_t& most, int64_t& time) {
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
  uint64_t live = 0, liveBlocks = 0, mostLive = 0;
  Blocks blocks{std::vector<uint64_t>(items.size()), 0};
  for (size_t i : order) {
    const MemoryItem& item = items[i];
    while (!alive.empty() && alive.top().first <= item.start) {
      const MemoryItem& dead = items[alive.top().second];
      free.give(blocks.offsets[alive.top().second], blockOf(dead));
      live -= dead.bytes;
      liveBlocks -= blockOf(dead);
      alive.pop();
    }
    blocks.offsets[i] = free.take(blockOf(item));
    live += item.bytes;
    liveBlocks += blockOf(item);
    most = std::max(most, liveBlocks);
    if (live > mostLive) {
      mostLive = live;
      time = item.start;
    }
    alive.push({item.end, i});
  }
  blocks.top = free.top();
  return blocks;
}

/// The largest first, each at the lowest place that is free for all of its life.
Blocks bySize(const std::vector<MemoryItem>& items) {
  std::vector<size_t> order(items.size()), placed;  // placed: by offset
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return items[a].bytes > items[b].bytes; });
  Blocks blocks{std::vector<uint64_t>(items.size()), 0};
  for (const size_t i : order) {
    const MemoryItem& item = items[i];
    uint64_t at = 0;
    for (const size_t other : placed) {
      const MemoryItem& o = items[other];
      if (o.end <= item.start || item.end <= o.start) continue;
      if (blocks.offsets[other] >= at + blockOf(item)) break;
      at = std::max(at, blocks.offsets[other] + blockOf(o));
    }
    blocks.offsets[i] = at;
    blocks.top = std::max(blocks.top, at + blockOf(item));
    const auto behind = [&](size_t x, size_t y) { return blocks.offsets[x] < blocks.offsets[y]; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i, behind), i);
  }
  return blocks;
}

}  // namespace

MemoryLayout planMemory(std::vector<MemoryItem>& items) {
  constexpr size_t kMostBySize = 2000;  // it takes the square of their number
  MemoryLayout layout;
  uint64_t most = 0;
  Blocks blocks = byStart(items, most, layout.peakTime);
  if (blocks.top > most && items.size() <= kMostBySize) {
    Blocks other = bySize(items);
    if (other.top < blocks.top) blocks = std::move(other);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const uint64_t alignment = std::max(items[i].alignment, kPlannedAlignment);
    items[i].offset = (blocks.offsets[i] + alignment - 1) / alignment * alignment;
  }
  layout.peak = blocks.top;
  return layout;
}

}  // namespace tenc::codegen
