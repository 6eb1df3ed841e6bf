// Error codes of the CUDA driver API, of which these are given.
#pragma once
#include "tests/cuda/vm/Reports.h"

namespace tenc::ptx::driver {

enum class Status : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialised = 3,
  StubLibrary = 34,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  UnsupportedPtx = 222,
  InvalidHandle = 400,
  IllegalState = 401,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  OutOfResources = 701,
  Timeout = 702,
  PeerAccessEnabled = 704,
  MisalignedAddress = 716,
  LaunchFailed = 719,
  CooperativeTooLarge = 720,
  NotSupported = 801,
  CaptureUnsupported = 900,
  CaptureInvalidated = 901,
  CaptureMerge = 902,
  CaptureUnmatched = 903,
  CaptureUnjoined = 904,
  CaptureIsolation = 905,
  CaptureImplicit = 906
};

/// "CUDA_ERROR_OUT_OF_MEMORY", and a sentence. Null for a code that is not known.
const char* nameOf(Status s);
const char* textOf(Status s);
/// What a launch that was given up is to the caller.
Status statusOf(Finding f);

}  // namespace tenc::ptx::driver
