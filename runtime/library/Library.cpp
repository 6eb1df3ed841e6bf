#include "runtime/library/Library.h"

#include <algorithm>

namespace tenc::rt::library {

int64_t option(const Call& call, std::string_view name, int64_t otherwise) {
  for (const auto& [key, value] : call.options)
    if (key == name) return value;
  return otherwise;
}

int64_t batch(const abi::TensorRef& t, size_t inner) {
  int64_t n = 1;
  for (size_t d = 0; d + inner < t.shape.size(); ++d) n *= t.shape[d];
  return n;
}

const Routine* find(std::string_view name) {
  for (const Routine* r : {&sortRoutine(), &argSortRoutine(), &topKRoutine()})
    if (r->name == name) return r;
  for (const auto table : {factorisationRoutines(), spectralRoutines()})
    for (const Routine& r : table)
      if (r.name == name) return &r;
  return nullptr;
}

bool isOnMatrices(const Call& call) {
  for (const auto table : {factorisationRoutines(), spectralRoutines()})
    for (const Routine& r : table)
      if (r.name == call.routine) return true;
  return false;
}

uint64_t blasBytes(const Call& call) {
  // OpenBLAS copies two panels of its operands: one as large as the cache of the core, one of all columns.
  constexpr uint64_t kPiece = uint64_t{128} << 20, kCache = uint64_t{2} << 20, kDepth = 512;
  if (!isOnMatrices(call)) return 0;
  const auto width = static_cast<uint64_t>(abi::dtype::kBytes[call.operands[0].dtype]);
  uint64_t most = 0;
  for (const abi::TensorRef& t : call.operands)
    for (size_t d = 1; d <= std::min<size_t>(2, t.shape.size()); ++d)
      most = std::max(most, static_cast<uint64_t>(dim(t, d)));
  return std::min(kPiece, std::min(kCache, most * most * width) + most * kDepth * width);
}

void runItems(void* const* buffers, const uint64_t* scalars, int64_t begin, int64_t end, uint32_t* fault,
              void* scratch) {
  const Call& call = *reinterpret_cast<const Call*>(scalars[0]);
  struct Work {
    const Routine* routine;
    const Call& call;
    void* const* buffers;
    Item item;
    Failure failure;
  } work{find(call.routine),
         call,
         buffers,
         {static_cast<int64_t>(scalars[2]), begin, static_cast<int64_t>(scalars[3]), scratch,
          reinterpret_cast<void*>(scalars[1])},
         Failure::None};
  const auto run = [](void* context) {
    auto& w = *static_cast<Work*>(context);
    w.failure = w.routine->run(w.call, w.buffers, w.item);
  };
  for (; work.item.number < end; ++work.item.number) {
    if (__atomic_load_n(fault, __ATOMIC_RELAXED) == abi::kInterruptFault) return;
    if (!untilInterrupted(fault, run, &work)) return;
    const auto failure = static_cast<uint32_t>(work.failure);
    if (failure != 0) abi::reportLeast(reinterpret_cast<abi::KernelState*>(fault), failure, 0, 0, -1, 0);
  }
}

std::optional<Task> taskOf(const Call& call) {
  constexpr double kGrainNanoseconds = 20000;
  const Routine* routine = find(call.routine);
  if (!routine) return std::nullopt;
  const Plan plan = routine->plan(call);
  Task task{{}, plan.scratchBytes, plan.sharedBytes, plan.touchedAlone};
  for (const Phase& p : plan.phases)
    task.phases.emplace_back(p.items, std::clamp(kGrainNanoseconds / std::max(1.0, p.itemCost), 1.0, 1e6));
  return task;
}

}  // namespace tenc::rt::library
