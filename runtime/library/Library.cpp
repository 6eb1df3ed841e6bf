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
  for (const auto table : {sortRoutines(), factorisationRoutines(), spectralRoutines()})
    for (const Routine& r : table)
      if (r.name == name) return &r;
  return nullptr;
}

bool isOnMatrices(const Call& call) {
  for (const Routine& r : sortRoutines())
    if (r.name == call.routine) return false;
  return true;
}

void runItems(void* const* buffers, const uint64_t* scalars, int64_t begin, int64_t end, uint32_t* fault,
              void* scratch) {
  const Call& call = *reinterpret_cast<const Call*>(scalars[0]);
  const Routine* routine = find(call.routine);
  for (int64_t i = begin; i < end; ++i) {
    if (__atomic_load_n(fault, __ATOMIC_RELAXED) == abi::kInterruptFault) return;
    const auto failure = static_cast<uint32_t>(routine->run(call, buffers, i, scratch));
    if (failure != 0) abi::reportLeast(reinterpret_cast<abi::KernelState*>(fault), failure, 0, 0, -1, 0);
  }
}

std::optional<Task> taskOf(const Call& call) {
  constexpr double kGrainNanoseconds = 20000;
  const Routine* routine = find(call.routine);
  if (!routine) return std::nullopt;
  const Plan plan = routine->plan(call);
  return Task{plan.items, static_cast<int64_t>(std::clamp(kGrainNanoseconds / std::max(1.0, plan.itemCost), 1.0, 1e6)),
              plan.scratchBytes};
}

}  // namespace tenc::rt::library
