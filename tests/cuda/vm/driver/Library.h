// How fakes of NVIDIA's libraries work on the devices of the fake driver; exported by its library under these names.
#pragma once
#include "tests/cuda/vm/driver/Command.h"

extern "C" {

/// The device of the thread's context; null without one.
tenc::ptx::driver::Device* tencVmDevice();
/// Appends a copy of the work to a stream of that device, or to the graph that it captures. Gives what a launch would.
int tencVmSubmit(void* stream, const tenc::ptx::driver::LibraryCommand* work);
/// What TENC_VM_FAIL plants at a function of that name: a status, else 0.
int tencVmPlanted(const char* function);
}
