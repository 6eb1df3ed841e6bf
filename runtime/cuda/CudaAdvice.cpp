#include "runtime/cuda/CudaAdvice.h"

#include <algorithm>
#include <span>

namespace tenc::rt::cuda {
namespace {

constexpr const char* kKernelFaulted =
    "a kernel that ran before has a bug, which is one of tenc; the device cannot be used again in this process. "
    "TENC_CUDA_SYNC=1 waits for every kernel, and so names the one";
constexpr const char* kHardware = "the device or its connection has failed: see `nvidia-smi -q` and the system's log";
constexpr const char* kReload = "the driver and its kernel module are of different versions: restart the system";

struct Advice {
  int status;
  bool spoils;
  const char* text;
};
constexpr Advice kAdvice[] = {
    {2, false, "other programs may hold memory of the device: see `nvidia-smi`"},
    {3, false, "the driver does not start: see `nvidia-smi`, and restart the system if it was updated"},
    {34, false,
     "this libcuda is the toolkit's stub for linking and no driver: take its folder out of LD_LIBRARY_PATH, and "
     "install "
     "the driver"},
    {100, false, "the driver finds no GPU: see `nvidia-smi`, and CUDA_VISIBLE_DEVICES"},
    {101, false, "see CUDA_VISIBLE_DEVICES"},
    {200, false, "the code is damaged: run with --no-cache"},
    {209, false,
     "the code is for GPUs of another architecture: compile it on this machine, or with --target cuda:ARCH"},
    {214, true, kHardware},
    {218, false, "run with --no-cache; if that changes nothing, it is a bug of tenc"},
    {222, false,
     "the code was made by an NVRTC that is newer than the driver: update the driver, or name an older NVRTC by "
     "TENC_NVRTC"},
    {500, false,
     "the code is not that of this program: run with --no-cache; if that changes nothing, it is a bug of tenc"},
    {700, true, kKernelFaulted},
    {701, false, "a kernel needs more registers or shared memory than the GPU has, which is a bug of tenc"},
    {702, true, "the system ends kernels that run long on a device with a display"},
    {714, true, kHardware},
    {715, true, kKernelFaulted},
    {716, true, kKernelFaulted},
    {717, true, kKernelFaulted},
    {718, true, kKernelFaulted},
    {719, true, kKernelFaulted},
    {802, false, "the driver is still starting: see the service nvidia-fabricmanager"},
    {803, false, kReload},
    {804, false, kReload},
    {999, true, kHardware},
};

// Of cuBLASLt's status codes; `spoils` means nothing here.
constexpr Advice kProductAdvice[] = {
    {1, false, "the library does not start on this GPU: see `nvidia-smi`, and whether its version suits the driver"},
    {3, false, "the host or the device has no memory left for the library: see `nvidia-smi`"},
    {7, false,
     "the library was called with what it does not take, which is a bug of tenc. TENC_CUBLASLT= does without it"},
    {8, false, "the library has no code for this GPU: install another version, or set TENC_CUBLASLT= to do without it"},
    {13, false, "the GPU did not run a kernel of the library: see `nvidia-smi -q` and the system's log"},
    {14, false, "the library failed: install another version, or set TENC_CUBLASLT= to do without it"},
    {15, false, "install another version, or set TENC_CUBLASLT= to do without it"},
};

// Of cuSOLVER's.
struct SolverStatusText {
  int status;
  const char *name, *text;
};
constexpr SolverStatusText kSolverStatus[] = {
    {1, "NOT_INITIALIZED",
     "the library does not start on this GPU: see `nvidia-smi`, and whether its version suits the driver"},
    {2, "ALLOC_FAILED", "the host or the device has no memory left for the library: see `nvidia-smi`"},
    {3, "INVALID_VALUE",
     "the library was called with what it does not take, which is a bug of tenc. TENC_CUSOLVER= does without it"},
    {4, "ARCH_MISMATCH",
     "the library has no code for this GPU: install another version, or set TENC_CUSOLVER= to do without it"},
    {6, "EXECUTION_FAILED", "the GPU did not run a kernel of the library: see `nvidia-smi -q` and the system's log"},
    {7, "INTERNAL_ERROR", "the library failed: install another version, or set TENC_CUSOLVER= to do without it"},
    {9, "NOT_SUPPORTED", "install another version, or set TENC_CUSOLVER= to do without it"},
    {31, "INVALID_WORKSPACE",
     "the library was given other memory than it asked for, which is a bug of tenc. TENC_CUSOLVER= does without it"},
};

const Advice* find(std::span<const Advice> list, int status) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Advice& a) { return a.status == status; });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

bool spoilsDevice(int status) {
  const Advice* a = find(kAdvice, status);
  return a != nullptr && a->spoils;
}

std::string adviceOn(int status) {
  const Advice* a = find(kAdvice, status);
  return a != nullptr ? a->text : "";
}

std::string adviceOnProducts(int status) {
  const Advice* a = find(kProductAdvice, status);
  return a != nullptr ? a->text : "";
}

std::string explainSolver(int status) {
  const auto found = std::find_if(std::begin(kSolverStatus), std::end(kSolverStatus),
                                  [&](const SolverStatusText& s) { return s.status == status; });
  const bool isKnown = found != std::end(kSolverStatus);
  return (isKnown ? std::string("CUSOLVER_STATUS_") + found->name + ", " : "status ") + std::to_string(status) +
         (isKnown ? std::string(": ") + found->text : "");
}

}  // namespace tenc::rt::cuda
