// Which GPUs of NVIDIA this machine has, and what the driver says of them. Nothing is taken of them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tenc::rt::cuda {

struct Gpu {
  int ordinal = 0;  ///< as the driver counts
  std::string name;
  uint64_t memory = 0;       ///< bytes
  int major = 0, minor = 0;  ///< compute capability
  std::string problem;       ///< why it cannot be used, as a sentence; empty when it can
};

struct Gpus {
  std::vector<Gpu> all;
  std::string why;        ///< there is none: the reason, as a sentence; empty where none was looked for
  int driverVersion = 0;  ///< of the driver's interface: 13000 is 13.0; 0 without a driver
};

/// Numbers of attributes in cuda.h: the compute capability.
inline constexpr int kMajor = 75, kMinor = 76;

/// Loads the driver, which is looked for as CudaDriver::open says.
Gpus findGpus();

/// Bytes that a GPU has left; 0 when the driver does not say. Makes the device's context, which takes a while.
uint64_t freeMemory(const Gpu& gpu);

/// "13.0" of 13000.
std::string versionText(int version);

}  // namespace tenc::rt::cuda
