#include "runtime/cuda/CudaDriver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <type_traits>

#include "runtime/cuda/CudaAdvice.h"
#include "runtime/cuda/CudaGpus.h"

namespace tenc::rt::cuda {
namespace {

constexpr int kInterface = 12000;  // of most functions below: drivers of CUDA 12 and later have them
constexpr int kConditions = 12040;
constexpr const char* kInstall = "the driver package of the system, version 525 or later, brings it";

/// "is of CUDA 11.4", as far as the library says.
std::string versionOf(void* library) {
  const auto get = reinterpret_cast<Result (*)(int*)>(dlsym(library, "cuDriverGetVersion"));
  int version = 0;
  return get != nullptr && get(&version) == 0 ? "is of CUDA " + versionText(version) : "is no driver";
}

}  // namespace

std::shared_ptr<const CudaDriver> CudaDriver::open(std::string& why) {
  std::shared_ptr<CudaDriver> driver(new CudaDriver);
  const char* const chosen = std::getenv("TENC_LIBCUDA");
  if (chosen != nullptr && *chosen == 0) return nullptr;
  void* library = nullptr;  // stays loaded: threads of its own may run in it
  std::string name, tried;
  for (const char* candidate : {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}) {
    name = chosen != nullptr ? chosen : candidate;
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    tried += (tried.empty() ? "" : ", ") + name;
    if (library != nullptr || chosen != nullptr) break;
  }
  if (library == nullptr) {
    const bool isThere = chosen != nullptr && std::ifstream(name).good();
    why = isThere ? "NVIDIA's driver cannot be loaded: " + name + " is not a shared library that this system takes"
                  : "NVIDIA's driver was not found (tried " + tried + "); " + kInstall;
    return nullptr;
  }
  using GetAddress = Result (*)(const char* name, void** address, int version, uint64_t flags, void* status);
  const auto address = reinterpret_cast<GetAddress>(dlsym(library, "cuGetProcAddress_v2"));
  std::string missing = address == nullptr ? "cuGetProcAddress_v2" : "";
  auto find = [&](auto& function, const char* entry) {
    void* found = nullptr;
    if (missing.empty() && (address(entry, &found, kInterface, 0, nullptr) != 0 || found == nullptr)) missing = entry;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  CudaFunctions& f = driver->f_;
  find(f.init, "cuInit");
  find(f.driverVersion, "cuDriverGetVersion");
  find(f.errorName, "cuGetErrorName");
  find(f.errorString, "cuGetErrorString");
  find(f.deviceCount, "cuDeviceGetCount");
  find(f.deviceGet, "cuDeviceGet");
  find(f.deviceName, "cuDeviceGetName");
  find(f.deviceTotalMemory, "cuDeviceTotalMem");
  find(f.deviceAttribute, "cuDeviceGetAttribute");
  find(f.retainContext, "cuDevicePrimaryCtxRetain");
  find(f.releaseContext, "cuDevicePrimaryCtxRelease");
  find(f.setCurrent, "cuCtxSetCurrent");
  find(f.allocate, "cuMemAlloc");
  find(f.free, "cuMemFree");
  find(f.memoryInfo, "cuMemGetInfo");
  find(f.hostToDevice, "cuMemcpyHtoDAsync");
  find(f.deviceToHost, "cuMemcpyDtoHAsync");
  find(f.deviceToDevice, "cuMemcpyDtoDAsync");
  find(f.peerCopy, "cuMemcpyPeerAsync");
  find(f.canAccessPeer, "cuDeviceCanAccessPeer");
  find(f.enablePeerAccess, "cuCtxEnablePeerAccess");
  find(f.fill8, "cuMemsetD8Async");
  find(f.hostAllocate, "cuMemHostAlloc");
  find(f.hostFree, "cuMemFreeHost");
  find(f.pointerAttribute, "cuPointerGetAttribute");
  find(f.loadModule, "cuModuleLoadData");
  find(f.unloadModule, "cuModuleUnload");
  find(f.getFunction, "cuModuleGetFunction");
  find(f.setFunction, "cuFuncSetAttribute");
  find(f.launch, "cuLaunchKernel");
  find(f.createStream, "cuStreamCreate");
  find(f.destroyStream, "cuStreamDestroy");
  find(f.synchronize, "cuStreamSynchronize");
  find(f.queryStream, "cuStreamQuery");
  find(f.createEvent, "cuEventCreate");
  find(f.destroyEvent, "cuEventDestroy");
  find(f.recordEvent, "cuEventRecord");
  find(f.queryEvent, "cuEventQuery");
  find(f.waitEvent, "cuStreamWaitEvent");
  find(f.elapsed, "cuEventElapsedTime");
  find(f.beginCapture, "cuStreamBeginCapture");
  find(f.captureInfo, "cuStreamGetCaptureInfo");
  find(f.captureAfter, "cuStreamUpdateCaptureDependencies");
  find(f.endCapture, "cuStreamEndCapture");
  find(f.instantiate, "cuGraphInstantiateWithFlags");
  find(f.destroyCaptured, "cuGraphDestroy");
  find(f.launchGraph, "cuGraphLaunch");
  find(f.destroyGraph, "cuGraphExecDestroy");
  auto findLater = [&](auto& function, const char* entry) {
    void* found = nullptr;
    if (missing.empty() && address(entry, &found, kConditions, 0, nullptr) != 0) found = nullptr;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  f.guard = reinterpret_cast<decltype(f.guard)>(dlsym(library, "tencVmSetRedzone"));
  findLater(f.createCondition, "cuGraphConditionalHandleCreate");
  findLater(f.addNode, "cuGraphAddNode");
  findLater(f.captureInto, "cuStreamBeginCaptureToGraph");
  if (!missing.empty()) {
    why = "NVIDIA's driver " + name + " " + versionOf(library) + " and has no " + missing +
          "; version 525 (CUDA 12.0) or later is needed";
    return nullptr;
  }
  Result status = f.init(0);
  if (status == 0) status = f.driverVersion(&driver->version_);
  if (status == 0) status = f.deviceCount(&driver->devices_);
  if (status != 0) {
    why = "NVIDIA's driver cannot be used: " + driver->explain(status);
    return nullptr;
  }
  return driver;
}

std::string CudaDriver::describe(Result status) const {
  const char *name = nullptr, *text = nullptr;
  f_.errorName(status, &name);
  f_.errorString(status, &text);
  return std::string(text ? text : "unknown error") + " (" + (name ? name : "no name") + ", " + std::to_string(status) +
         ")";
}

std::string CudaDriver::explain(Result status) const {
  const std::string advice = adviceOn(status);
  return describe(status) + (advice.empty() ? "" : ": " + advice);
}

}  // namespace tenc::rt::cuda
