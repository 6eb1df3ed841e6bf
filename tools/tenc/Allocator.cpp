// The C++ heap of the command. A compiler allocates some hundred thousand small objects and exits: with glibc's malloc
// a third of the time of a start from the cache went there. Small blocks come from lists by size, one set for each
// thread, cut from large pieces; nothing is merged and pieces are kept until the process ends. Large blocks are
// malloc's.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TENC_PLAIN_HEAP
#endif
#endif

#ifndef TENC_PLAIN_HEAP
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace {

constexpr size_t kStep = 16;      // between sizes, and the alignment
constexpr size_t kLargest = 512;  // of a small block, its header included
constexpr size_t kClasses = kLargest / kStep + 1;
constexpr size_t kPiece = size_t{256} << 10;
constexpr uint64_t kFromMalloc = 0;

/// In front of every block.
struct alignas(kStep) Header {
  uint64_t size;  ///< class of a small block, which is never 0; or kFromMalloc
};

struct Free {
  Free* next;
};

/// Of one thread; without constructor and destructor, so that it is there before the first and after the last object.
struct Lists {
  Free* of[kClasses];
  char* next;  ///< rest of the piece
  char* end;
  bool known;  ///< the end of the thread will hand its blocks on
};

constinit thread_local Lists lists{};

/// Free blocks of threads that ended, and the largest rest of a piece.
struct Left {
  std::mutex mutex;
  Free* of[kClasses];
  char* next;
  char* end;
};
constinit Left left{};

/// Hands the blocks of a thread that ends to others.
struct Leaving {
  ~Leaving() {
    const std::lock_guard lock(left.mutex);
    for (size_t c = 0; c < kClasses; ++c) {
      Free* last = lists.of[c];
      if (last == nullptr) continue;
      while (last->next != nullptr) last = last->next;
      last->next = left.of[c];
      left.of[c] = lists.of[c];
      lists.of[c] = nullptr;
    }
    if (lists.end - lists.next > left.end - left.next) {
      std::swap(lists.next, left.next);
      std::swap(lists.end, left.end);
    }
  }
};

void* large(size_t bytes) {
  for (;;) {
    if (void* p = bytes <= SIZE_MAX - sizeof(Header) ? std::malloc(bytes + sizeof(Header)) : nullptr) {
      auto* header = static_cast<Header*>(p);
      header->size = kFromMalloc;
      return header + 1;
    }
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

/// A block of class `c` when the thread has none.
__attribute__((noinline)) void* refill(size_t c) {
  if (!lists.known) {
    lists.known = true;
    static thread_local const Leaving leaving;
    const std::lock_guard lock(left.mutex);
    for (size_t i = 0; i < kClasses; ++i) {
      if (lists.of[i] != nullptr) continue;
      lists.of[i] = left.of[i];
      left.of[i] = nullptr;
    }
    if (lists.next == nullptr) {
      std::swap(lists.next, left.next);
      std::swap(lists.end, left.end);
    }
    if (Free* block = lists.of[c]) {
      lists.of[c] = block->next;
      return block;
    }
  }
  const size_t bytes = c * kStep;
  if (static_cast<size_t>(lists.end - lists.next) < bytes) {
    void* piece = mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) return large(bytes - sizeof(Header));
#ifdef MADV_POPULATE_WRITE
    madvise(piece, kPiece, MADV_POPULATE_WRITE);  // one call instead of 64 page faults
#endif
    lists.next = static_cast<char*>(piece);
    lists.end = lists.next + kPiece;
  }
  auto* header = reinterpret_cast<Header*>(lists.next);
  lists.next += bytes;
  header->size = c;
  return header + 1;
}

}  // namespace

void* operator new(size_t bytes) {
  if (bytes > kLargest - sizeof(Header)) return large(bytes);
  const size_t c = (bytes + sizeof(Header) + kStep - 1) / kStep + (bytes == 0);
  Free* block = lists.of[c];
  if (block == nullptr) return refill(c);
  lists.of[c] = block->next;
  return block;
}

void operator delete(void* p) noexcept {
  if (p == nullptr) return;
  Header* header = static_cast<Header*>(p) - 1;
  if (header->size == kFromMalloc) return std::free(header);
  auto* block = static_cast<Free*>(p);
  block->next = lists.of[header->size];
  lists.of[header->size] = block;
}

void operator delete(void* p, size_t) noexcept { operator delete(p); }
#endif  // TENC_PLAIN_HEAP
