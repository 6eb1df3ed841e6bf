#include "support/Stack.h"

#include <pthread.h>

#include <cstdint>

namespace tenc {
namespace {

constexpr intptr_t kKept = intptr_t{512} << 10;
constexpr intptr_t kSurelyThere = intptr_t{512} << 10;

/// The lowest address of this thread's stack that may be used; 0 when it is not known.
intptr_t lowestAddress() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  size_t size = 0;
  const bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  pthread_attr_destroy(&attributes);
  return known ? reinterpret_cast<intptr_t>(lowest) : 0;
}

}  // namespace

bool stackIsLow() {
  const auto here = reinterpret_cast<intptr_t>(__builtin_frame_address(0));
  // Asking the system reads a file: only for what nests deeply.
  thread_local const intptr_t begin = here;
  if (begin - here < kSurelyThere) return false;
  thread_local const intptr_t lowest = lowestAddress();
  return lowest != 0 && here - lowest < kKept;
}

}  // namespace tenc
