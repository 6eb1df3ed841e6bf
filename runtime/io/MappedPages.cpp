#include "runtime/io/MappedPages.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <new>

namespace tenc::rt {

/// Who sets `begin` of a free one has it.
struct MappedPages::Slot {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<bool> lost{false};
};

namespace {

/// A signal handler has no other way to find what is mapped. Tables are only added.
struct Table {
  std::array<MappedPages::Slot, 64> slots;
  std::atomic<Table*> next{nullptr};
};
constinit Table firstTable;
constinit std::atomic<uint64_t> lostSoFar{0};

}  // namespace

MappedPages::MappedPages(const void* begin, uint64_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(begin);
  for (Table* table = &firstTable; table; table = table->next) {
    for (Slot& slot : table->slots) {
      uintptr_t isFree = 0;
      if (!slot.begin.compare_exchange_strong(isFree, first)) continue;
      slot.lost = false;
      slot.end = first + bytes;
      slot_ = &slot;
      return;
    }
    if (table->next) continue;
    auto* more = new (std::nothrow) Table;
    Table* none = nullptr;
    if (more && !table->next.compare_exchange_strong(none, more)) delete more;
  }
}

MappedPages::~MappedPages() {
  if (!slot_) return;
  slot_->end = 0;
  slot_->begin = 0;
}

bool MappedPages::areLost() const { return slot_ && slot_->lost; }

bool restoreLostPages(const void* address) noexcept {
  constexpr uintptr_t kPage = 4096;
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (Table* table = &firstTable; table; table = table->next) {
    for (MappedPages::Slot& slot : table->slots) {
      const uintptr_t begin = slot.begin, end = slot.end;
      if (begin == 0 || at < begin || at >= end) continue;
      const uintptr_t page = at / kPage * kPage;
      void* const zeros = mmap(reinterpret_cast<void*>(page), end - page, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
      if (zeros == MAP_FAILED) return false;
      slot.lost = true;
      ++lostSoFar;
      return true;
    }
  }
  return false;
}

uint64_t lostPagesSoFar() noexcept { return lostSoFar; }

}  // namespace tenc::rt
