// The memory of the host that library routines work in, besides the arena.
#pragma once
#include <cstdint>

#include "runtime/abi/Program.h"

namespace tenc::rt {

/// What the routines of a program take at the most, on so many threads. What they worked in stays theirs for all of a
/// run.
uint64_t routineMemory(const abi::Program& program, int threads);

}  // namespace tenc::rt
