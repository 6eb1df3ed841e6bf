#include "runtime/virtual/GuardedMemory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace tenc::rt {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMostAddresses = uint64_t{1} << 45;
constexpr uint64_t kLarge = 1 << 20;
constexpr uint64_t kWorthGivingBack = 256 << 10;

uint64_t pagesFor(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

bool GuardedMemory::map(const abi::Program& p, uint32_t device) {
  unmap();
  slots_.assign(p.buffers.size(), {});
  highest_ = 0;
  uint64_t total = kPage;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const abi::Buffer& b = p.buffers[i];
    if (b.device != device || b.bytes == 0) continue;
    slots_[i].bytes = b.bytes;
    slots_[i].mapped = pagesFor(b.bytes);
    slots_[i].offset = b.offset;
    total += slots_[i].mapped + kPage;
    if (total > kMostAddresses) return false;
  }
  void* base = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(base);
  size_ = total;
  std::byte* at = base_ + kPage;
  for (Slot& s : slots_) {
    if (s.mapped == 0) continue;
    s.pages = at;
    s.address = at + (s.mapped - s.bytes);
    // Kernels store large buffers with instructions that want this.
    if (s.bytes >= kLarge) s.address -= reinterpret_cast<uintptr_t>(s.address) % 64;
    at += s.mapped + kPage;
  }
  return true;
}

void GuardedMemory::unmap() {
  if (base_) munmap(base_, size_);
  base_ = nullptr;
  size_ = 0;
  slots_.clear();
  taken_.clear();
}

void GuardedMemory::open(abi::BufferId b) { mprotect(slots_[b].pages, slots_[b].mapped, PROT_READ | PROT_WRITE); }

void GuardedMemory::close(abi::BufferId b) { mprotect(slots_[b].pages, slots_[b].mapped, PROT_NONE); }

void GuardedMemory::poison(abi::BufferId b) { std::memset(slots_[b].pages, kPoison, slots_[b].mapped); }

bool GuardedMemory::intact(abi::BufferId b) const {
  const Slot& s = slots_[b];
  return std::all_of(s.pages, s.address, [](std::byte x) { return x == std::byte{kPoison}; });
}

void GuardedMemory::discard(abi::BufferId b) {
  if (slots_[b].mapped >= kWorthGivingBack) madvise(slots_[b].pages, slots_[b].mapped, MADV_DONTNEED);
}

std::vector<abi::BufferId> GuardedMemory::take(abi::BufferId b) {
  Slot& s = slots_[b];
  highest_ = std::max(highest_, s.offset + s.bytes);
  std::vector<abi::BufferId> ended;
  if (s.holds) return ended;
  // What holds something never overlaps, so at most one buffer before the offset reaches over it.
  auto it = taken_.lower_bound(s.offset);
  if (it != taken_.begin()) {
    const Slot& before = slots_[std::prev(it)->second];
    if (before.offset + before.bytes > s.offset) --it;
  }
  while (it != taken_.end() && it->first < s.offset + s.bytes) {
    slots_[it->second].holds = false;
    ended.push_back(it->second);
    it = taken_.erase(it);
  }
  taken_[s.offset] = b;
  s.holds = true;
  return ended;
}

bool GuardedMemory::find(const void* p, AddressNote& note) const {
  const auto* at = static_cast<const std::byte*>(p);
  if (!base_ || at < base_ || at >= base_ + size_) return false;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& s = slots_[i];
    if (s.mapped == 0 || at < s.pages || at >= s.pages + s.mapped + kPage) continue;
    note = {static_cast<abi::BufferId>(i), s.bytes, at - s.address};
    break;
  }
  return true;
}

}  // namespace tenc::rt
