// Routines (Trait::Library) as kernels of their own: a block for each row or matrix.
#pragma once
#include <string>

#include "codegen/Kernel.h"
#include "codegen/cuda/KernelWriters.h"

namespace tenc::codegen::cuda {

LaunchPlan planRoutine(const Kernel& kernel);

/// The body of a function for the kernel; `work` is the name of its memory. Adds to the module the functions that it
/// calls.
void writeRoutine(const Kernel& kernel, Module& module, const KernelNames& names, const std::string& work,
                  size_t function);

/// What of its schedule is to be told, for people.
std::string describeRoutine(const Kernel& kernel);

}  // namespace tenc::codegen::cuda
