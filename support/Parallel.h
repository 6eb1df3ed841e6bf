// Work on threads that are started for it.
#pragma once
#include <cstddef>
#include <functional>

namespace tenc {

/// work(i) for each i in [0, n): 0 on the caller's thread, the others on threads of their own, or on the caller's where
/// the system gives no more. What one throws is thrown here, after all have ended.
void inParallel(size_t n, const std::function<void(size_t)>& work);

}  // namespace tenc
