#include "runtime/virtual/GuardedPages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace tenc::rt {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMostAddresses = uint64_t{1} << 45;
constexpr uint64_t kWorthGivingBack = 256 << 10;

uint64_t pagesFor(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

bool GuardedPages::map(const abi::Program& p, uint32_t device) {
  buffers_.resize(p.buffers.size());
  addresses_.resize(p.buffers.size());
  uint64_t total = kPage;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const abi::Buffer& b = p.buffers[i];
    if (b.device != device || b.bytes == 0) continue;
    buffers_[i].bytes = b.bytes;
    buffers_[i].mapped = pagesFor(b.bytes);
    total += buffers_[i].mapped + kPage;
    if (total > kMostAddresses) return false;
  }
  void* base = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(base);
  size_ = total;
  std::byte* at = base_ + kPage;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    BufferPages& s = buffers_[i];
    if (s.mapped == 0) continue;
    s.pages = at;
    std::byte*& address = addresses_[i];
    address = at + (s.mapped - s.bytes);
    if (s.bytes >= abi::kLargeBuffer) address -= reinterpret_cast<uintptr_t>(address) % abi::kLargeAlignment;
    at += s.mapped + kPage;
  }
  return true;
}

GuardedPages::~GuardedPages() {
  if (base_) munmap(base_, size_);
}

bool GuardedPages::open(abi::BufferId b) {
  return mprotect(buffers_[b].pages, buffers_[b].mapped, PROT_READ | PROT_WRITE) == 0;
}

bool GuardedPages::close(abi::BufferId b) { return mprotect(buffers_[b].pages, buffers_[b].mapped, PROT_NONE) == 0; }

void GuardedPages::poison(abi::BufferId b) { std::memset(buffers_[b].pages, kPoison, buffers_[b].mapped); }

bool GuardedPages::intact(abi::BufferId b) const {
  return std::all_of(buffers_[b].pages, addresses_[b], [](std::byte x) { return x == std::byte{kPoison}; });
}

void GuardedPages::discard(abi::BufferId b) {
  if (buffers_[b].mapped >= kWorthGivingBack) madvise(buffers_[b].pages, buffers_[b].mapped, MADV_DONTNEED);
}

bool GuardedPages::find(const void* p, AddressNote& note) const {
  const auto* at = static_cast<const std::byte*>(p);
  if (!base_ || at < base_ || at >= base_ + size_) return false;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const BufferPages& s = buffers_[i];
    if (s.mapped == 0 || at < s.pages || at >= s.pages + s.mapped + kPage) continue;
    note = {static_cast<abi::BufferId>(i), s.bytes, at - addresses_[i]};
    break;
  }
  return true;
}

}  // namespace tenc::rt
