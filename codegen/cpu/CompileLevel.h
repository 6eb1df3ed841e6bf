// How much effort a kernel's code is worth. A kernel that runs for less time than optimising it takes is compiled
// quickly; both levels give the same bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "codegen/Kernel.h"

namespace tenc::codegen::cpu {

enum class Level : uint8_t {
  Quick,  ///< short code (one vector at a time, small tiles), selected and allocated without optimisation
  Full,   ///< unrolled and tiled code, LLVM's usual code generator
};
std::string_view name(Level level);

/// About how long one run of the kernel takes on one thread in full code, in units of a third of a nanosecond; infinite
/// where that depends on values that are not known. A function of the kernel alone: nothing is measured.
double expectedWork(const Kernel& kernel);

/// A kernel of more stages (the parts of a long concat) gets quick code: optimising takes the square of them and
/// longer.
constexpr size_t kMostStages = 128;

/// The level for a kernel whose runs are expected to take `work` (expectedWork times the number of runs).
Level levelFor(double work);

}  // namespace tenc::codegen::cpu
