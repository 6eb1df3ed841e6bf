// Copies by all threads.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tenc::rt {

class ThreadPool;

/// As std::memmove; what is much, and apart from where it goes, on all threads of the pool.
void copyBytes(ThreadPool& pool, std::byte* to, const std::byte* from, uint64_t bytes);

}  // namespace tenc::rt
