// What a kernel shares with the runtime while it runs. Kernels reach it by its offsets.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace tenc::abi {

struct KernelState;

/// An index that is out of range: it, or the first of `count` elements, is none of the `size` of dim `axis`.
struct BadIndex {
  int64_t index = 0, count = 1, size = -1;  ///< size -1: the fault is of another kind
  int64_t axis = 0;
};

/// Kernels call this where they fault. `number`: 1 + the fault's number in the kernel.
using ReportFn = void (*)(KernelState* state, uint32_t number, int64_t index, int64_t count, int64_t size,
                          int64_t axis);

/// The fault word of an interrupted run: loops inside kernels that may run for long end when they see it.
inline constexpr uint32_t kInterruptFault = ~0u;

/// Keeps the fault with the least number, and of these the first axis and the least index on it, whichever thread was
/// first.
inline void reportLeast(KernelState* state, uint32_t number, int64_t index, int64_t count, int64_t size, int64_t axis);
/// Keeps the first fault: for kernels that do all in order.
inline void reportFirst(KernelState* state, uint32_t number, int64_t index, int64_t count, int64_t size, int64_t axis);

/// The fault word comes first: 0 when all is well. `first`, `at`, `end`, `step`: how far the outermost loop of a native
/// kernel has come, now and then, for those who look on; `step` is 0 outside of one, `end` is `first` where nobody
/// knows it.
struct KernelState {
  uint32_t fault = 0, busy = 0;  ///< busy: a thread writes the fault
  int64_t at = 0, first = 0, end = 0, step = 0;
  ReportFn least = &reportLeast, ordered = &reportFirst;
  BadIndex bad;  ///< of `fault`
};

namespace detail {
template <typename IsNew>
void report(KernelState* s, uint32_t number, BadIndex bad, IsNew isNew) {
  // Most faults come after one that is kept.
  const uint32_t kept = __atomic_load_n(&s->fault, __ATOMIC_RELAXED);
  if (kept != 0 && kept < number) return;
  while (__atomic_exchange_n(&s->busy, 1, __ATOMIC_ACQUIRE) != 0) {}
  uint32_t seen = __atomic_load_n(&s->fault, __ATOMIC_RELAXED);
  if (seen != kInterruptFault && isNew(seen)) {
    s->bad = bad;
    // An interrupt that comes now stays.
    __atomic_compare_exchange_n(&s->fault, &seen, number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE);
}
}  // namespace detail

inline void reportLeast(KernelState* s, uint32_t number, int64_t index, int64_t count, int64_t size, int64_t axis) {
  detail::report(s, number, {index, count, size, axis}, [&](uint32_t seen) {
    return seen == 0 || std::tuple(number, axis, index) < std::tuple(seen, s->bad.axis, s->bad.index);
  });
}

inline void reportFirst(KernelState* s, uint32_t number, int64_t index, int64_t count, int64_t size, int64_t axis) {
  detail::report(s, number, {index, count, size, axis}, [](uint32_t seen) { return seen == 0; });
}

}  // namespace tenc::abi
