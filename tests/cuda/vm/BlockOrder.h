// What happens before what between blocks of one launch. A block's work is cut into epochs by its fences; an atomic
// makes its epoch known under an address; who takes it up there has seen it after a fence of its own (or at once, where
// the access itself orders).
#pragma once
#include <cstdint>
#include <unordered_map>

namespace tenc::ptx {

using Epochs = std::unordered_map<uint32_t, uint32_t>;   // by block: all epochs below are known
using Published = std::unordered_map<uint64_t, Epochs>;  // by address

class BlockOrder {
 public:
  void start() { *this = BlockOrder(); }
  uint32_t epoch() const { return epoch_; }
  /// Whether what `block` did in `epoch` happens before what this block does now.
  bool after(uint32_t block, uint32_t epoch) const {
    auto seen = seen_.find(block);
    return seen != seen_.end() && epoch < seen->second;
  }
  void fence() {
    ++epoch_;
    for (auto [block, epoch] : pending_) raise(seen_, block, epoch);
  }
  void acquire(const Published& published, uint64_t address, bool ordered) {
    auto at = published.find(address);
    if (at == published.end()) return;
    for (auto [block, epoch] : at->second) raise(ordered ? seen_ : pending_, block, epoch);
  }
  void release(Published& published, uint64_t address, uint32_t self, bool ordered) {
    if (ordered) ++epoch_;
    Epochs& at = published[address];
    for (auto [block, epoch] : seen_) raise(at, block, epoch);
    raise(at, self, epoch_);
  }

 private:
  static void raise(Epochs& epochs, uint32_t block, uint32_t epoch) {
    uint32_t& e = epochs[block];
    if (e < epoch) e = epoch;
  }

  uint32_t epoch_ = 1;
  Epochs seen_, pending_;
};

}  // namespace tenc::ptx
