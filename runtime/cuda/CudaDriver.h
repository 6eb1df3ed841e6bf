// The driver of NVIDIA's GPUs, from a shared library that is loaded when it is first needed: one binary runs with and
// without it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tenc::rt::cuda {

// Handles and results as cuda.h has them; no header of the toolkit is needed.
using Result = int;
using DeviceNumber = int;
using Pointer = unsigned long long;
using ContextHandle = void*;
using ModuleHandle = void*;
using FunctionHandle = void*;
using StreamHandle = void*;
using EventHandle = void*;
using NodeHandle = void*;
using CapturedHandle = void*;  ///< CUgraph
using GraphHandle = void*;     ///< CUgraphExec: what can be launched

/// What cuGraphAddNode takes, of a conditional node.
struct ConditionalNode {
  int type = 13;  // CU_GRAPH_NODE_TYPE_CONDITIONAL
  int reserved[3] = {};
  uint64_t handle = 0;
  int kind = 0;
  unsigned size = 1;
  CapturedHandle* bodies = nullptr;  ///< the driver's
  ContextHandle context = nullptr;
  long long unused[26] = {};
};

/// Entry points, found through cuGetProcAddress at the version of the interface that they were written to.
struct CudaFunctions {
  Result (*init)(unsigned flags);
  Result (*driverVersion)(int* version);
  Result (*errorName)(Result, const char**);
  Result (*errorString)(Result, const char**);
  Result (*deviceCount)(int*);
  Result (*deviceGet)(DeviceNumber*, int ordinal);
  Result (*deviceName)(char*, int size, DeviceNumber);
  Result (*deviceTotalMemory)(size_t*, DeviceNumber);
  Result (*deviceAttribute)(int*, int attribute, DeviceNumber);
  Result (*retainContext)(ContextHandle*, DeviceNumber);
  Result (*releaseContext)(DeviceNumber);
  Result (*setCurrent)(ContextHandle);
  /// Only of a driver that watches memory, as the virtual machine of the tests does: a range that nothing may touch.
  int (*guard)(Pointer, uint64_t bytes, int on);
  Result (*allocate)(Pointer*, size_t);
  Result (*free)(Pointer);
  Result (*memoryInfo)(size_t* free, size_t* total);
  Result (*hostToDevice)(Pointer, const void*, size_t, StreamHandle);
  Result (*deviceToHost)(void*, Pointer, size_t, StreamHandle);
  Result (*deviceToDevice)(Pointer, Pointer, size_t, StreamHandle);
  Result (*peerCopy)(Pointer, ContextHandle, Pointer, ContextHandle, size_t, StreamHandle);
  Result (*canAccessPeer)(int* can, DeviceNumber, DeviceNumber peer);
  Result (*enablePeerAccess)(ContextHandle peer, unsigned flags);
  Result (*fill8)(Pointer, unsigned char, size_t, StreamHandle);
  Result (*hostAllocate)(void**, size_t, unsigned flags);
  Result (*hostFree)(void*);
  Result (*pointerAttribute)(void* value, int attribute, Pointer);
  Result (*loadModule)(ModuleHandle*, const void* image);
  Result (*unloadModule)(ModuleHandle);
  Result (*getFunction)(FunctionHandle*, ModuleHandle, const char* name);
  Result (*setFunction)(FunctionHandle, int attribute, int value);
  Result (*launch)(FunctionHandle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                   unsigned blockZ, unsigned sharedBytes, StreamHandle, void** parameters, void** extra);
  Result (*createStream)(StreamHandle*, unsigned flags);
  Result (*destroyStream)(StreamHandle);
  Result (*synchronize)(StreamHandle);
  Result (*queryStream)(StreamHandle);
  Result (*createEvent)(EventHandle*, unsigned flags);
  Result (*destroyEvent)(EventHandle);
  Result (*recordEvent)(EventHandle, StreamHandle);
  Result (*queryEvent)(EventHandle);
  Result (*waitEvent)(StreamHandle, EventHandle, unsigned flags);
  Result (*elapsed)(float* milliseconds, EventHandle begin, EventHandle end);
  Result (*beginCapture)(StreamHandle, int mode);
  /// `status`, `id` and `graph` may be null.
  Result (*captureInfo)(StreamHandle, int* status, uint64_t* id, CapturedHandle* graph, const NodeHandle** after,
                        size_t* count);
  Result (*captureAfter)(StreamHandle, NodeHandle* nodes, size_t count, unsigned flags);
  Result (*endCapture)(StreamHandle, CapturedHandle*);
  Result (*instantiate)(GraphHandle*, CapturedHandle, unsigned long long flags);
  Result (*destroyCaptured)(CapturedHandle);
  Result (*launchGraph)(GraphHandle, StreamHandle);
  Result (*destroyGraph)(GraphHandle);
  // Of CUDA 12.4; null where the driver is older.
  Result (*createCondition)(uint64_t* handle, CapturedHandle, ContextHandle, unsigned atLaunch, unsigned flags);
  Result (*addNode)(NodeHandle*, CapturedHandle, const NodeHandle* after, const void* edges, size_t, ConditionalNode*);
  Result (*captureInto)(StreamHandle, CapturedHandle, const NodeHandle* after, const void* edges, size_t, int mode);
};

class CudaDriver {
 public:
  /// Looks for TENC_LIBCUDA, a file, and for none if that is empty; else for libcuda.so.1. Null when there is none or
  /// it finds no GPU, with a sentence in `why` unless none was looked for.
  static std::shared_ptr<const CudaDriver> open(std::string& why);

  const CudaFunctions& f() const { return f_; }
  int devices() const { return devices_; }
  /// Of the interface: 13000 is 13.0.
  int version() const { return version_; }
  /// "out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)".
  std::string describe(Result status) const;
  /// The same with what to do about it.
  std::string explain(Result status) const;

 private:
  CudaDriver() = default;
  CudaFunctions f_{};
  int devices_ = 0, version_ = 0;
};

}  // namespace tenc::rt::cuda
