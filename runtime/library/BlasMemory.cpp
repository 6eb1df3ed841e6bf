// OpenBLAS built for one thread looks for free memory without a lock, so that calls on two threads may be given the
// same piece. The linker hands its calls to these functions (`--wrap`, runtime/CMakeLists.txt), which take one; memory
// is held during a call only, so the lock is short. Its own flavours with threads lock, but split matrices, and results
// then depend on how.
#include <mutex>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the names that the linker gives
void* __real_blas_memory_alloc(int position);
void __real_blas_memory_free(void* buffer);
void* __wrap_blas_memory_alloc(int position);
void __wrap_blas_memory_free(void* buffer);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace {
/// Constant initialised, and of no state that a result depends on: OpenBLAS's table of memory is one for the process.
constinit std::mutex memoryLock;
}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier)
void* __wrap_blas_memory_alloc(int position) {
  const std::lock_guard lock(memoryLock);
  return __real_blas_memory_alloc(position);
}

void __wrap_blas_memory_free(void* buffer) {
  const std::lock_guard lock(memoryLock);
  __real_blas_memory_free(buffer);
}
// NOLINTEND(bugprone-reserved-identifier)
