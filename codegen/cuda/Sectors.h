// What a kernel's accesses ask of memory when threads that run together have these of its points.
#pragma once
#include <cstdint>

#include "codegen/Kernel.h"
#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {

inline constexpr int64_t kSectorBytes = 32;  ///< what memory moves at least

/// Sectors that the loops of a kernel, all but serial ones, ask for, for each 32 outer points: of Rows with lanes along
/// inner points, of others along outer ones.
double sectorsOf(const Kernel& kernel, const Schedule& schedule);

/// The most rows side by side that share a sector of something that the kernel reads across rows; 1 where it reads
/// nothing so.
int64_t rowsOfSector(const Kernel& kernel);

}  // namespace tenc::codegen::cuda
