#include "codegen/KernelSet.h"

#include "codegen/Codegen.h"
#include "codegen/LoopRuns.h"

namespace tenc::codegen {
namespace {

class Collection {
 public:
  Collection(const ir::Module& m, const TargetTable& targets) : m_(m), targets_(targets) {}

  KernelSet run(const ir::Func& f, std::string& error) {
    region(*f.body, 1);
    for (size_t i = set_.kernels.size(); i-- > 0;) set_.codes[set_.codeOf[i]].request.kernel = &set_.kernels[i];
    for (KernelCode& code : set_.codes)
      if (error_.empty()) code.needs = code.target->needs(code.request);
    error = std::move(error_);
    return std::move(set_);
  }

 private:
  /// Of a region that runs so often.
  void region(const ir::Region& r, double runs) {
    for (const auto& op : r.ops) {
      if (!error_.empty()) return;
      if (op->kind == ir::OpKind::Fused || op->has(ir::Trait::Library)) {
        add(*op, runs);
        continue;
      }
      for (const auto& inner : op->regions) region(*inner, runs * regionRuns(*op));
    }
  }

  void add(const ir::Op& op, double runs) {
    const std::string_view device = deviceOf(m_, op);
    Target* target = targets_.find(device);
    if (target == nullptr) {
      error_ = "there is no target for device " + std::string(device);
      return;
    }
    const bool isRoutine = op.has(ir::Trait::Library);
    if (isRoutine && target->routineCode(op) != RoutineCode::Kernel) return;
    // Elsewhere the runtime may check that something was put where a kernel works.
    const bool onHost = device == ir::DeviceTable::kHost;
    if (onHost && isOverwritten(op)) return;  // it does not run
    Kernel k =
        isRoutine ? buildRoutine(op) : buildKernel(op, target->traits(), onHost ? overwrittenPart(op) : std::nullopt);
    if (!k.error.empty()) {
      error_ = "kernel " + k.name + ": " + k.error;
      return;
    }
    k.runs = runs;
    // One object may serve several kinds of devices.
    std::string key = codeKey(k);
    std::string whole(target->identity());
    whole += '\0';
    whole += key;
    const auto [code, freshCode] = codes_.emplace(whole, static_cast<uint32_t>(set_.codes.size()));
    if (freshCode) set_.codes.push_back({target, {nullptr, std::move(key), 0}, {}});
    set_.codes[code->second].request.runs += runs;
    whole += bindings(k);
    const auto [kernel, fresh] = kernels_.emplace(std::move(whole), static_cast<uint32_t>(set_.kernels.size()));
    set_.ofOp[&op] = kernel->second;
    if (!fresh) {
      set_.kernels[kernel->second].runs += runs;
      return;
    }
    set_.kernels.push_back(std::move(k));
    set_.codeOf.push_back(code->second);
  }

  /// Kernels are shared only where they stop at the same places and are bound alike.
  static std::string bindings(const Kernel& k) {
    std::string text;
    auto put = [&](int64_t n) { (text += ' ') += std::to_string(n); };
    for (size_t i = 0; i < k.faults.size(); ++i) put(k.faults[i].index), put(k.faultCodes[i]);
    for (int32_t o : k.bufferOperand) put(o);
    for (int32_t r : k.bufferResult) put(r);
    for (uint32_t s : k.scalarOperand) put(s);
    return text;
  }

  const ir::Module& m_;
  const TargetTable& targets_;
  KernelSet set_;
  std::string error_;
  std::unordered_map<std::string, uint32_t> codes_, kernels_;
};

}  // namespace

std::string_view deviceOf(const ir::Module& m, const ir::Op& op) {
  if (op.results.empty() || op.result()->type.place.isFree()) return ir::DeviceTable::kHost;
  return m.actual(op.result()->type.place.device);
}

KernelSet kernelsOf(const ir::Module& m, const ir::Func& f, const TargetTable& targets, std::string& error) {
  return Collection(m, targets).run(f, error);
}

namespace {
void collectWithoutCode(const ir::Module& m, const ir::Region& region, const TargetTable& targets,
                        std::vector<const ir::Op*>& found) {
  for (const auto& op : region.ops) {
    const Target* target = op->has(ir::Trait::Library) ? targets.find(deviceOf(m, *op)) : nullptr;
    if (target != nullptr && target->routineCode(*op) == RoutineCode::None) found.push_back(op.get());
    for (const auto& inner : op->regions) collectWithoutCode(m, *inner, targets, found);
  }
}
}  // namespace

std::vector<const ir::Op*> opsWithoutCode(const ir::Module& m, const ir::Func& func, const TargetTable& targets) {
  std::vector<const ir::Op*> found;
  collectWithoutCode(m, *func.body, targets, found);
  return found;
}

}  // namespace tenc::codegen
