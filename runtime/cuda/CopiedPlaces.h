// Which memory of a device a program copies from and to other devices, as far as its steps tell.
#pragma once
#include <vector>

#include "runtime/abi/Program.h"
#include "runtime/cuda/CopyOrder.h"

namespace tenc::rt::cuda {

/// Each place once, those of loops first. `memory`: where the arena of the device is. Loops that exchange addresses may
/// copy to other places, too.
std::vector<Touch> copiedPlaces(const abi::Program& program, uint32_t device, Pointer memory);

}  // namespace tenc::rt::cuda
