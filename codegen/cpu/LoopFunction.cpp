#include "codegen/cpu/LoopFunction.h"

namespace tenc::codegen::cpu {
using llvm::Value;

LoopFunction::LoopFunction(const KernelToEmit& k)
    : kernel(k.kernel),
      module(k.module),
      b(module.getContext()),
      contract(k.contract),
      shortCode(k.level == Level::Quick),
      assembled(k.assembled),
      function(createKernelFunction(module, k.name)),
      outer(kernel.outer.size()) {
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  args = loadArguments(b, function, kernel);
  args.pastCaches = pastCaches(kernel);
}

Value* LoopFunction::endOf(Value* a, int64_t step, Value* most) {
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(a, i64(step)), most);
}

Value* LoopFunction::stackArray(llvm::Type* element, int64_t count) {
  llvm::BasicBlock& entry = function->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  auto* slot = at.CreateAlloca(llvm::ArrayType::get(element, static_cast<uint64_t>(count)));
  slot->setAlignment(llvm::Align(64));
  return slot;
}

void LoopFunction::prefetch(Value* from, int64_t bytes, bool write, int level) {
  for (int64_t at = 0; at < bytes; at += kCacheLine) {
    Value* line = b.CreateConstGEP1_64(b.getInt8Ty(), from, static_cast<uint64_t>(at));
    b.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()},
                      {line, b.getInt32(write ? 1 : 0), b.getInt32(static_cast<uint32_t>(4 - level)), b.getInt32(1)});
  }
}

LoopFunction::Range LoopFunction::bindItem(Value* item, const std::optional<LaneBlocks>& blocks,
                                           const std::optional<Strip>& strip) {
  struct Digit {
    std::optional<size_t> var;  ///< none: the block
    int64_t count, step;
  };
  std::vector<Digit> digits;
  for (size_t v = 0; v < kernel.outer.size(); ++v) {
    const int64_t n = kernel.outer[v];
    if (blocks && v == blocks->var) continue;
    if (strip && v == strip->var) {
      digits.push_back({v, (n + strip->values - 1) / strip->values, strip->values});
    } else {
      digits.push_back({v, n, 1});
    }
  }
  if (blocks) digits.push_back({std::nullopt, blocks->count, blocks->size});
  Range range;
  Value* rest = item;
  for (size_t i = digits.size(); i-- > 0;) {
    const auto& [var, count, step] = digits[i];
    Value* digit = i == 0 ? rest : count == 1 ? i64(0) : b.CreateURem(rest, i64(count));
    if (i != 0 && count != 1) rest = b.CreateUDiv(rest, i64(count));
    if (var) {
      outer[*var] = step == 1 ? digit : b.CreateMul(digit, i64(step));
      continue;
    }
    const int64_t extent = kernel.outer[blocks->var];
    range = {i64(0), i64(extent)};
    if (count == 1) continue;
    range.lo = b.CreateMul(digit, i64(step));
    range.hi = extent % step == 0 ? b.CreateAdd(range.lo, i64(step)) : endOf(range.lo, step, i64(extent));
  }
  return range;
}

}  // namespace tenc::codegen::cpu
