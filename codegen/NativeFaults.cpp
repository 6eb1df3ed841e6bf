#include "codegen/NativeFaults.h"

#include "ir/Scalar.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen {
namespace {

void collect(const ir::Region& region, std::vector<const ir::Op*>& out) {
  for (const auto& op : region.ops) {
    if (op->has(ir::Trait::CanFault) || mayStand(*op)) out.push_back(op.get());
    for (const auto& r : op->regions) collect(*r, out);
  }
}

}  // namespace

bool mayStand(const ir::Op& op) {
  if (op.kind != ir::OpKind::For) return false;
  const auto step = ir::constantScalar(op.operand(2));
  return !step || step->i == 0;
}

std::vector<const ir::Op*> faultingOps(const ir::Op& fused) {
  std::vector<const ir::Op*> ops;
  for (const auto& r : fused.regions) collect(*r, ops);
  return ops;
}

std::unordered_map<const ir::Op*, uint32_t> faultNumbers(const ir::Op& fused) {
  std::unordered_map<const ir::Op*, uint32_t> numbers;
  for (const ir::Op* op : faultingOps(fused)) {
    auto n = static_cast<uint32_t>(numbers.size());
    numbers[op] = n;
  }
  return numbers;
}

void nameNativeFaults(Kernel& kernel) {
  for (const ir::Op* op : faultingOps(*kernel.native)) {
    abi::FaultKind kind = op->has(ir::Trait::Elementwise) ? abi::FaultKind::Division : abi::FaultKind::Index;
    if (op->kind == ir::OpKind::For) kind = abi::FaultKind::Step;
    if (op->kind == ir::OpKind::Pow) kind = abi::FaultKind::NegativePower;
    kernel.faults.push_back(op->loc);
    kernel.faultCodes.push_back(static_cast<uint8_t>(kind));
  }
}

}  // namespace tenc::codegen
