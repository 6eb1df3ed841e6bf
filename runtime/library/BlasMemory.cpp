// OpenBLAS built for one thread looks for free memory without a lock, so that calls on two threads may be given the
// same piece, and where the system has no more it asks for ever. The linker hands its calls to these functions
// (`--wrap`, runtime/CMakeLists.txt): they take a lock, which is held for a short time, and let only as many calls have
// memory as there are pieces that were had before (reserveMatrices). Its own flavours with threads lock, but split
// matrices, and results then depend on how.
#include <sys/mman.h>

#include <algorithm>
#include <condition_variable>
#include <csetjmp>
#include <mutex>
#include <vector>

#include "runtime/library/Library.h"

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the names that the linker gives
void* __real_blas_memory_alloc(int position);
void __real_blas_memory_free(void* buffer);
void* __wrap_blas_memory_alloc(int position);
void __wrap_blas_memory_free(void* buffer);
// NOLINTEND(bugprone-reserved-identifier)
}

using namespace tenc;

namespace {

constexpr size_t kPieceBytes = size_t{128} << 20;  // of address space; what is not used takes no memory

/// Of no state that a result depends on: OpenBLAS's table of memory is one for the process.
constinit std::mutex memoryLock;
std::condition_variable& pieceIsFree() {
  static std::condition_variable signal;
  return signal;
}
constinit int pieces = 0;  // that OpenBLAS has; 0: nobody asked before, and calls take what they need
constinit int held = 0;
thread_local int heldHere = 0;

/// A call of LAPACK that is left where it asks for memory, which all but its small parts do again and again.
struct Leaving {
  static constexpr int kMostPieces = 8;
  const uint32_t* fault = nullptr;  ///< null while there is no such call
  std::jmp_buf place{};
  void* pieces[kMostPieces]{};  ///< that the call has
  int count = 0;

  bool isDue() const {
    return fault && count < kMostPieces && __atomic_load_n(fault, __ATOMIC_RELAXED) == abi::kInterruptFault;
  }
};
thread_local constinit Leaving leaving;

/// Whether the system has address space for one more.
bool canMap() {
  void* p = mmap(nullptr, kPieceBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  munmap(p, kPieceBytes);
  return true;
}

}  // namespace

namespace tenc::rt::library {

bool reserveMatrices(int threads) {
  const std::lock_guard lock(memoryLock);
  std::vector<void*> taken;
  // Those that are held now are pieces too.
  while (held + static_cast<int>(taken.size()) < threads) {
    if (held + static_cast<int>(taken.size()) >= pieces) {
      if (!canMap()) break;
      ++pieces;
    }
    taken.push_back(__real_blas_memory_alloc(0));
  }
  for (void* p : taken) __real_blas_memory_free(p);
  return pieces > 0;
}

bool untilInterrupted(const uint32_t* fault, void (*work)(void*), void* context) {
  leaving.fault = fault;
  leaving.count = 0;
  if (setjmp(leaving.place) == 0) {
    work(context);
    leaving.fault = nullptr;
    return true;
  }
  leaving.fault = nullptr;
  while (leaving.count > 0) __wrap_blas_memory_free(leaving.pieces[0]);
  return false;
}

void leaveIfInterrupted() {
  if (leaving.isDue()) std::longjmp(leaving.place, 1);
}

}  // namespace tenc::rt::library

// NOLINTBEGIN(bugprone-reserved-identifier)
void* __wrap_blas_memory_alloc(int position) {
  rt::library::leaveIfInterrupted();
  std::unique_lock lock(memoryLock);
  // Who holds a piece already would wait for itself.
  pieceIsFree().wait(lock, [] { return pieces == 0 || held < pieces || heldHere > 0; });
  ++held, ++heldHere;
  void* const piece = __real_blas_memory_alloc(position);
  if (leaving.fault && leaving.count < Leaving::kMostPieces) leaving.pieces[leaving.count++] = piece;
  return piece;
}

void __wrap_blas_memory_free(void* buffer) {
  {
    const std::lock_guard lock(memoryLock);
    --held, --heldHere;
    __real_blas_memory_free(buffer);
    void** const end = leaving.pieces + leaving.count;
    leaving.count = static_cast<int>(std::remove(leaving.pieces, end, buffer) - leaving.pieces);
  }
  pieceIsFree().notify_one();
}
// NOLINTEND(bugprone-reserved-identifier)
