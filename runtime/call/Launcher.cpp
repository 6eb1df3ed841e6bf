#include "runtime/call/Launcher.h"

#include <algorithm>

#include "runtime/call/Watch.h"
#include "runtime/cpu/ThreadPool.h"

namespace tenc::rt {

bool Launcher::launch(const abi::Launch& s) {
  const LoadedKernel& k = program_.kernels()[s.kernel];
  scalars_.clear();
  if (k.call)
    scalars_ = {reinterpret_cast<uint64_t>(k.call), reinterpret_cast<uint64_t>(workspace_.shared()), 0,
                static_cast<uint64_t>(pool_.threads())};
  for (const abi::BufferId b : s.scalars) scalars_.push_back(buffers_.get<uint64_t>(b));
  if (buffers_.failed()) return ending_.devicesAreWell();
  Stream* stream = workspace_.stream(s.device);
  if (!stream) return onHost(k, s);
  onDevice(*stream, k, s);
  return true;
}

void Launcher::onDevice(Stream& stream, const LoadedKernel& k, const abi::Launch& s) {
  deviceArgs_.clear();
  const std::vector<abi::Buffer>& all = program_.program().buffers;
  for (const abi::KernelArg& a : s.args)
    deviceArgs_.push_back({buffers_.at(a), a.access, {buffers_.at(a.buffer), all[a.buffer].bytes}});
  stream.launch(k, deviceArgs_, scalars_, buffers_.nextOrder());
}

bool Launcher::onHost(const LoadedKernel& k, const abi::Launch& s) {
  const abi::Program& p = program_.program();
  args_.clear();
  uint64_t fileBytes = 0;
  // Numbers are computed in no time.
  const bool takesTime = std::any_of(s.args.begin(), s.args.end(), [&](const abi::KernelArg& a) {
    return p.buffers[a.buffer].bytes > abi::kScalarBytes;
  });
  if (takesTime) workspace_.handOver();
  for (const abi::KernelArg& a : s.args) {
    if (buffers_.isKeptWithinMemory(a.buffer)) fileBytes += p.buffers[a.buffer].bytes;
    buffers_.settle(buffers_.at(a.buffer), p.buffers[a.buffer].bytes, a.access != abi::Access::Read);
    args_.push_back(buffers_.at(a));
  }
  abi::KernelState& state = control_.kernel(0);
  const KernelShown shown(progress_, state);
  __atomic_store_n(&state.fault, 0, __ATOMIC_RELAXED);
  if (ending_.interrupted()) return false;  // before the fault word was cleared
  uint32_t fault = 0;
  for (size_t i = 0; i < k.phases.size() && fault == 0; ++i) {
    const LoadedKernel::Phase& phase = k.phases[i];
    if (k.call) scalars_[2] = i;
    if (phase.items <= phase.grain && fileBytes == 0)
      k.function(args_.data(), scalars_.data(), 0, phase.items, &state.fault, workspace_.scratch(0));
    else
      onThreads(k, phase, fileBytes, &state.fault);
    fault = __atomic_load_n(&state.fault, __ATOMIC_RELAXED);
    // Threads leave at the flag, too, which is set before the fault word: the next phase, or step, lacks their items.
    if (fault == 0 && ending_.interrupted()) return false;
  }
  if (fault == 0) return true;
  if (fault == abi::kInterruptFault) return !ending_.interrupted();
  if (fault > k.kernel->sites.size()) return ending_.bug(kUnknownFault + k.kernel->name);
  return ending_.stop(k.kernel->sites[fault - 1], {}, state.bad);
}

void Launcher::onThreads(const LoadedKernel& k, const LoadedKernel::Phase& phase, uint64_t fileBytes, uint32_t* fault) {
  // One thread gets all items at once, and looks up now and then whether it is to stop. Pages of files are brought in
  // by a kernel faster than another thread may get to run and let go of them, so a kernel that reads a file does it
  // itself, before each part.
  static constexpr int64_t kParts = 64;
  static constexpr uint64_t kFilePart = uint64_t{2} << 20, kMostFileParts = 4096;
  struct Context {
    const Launcher* self;
    const LoadedKernel* kernel;
    int64_t grain;
    int64_t part;   ///< items, of a kernel that reads a file
    uint64_t soon;  ///< bytes of files that all threads may read in such a part
    uint32_t* fault;
  } context{this, &k, phase.grain, 0, 0, fault};
  if (fileBytes > 0) {
    const auto parts = static_cast<int64_t>(std::min(fileBytes / kFilePart + 1, kMostFileParts));
    context.part = std::clamp<int64_t>(phase.items / parts, 1, phase.grain);
    context.soon = fileBytes / static_cast<uint64_t>((phase.items + context.part - 1) / context.part) *
                   static_cast<uint64_t>(pool_.threads());
  }
  pool_.run(
      phase.items, phase.grain,
      [](void* c, int thread, int64_t begin, int64_t end) {
        const auto& [self, kernel, grain, filePart, soon, faultWord] = *static_cast<const Context*>(c);
        const int64_t part = filePart > 0 ? filePart : std::max(grain, (end - begin) / kParts);
        for (int64_t i = begin; i < end; i += part) {
          if (self->control_.interrupted()) return;
          if (filePart > 0) self->buffers_.keepWithinMemory(soon);
          kernel->function(self->args_.data(), self->scalars_.data(), i, std::min(i + part, end), faultWord,
                           self->workspace_.scratch(thread));
        }
      },
      &context);
}

}  // namespace tenc::rt
