// Schedules of running sums, products and extremes whose row or column a team of threads shares.
#pragma once
#include <optional>

#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {

/// None where a thread had better go through its elements one after the other, and for kernels without a scan.
std::optional<Schedule> scanSchedule(const Kernel& kernel);

/// Whether the stage goes through the elements of a scan; others come after it, without inner points.
inline bool isScan(const Stage& stage) { return stage.innerLo.size() == 1; }

/// The stage of a scan with its inner loop turned around, where that goes against memory; otherwise none. Elements
/// come from the loop's end then.
std::optional<Stage> turnedAround(const Kernel& kernel, const Stage& stage);

}  // namespace tenc::codegen::cuda
