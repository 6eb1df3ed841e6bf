// Whether linear algebra by a library of a device stays in its memory.
#pragma once
#include <string_view>

#include "runtime/abi/Kernels.h"

namespace tenc::rt {

/// What is wrong with the calls, which work in memory of so many bytes; empty when nothing is.
std::string_view problemOf(const abi::SolverCode& code, uint64_t memoryBytes);

}  // namespace tenc::rt
