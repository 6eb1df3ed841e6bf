// The kernel of a loop over small tensors: its parts are those that the fused ops in it would have by themselves.
#include <string>
#include <unordered_map>

#include "codegen/Codegen.h"
#include "codegen/KernelBuilder.h"
#include "codegen/NativeFaults.h"
#include "runtime/abi/Faults.h"

namespace tenc::codegen {
namespace {

using PartNumbers = std::unordered_map<std::string, size_t>;

/// What a part without faults is as a whole: its code, and which operands and results it works on.
std::string keyOf(const Kernel& part) {
  std::string key = codeKey(part);
  for (const auto* list : {&part.bufferOperand, &part.bufferResult})
    for (const int32_t n : *list) key += ' ' + std::to_string(n);
  for (const uint32_t n : part.scalarOperand) key += " s" + std::to_string(n);
  return key;
}

/// `known`: parts that are there already, by keyOf.
void collectParts(const ir::Region& region, const ir::TargetTraits& traits, PartNumbers& known, Kernel& k) {
  for (const auto& op : region.ops) {
    const auto first = static_cast<uint32_t>(k.faults.size());
    if (op->kind == ir::OpKind::Fused) {
      Kernel part = buildKernel(*op, traits);
      if (!part.error.empty() && k.error.empty()) k.error = part.name + ": " + part.error;
      if (part.faults.empty()) {
        const auto [place, isNew] = known.try_emplace(keyOf(part), k.parts.size());
        k.partOf[op.get()] = {place->second, first};
        if (isNew) k.parts.push_back(std::move(part));
        continue;
      }
      k.faults.insert(k.faults.end(), part.faults.begin(), part.faults.end());
      k.faultCodes.insert(k.faultCodes.end(), part.faultCodes.begin(), part.faultCodes.end());
      k.partOf[op.get()] = {k.parts.size(), first};
      k.parts.push_back(std::move(part));
      continue;
    }
    if (mayStand(*op)) {
      k.partOf[op.get()] = {0, first};
      k.faults.push_back(op->loc);
      k.faultCodes.push_back(static_cast<uint8_t>(abi::FaultKind::Step));
    }
    for (const auto& inner : op->regions) collectParts(*inner, traits, known, k);
  }
}

}  // namespace

void buildTensorLoop(const ir::Op& fused, const ir::TargetTraits& traits, Kernel& k) {
  k.kind = Kernel::Kind::TensorLoop;
  k.name = "tensor_loop";
  k.tensorLoop = &fused;
  k.mostCopied = traits.locals.bytes;
  bindCarried(fused, k);
  PartNumbers known;
  collectParts(*fused.regions[0], traits, known, k);
}

}  // namespace tenc::codegen
