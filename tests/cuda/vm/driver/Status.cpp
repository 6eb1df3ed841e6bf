#include "tests/cuda/vm/driver/Status.h"

#include <algorithm>
#include <iterator>

namespace tenc::ptx::driver {
namespace {

struct Row {
  Status status;
  const char *name, *text;
};
constexpr Row kRows[] = {
    {Status::Success, "CUDA_SUCCESS", "no error"},
    {Status::InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {Status::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {Status::NotInitialised, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {Status::StubLibrary, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {Status::NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {Status::InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {Status::InvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {Status::InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {Status::NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {Status::InvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {Status::UnsupportedPtx, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {Status::InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {Status::IllegalState, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {Status::NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {Status::NotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {Status::IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {Status::OutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {Status::Timeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {Status::PeerAccessEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled between these two devices"},
    {Status::MisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {Status::LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {Status::CooperativeTooLarge, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
    {Status::NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {Status::CaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {Status::CaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {Status::CaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {Status::CaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not initiated in this stream"},
    {Status::CaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {Status::CaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {Status::CaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"}};

const Row* rowOf(Status s) {
  auto r = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.status == s; });
  return r == std::end(kRows) ? nullptr : r;
}

}  // namespace

const char* nameOf(Status s) { return rowOf(s) ? rowOf(s)->name : nullptr; }
const char* textOf(Status s) { return rowOf(s) ? rowOf(s)->text : nullptr; }

Status statusOf(Finding f) {
  switch (f) {
    case Finding::OutOfRange:
    case Finding::Redzone: return Status::IllegalAddress;
    case Finding::Misaligned: return Status::MisalignedAddress;
    case Finding::Timeout: return Status::Timeout;
    case Finding::Unsupported: return Status::NotSupported;
    default: return Status::LaunchFailed;
  }
}

}  // namespace tenc::ptx::driver
