// What warpgroups read of a block's shared memory. They go past the order of other accesses (PTX calls that the async
// proxy): who has written says so by fence.proxy.async, and what they still read stays as it is.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace tenc::ptx {

class AsyncProxy {
 public:
  struct Reader {
    uint32_t count = 0, pc = 0;  // products that read it, and the last one
  };

  /// Nothing is written, fenced or read. Where it is not `used` there is nothing to ask for.
  void start(uint32_t bytes, uint32_t cells, uint32_t warps, bool used) {
    writtenAt_.assign(used ? cells : 0, 0);
    readers_.assign(used ? bytes / kPiece + 1 : 0, Reader());
    fences_.assign(used ? warps : 0, {});
    time_ = reading_ = 0;
  }
  bool used() const { return !fences_.empty(); }

  /// Time is the number of fences so far. When each cell was written; null where it is not used.
  uint32_t* writtenAt() { return used() ? writtenAt_.data() : nullptr; }
  uint32_t time() const { return time_; }
  void fence(uint32_t warp, uint32_t lanes, uint32_t epoch) { fences_[warp].push_back({++time_, epoch, lanes}); }
  /// Whether a lane has made known what it wrote in a cell, before `epoch` of its warp was over.
  bool fenced(uint32_t warp, uint32_t lane, uint32_t cell, uint32_t epoch) const {
    const auto& all = fences_[warp];
    auto f = std::upper_bound(all.begin(), all.end(), writtenAt_[cell],
                              [](uint32_t time, const Fence& fence) { return time < fence.time; });
    while (f != all.end() && !(f->lanes >> lane & 1)) ++f;
    return f != all.end() && f->epoch <= epoch;
  }

  // Pieces of 16 bytes that products which are under way read.
  void beginRead(uint32_t offset, uint32_t pc) {
    Reader& r = readers_[offset / kPiece];
    r = {r.count + 1, pc};
    ++reading_;
  }
  void endRead(uint32_t offset) {
    --readers_[offset / kPiece].count;
    --reading_;
  }
  bool reading() const { return reading_; }
  /// Who reads one of the bytes, or null.
  const Reader* readerOf(uint32_t offset, uint32_t bytes) const {
    for (uint32_t p = offset / kPiece; p <= (offset + bytes - 1) / kPiece; ++p) {
      if (readers_[p].count) return &readers_[p];
    }
    return nullptr;
  }

 private:
  static constexpr uint32_t kPiece = 16;
  struct Fence {
    uint32_t time = 0, epoch = 0, lanes = 0;
  };
  std::vector<uint32_t> writtenAt_;
  std::vector<Reader> readers_;
  std::vector<std::vector<Fence>> fences_;  // of each warp
  uint32_t time_ = 0, reading_ = 0;
};

}  // namespace tenc::ptx
