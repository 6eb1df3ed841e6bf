// A launch as the driver API has it, checked and made a command.
#pragma once
#include "tests/cuda/vm/driver/Driver.h"

namespace tenc::ptx::driver {

/// `values`: a pointer to each parameter, which is copied.
Status kernelCall(Driver& d, void* function, const LaunchShape& shape, void** values, void** extra, KernelCommand& to);

}  // namespace tenc::ptx::driver
