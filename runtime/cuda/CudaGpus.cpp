#include "runtime/cuda/CudaGpus.h"

#include "runtime/cuda/CudaDriver.h"

namespace tenc::rt::cuda {
namespace {

// Numbers of attributes in cuda.h, and what kernels rely on.
constexpr int kComputeMode = 20;
constexpr int kProhibited = 2;
constexpr int kLeastMajor = 7, kLeastMinor = 5;

Gpu describe(const CudaDriver& driver, int ordinal) {
  const CudaFunctions& f = driver.f();
  Gpu gpu;
  gpu.ordinal = ordinal;
  DeviceNumber number = 0;
  char name[256] = "";
  size_t bytes = 0;
  int mode = 0;
  Result status = f.deviceGet(&number, ordinal);
  if (status == 0) status = f.deviceName(name, sizeof name, number);
  if (status == 0) status = f.deviceTotalMemory(&bytes, number);
  if (status == 0) status = f.deviceAttribute(&gpu.major, kMajor, number);
  if (status == 0) status = f.deviceAttribute(&gpu.minor, kMinor, number);
  if (status == 0) status = f.deviceAttribute(&mode, kComputeMode, number);
  gpu.name = name;
  gpu.memory = bytes;
  if (status != 0)
    gpu.problem = driver.explain(status);
  else if (gpu.major < kLeastMajor || (gpu.major == kLeastMajor && gpu.minor < kLeastMinor))
    gpu.problem = "its compute capability is less than " + std::to_string(kLeastMajor) + "." +
                  std::to_string(kLeastMinor) + ", which kernels need";
  else if (mode == kProhibited)
    gpu.problem = "its compute mode prohibits all use; `nvidia-smi -c DEFAULT` allows it";
  return gpu;
}

}  // namespace

Gpus findGpus() {
  Gpus gpus;
  const auto driver = CudaDriver::open(gpus.why);
  if (!driver) return gpus;
  gpus.driverVersion = driver->version();
  for (int i = 0; i < driver->devices(); ++i) gpus.all.push_back(describe(*driver, i));
  return gpus;
}

uint64_t freeMemory(const Gpu& gpu) {
  std::string why;
  const auto driver = CudaDriver::open(why);
  DeviceNumber number = 0;
  ContextHandle context = nullptr;
  if (!driver || driver->f().deviceGet(&number, gpu.ordinal) != 0 || driver->f().retainContext(&context, number) != 0)
    return 0;
  size_t free = 0, total = 0;
  if (driver->f().setCurrent(context) != 0 || driver->f().memoryInfo(&free, &total) != 0) free = 0;
  driver->f().setCurrent(nullptr);
  driver->f().releaseContext(number);
  return free;
}

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace tenc::rt::cuda
