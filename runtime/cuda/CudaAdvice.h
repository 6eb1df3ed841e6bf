// What errors of NVIDIA's driver mean for whoever runs a program, beyond their names.
#pragma once
#include <string>

namespace tenc::rt::cuda {

constexpr int kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY

/// Whether the device, or all of this process's use of it, is lost: every later call gives an error, too.
bool spoilsDevice(int status);

/// What to do about it, as a sentence; empty where nothing is known.
std::string adviceOn(int status);
/// The same of a status of cuBLASLt.
std::string adviceOnProducts(int status);
/// A status of cuSOLVER, which has no function that names it: "CUSOLVER_STATUS_ALLOC_FAILED, 2: ...", with what to do.
std::string explainSolver(int status);

}  // namespace tenc::rt::cuda
