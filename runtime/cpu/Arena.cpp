#include "runtime/cpu/Arena.h"

#include <sys/mman.h>

#include <cstring>

namespace tenc::rt {
namespace {

constexpr int kFill = 0xA5;

}  // namespace

Arena::~Arena() {
  if (mapping_) munmap(mapping_, mapped_);
}

bool Arena::reserve(uint64_t bytes) {
  if (bytes > size_) {
    constexpr uint64_t kHuge = uint64_t{2} << 20;
    if (mapping_) munmap(mapping_, mapped_);
    mapping_ = nullptr, base_ = nullptr, size_ = 0;
    if (bytes > (uint64_t{1} << 46)) return false;
    const bool huge = bytes >= kHuge / 2;
    const uint64_t unit = huge ? kHuge : 4096;
    const uint64_t rounded = (bytes + unit - 1) / unit * unit;
    const uint64_t map = rounded + (huge ? kHuge : 0);
    void* p = mmap(nullptr, map, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    mapping_ = p, mapped_ = map, size_ = rounded;
    const auto address = reinterpret_cast<uintptr_t>(p);
    base_ = reinterpret_cast<std::byte*>((address + unit - 1) / unit * unit);
    if (huge) madvise(base_, rounded, MADV_HUGEPAGE);
    accessible_ = true;
  }
  return true;
}

void Arena::fill() {
  protect(true);
  if (size_) std::memset(base_, kFill, size_);
}

uint64_t Arena::touched() const {
  uint64_t n = size_;
  while (n > 0 && base_[n - 1] == std::byte{kFill}) --n;
  return n;
}

void Arena::protect(bool accessible) {
  if (!size_ || accessible == accessible_) return;
  mprotect(base_, size_, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
  accessible_ = accessible;
}

}  // namespace tenc::rt
