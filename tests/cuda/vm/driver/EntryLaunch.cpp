// Modules, functions and launches.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "tests/cuda/vm/driver/Entry.h"
#include "tests/cuda/vm/driver/KernelCall.h"

namespace tenc::ptx::driver {
namespace {

constexpr uint32_t kSharedOfBlock = 49152, kMostShared = 232448, kSharedOfMultiprocessor = 233472,
                   kReservedShared = 1024;
constexpr uint32_t kThreadsOfMultiprocessor = 2048, kBlocksOfMultiprocessor = 32, kMultiprocessors = 132,
                   kMostThreads = 1024;

// What programs may ask of a function.
enum FunctionAttribute {
  kMaxThreads = 0,
  kSharedBytes = 1,
  kConstantBytes = 2,
  kLocalBytes = 3,
  kRegisters = 4,
  kMaxDynamicShared = 8
};

Function* functionOf(Driver& d, void* handle) {
  auto* f = static_cast<Function*>(handle);
  return d.functions.contains(f) ? f : nullptr;
}

/// Bytes of dynamic shared memory that a launch may have: more than every block may have is to be asked for.
uint32_t mostDynamicShared(const Function& f) {
  return f.mostDynamicShared.value_or(kSharedOfBlock - std::min(kSharedOfBlock, f.kernel->sharedBytes));
}

/// What PTX for a target is on a device, whose capability is 90 for 9.0. "sm_90" is for that and all later ones,
/// "sm_90a" for that alone, "sm_100f" for its generation.
Status fits(const std::string& target, int capability) {
  int wanted = 0;
  char suffix = 0;
  if (std::sscanf(target.c_str(), "sm_%d%c", &wanted, &suffix) < 1) return Status::InvalidPtx;
  const bool can = suffix == 'a'   ? capability == wanted
                   : suffix == 'f' ? capability >= wanted && capability / 10 == wanted / 10
                                   : capability >= wanted;
  return can ? Status::Success : Status::NoBinaryForGpu;
}

int blocksOf(uint32_t threads, uint64_t shared) {
  uint32_t warps = (threads + kLanes - 1) / kLanes;
  uint64_t byShared = kSharedOfMultiprocessor / (shared + kReservedShared);
  return static_cast<int>(
      std::min<uint64_t>({kBlocksOfMultiprocessor, kThreadsOfMultiprocessor / kLanes / std::max(warps, 1u), byShared}));
}

int launch(void* handle, const LaunchShape& shape, void* stream, void** values, void** extra) {
  return withStream(stream, [&](Driver& d, Device&, Stream& s) {
    KernelCommand c;
    if (Status status = kernelCall(d, handle, shape, values, extra, c); status != Status::Success) return status;
    return d.submit(s, Command(std::move(c)));
  });
}

int load(void** module, const void* image) {
  return outsideCapture([&](Driver& d, Device& device) {
    std::string_view text(static_cast<const char*>(image));
    if (text.starts_with("\x7f"
                         "ELF"))
      return Status::NoBinaryForGpu;  // machine code of a real GPU
    if (text.find(".version") == text.npos) return Status::InvalidImage;
    auto m = std::make_unique<Module>();
    m->device = &device;
    try {
      m->program = device.machine.load(text);
    } catch (const PtxError&) { return Status::InvalidPtx; }
    if (Status status = fits(m->program->target(), capability()); status != Status::Success) return status;
    for (const auto& [name, k] : m->program->kernels()) {
      if (k->sharedBytes > kSharedOfBlock) return Status::InvalidPtx;  // ptxas refuses it, but for the newest
    }
    *module = m.get();
    d.modules[*module] = std::move(m);
    return Status::Success;
  });
}

}  // namespace

Status kernelCall(Driver& d, void* handle, const LaunchShape& shape, void** values, void** extra, KernelCommand& to) {
  Function* f = functionOf(d, handle);
  if (!f) return Status::InvalidHandle;
  const Kernel& k = *f->kernel;
  uint64_t threads = shape.block.count();
  if (!threads || threads > kMostThreads || shape.block.z > 64 || (k.maxThreads && threads > k.maxThreads))
    return Status::InvalidValue;
  if (!shape.grid.count() || shape.grid.x > 0x7FFFFFFF || shape.grid.y > 65535 || shape.grid.z > 65535)
    return Status::InvalidValue;
  if (shape.dynamicShared > mostDynamicShared(*f)) return Status::InvalidValue;
  if (shape.cooperative &&
      shape.grid.count() >
          uint64_t{kMultiprocessors} *
              static_cast<uint64_t>(blocksOf(static_cast<uint32_t>(threads), k.sharedBytes + shape.dynamicShared))) {
    return Status::CooperativeTooLarge;
  }
  to.function = f;
  to.shape = shape;
  to.parameters.assign(k.parameterBytes, 0);
  if (extra) return Status::NotSupported;
  if (!values && !k.parameters.empty()) return Status::InvalidValue;
  for (size_t n = 0; n < k.parameters.size(); ++n) {
    if (!values[n]) return Status::InvalidValue;
    std::memcpy(to.parameters.data() + k.parameters[n].offset, values[n], k.parameters[n].bytes);
  }
  return Status::Success;
}

}  // namespace tenc::ptx::driver

using namespace tenc::ptx;
using namespace tenc::ptx::driver;

TENC_ENTRY cuModuleLoadData(void** module, const void* image) { return load(module, image); }
TENC_ENTRY cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) { return load(module, image); }
TENC_ENTRY cuModuleUnload(void* module) {
  return outsideCapture([&](Driver& d, Device&) {
    d.finishAll();
    auto at = d.modules.find(module);
    if (at == d.modules.end()) return Status::InvalidHandle;
    for (auto& [name, f] : at->second->functions) d.functions.erase(f.get());
    keepFindings();
    at->second->device->machine.clearCounters();  // which refer to its kernels
    d.modules.erase(at);
    return Status::Success;
  });
}
TENC_ENTRY cuModuleGetFunction(void** function, void* module, const char* name) {
  return withDevice([&](Driver& d, Device&) {
    auto at = d.modules.find(module);
    if (at == d.modules.end()) return Status::InvalidHandle;
    const Kernel* k = at->second->program->kernel(name);
    if (!k) return Status::NotFound;
    auto& f = at->second->functions[name];
    if (!f) f = std::make_unique<Function>(Function{at->second->device, k, {}});
    d.functions.insert(f.get());
    *function = f.get();
    return Status::Success;
  });
}
TENC_ENTRY cuModuleGetGlobal_v2(unsigned long long* address, size_t* bytes, void* module, const char* name) {
  return withDevice([&](Driver& d, Device&) {
    auto at = d.modules.find(module);
    if (at == d.modules.end()) return Status::InvalidHandle;
    const Program::Global* g = at->second->program->global(name);
    if (!g) return Status::NotFound;
    if (address) *address = g->address;
    if (bytes) *bytes = g->bytes;
    return Status::Success;
  });
}
TENC_ENTRY cuFuncGetAttribute(int* value, int attribute, void* function) {
  return withDevice([&](Driver& d, Device&) {
    Function* f = functionOf(d, function);
    if (!f) return Status::InvalidHandle;
    const Kernel& k = *f->kernel;
    switch (attribute) {
      case kMaxThreads: *value = static_cast<int>(k.maxThreads ? k.maxThreads : kMostThreads); break;
      case kSharedBytes: *value = static_cast<int>(k.sharedBytes); break;
      case kLocalBytes: *value = static_cast<int>(k.localBytes); break;
      case kMaxDynamicShared: *value = static_cast<int>(mostDynamicShared(*f)); break;
      default: *value = 0;  // registers are ptxas's affair
    }
    return Status::Success;
  });
}
TENC_ENTRY cuFuncSetAttribute(void* function, int attribute, int value) {
  return withDevice([&](Driver& d, Device&) {
    Function* f = functionOf(d, function);
    if (!f) return Status::InvalidHandle;
    if (attribute < kMaxDynamicShared) return Status::InvalidValue;  // these are only read
    if (attribute != kMaxDynamicShared) return Status::Success;
    if (value < 0 || static_cast<uint32_t>(value) + f->kernel->sharedBytes > kMostShared) return Status::InvalidValue;
    f->mostDynamicShared = static_cast<uint32_t>(value);
    return Status::Success;
  });
}
TENC_ENTRY cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads, size_t shared) {
  return withDevice([&](Driver& d, Device&) {
    Function* f = functionOf(d, function);
    if (!f || threads <= 0) return Status::InvalidValue;
    *blocks = blocksOf(static_cast<uint32_t>(threads), f->kernel->sharedBytes + shared);
    return Status::Success;
  });
}
TENC_ENTRY cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void* stream, void** values, void** extra) {
  return launch(f, {{gx, gy, gz}, {bx, by, bz}, shared, false}, stream, values, extra);
}
TENC_ENTRY cuLaunchCooperativeKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                     unsigned bz, unsigned shared, void* stream, void** values) {
  return launch(f, {{gx, gy, gz}, {bx, by, bz}, shared, true}, stream, values, nullptr);
}
TENC_ENTRY cuLaunchHostFunc(void* stream, void (*call)(void*), void* data) {
  return withStream(stream, [&](Driver& d, Device&, Stream& s) {
    return d.submit(s, Command(HostCommand{[call, data] { call(data); }}));
  });
}
