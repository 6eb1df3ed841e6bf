// Routines (Trait::Library) as kernels of their own: a block for each row or matrix.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cuda/KernelWriters.h"

namespace tenc::codegen::cuda {

/// Of a kernel that is a routine: its blocks and threads, and how much memory of the device it works in.
struct RoutinePlan {
  Schedule schedule;  ///< blocks and threads alone
  uint64_t workspaceBytes = 0;
  /// Of what is several functions: these, and which of them run, one after the other.
  std::vector<Schedule> functions{};
  std::vector<uint32_t> launches{};
};
RoutinePlan planRoutine(const Kernel& kernel);

/// The body of a function for the kernel; `work` is the name of its memory. Adds to the module the functions that it
/// calls.
void writeRoutine(const Kernel& kernel, Module& module, const KernelNames& names, const std::string& work,
                  size_t function);

/// What of its schedule is to be told, for people.
std::string describeRoutine(const Kernel& kernel);

}  // namespace tenc::codegen::cuda
