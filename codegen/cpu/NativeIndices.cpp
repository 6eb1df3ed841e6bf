// Indices that arrays hold, looked through once in front of a native loop instead of where each is read.
#include <llvm/IR/MDBuilder.h>

#include "codegen/cpu/Loops.h"
#include "codegen/cpu/NativeBody.h"

namespace tenc::codegen::cpu {
using llvm::Value;

/// How much more the elements are than `least`, at most, as numbers without sign: what is less is far beyond any range.
Value* NativeEmitter::greatest(Value* base, const ir::Type& t, int64_t least) {
  constexpr unsigned kMany = 32;
  const auto many = static_cast<int64_t>(kMany), count = t.size();
  llvm::Type* one = memory(t.dtype);
  const auto align = llvm::Align(static_cast<uint64_t>(ir::byteSize(t.dtype)));
  const auto further = [&](llvm::Type* type, Value* i, Value* most) {
    Value* read = b_.CreateAlignedLoad(type, b_.CreateGEP(one, base, i), align);
    Value* from = llvm::ConstantInt::getSigned(type, least);
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, most, b_.CreateSub(read, from));
  };
  const auto at = [&](int64_t i) { return b_.getInt64(static_cast<uint64_t>(i)); };
  const auto all = [&](llvm::Type* type, int64_t step) {
    return emitLoop(b_, at(0), at(count / step * step), step, {llvm::Constant::getNullValue(type)},
                    [&](Value* i, const Values& so) -> Values { return {further(type, i, so[0])}; })[0];
  };
  if (count < many) return all(one, 1);
  auto* several = llvm::FixedVectorType::get(one, kMany);
  Value* most = all(several, many);
  if (count % many != 0) most = further(several, at(count - many), most);  // some of them again
  return b_.CreateIntMaxReduce(most, /*IsSigned=*/false);
}

/// Goes on where all elements are in range, and knows it from here on.
void NativeEmitter::takeIndices(const std::vector<HeldIndices>& indices, const std::vector<Value*>& buffers,
                                llvm::Function* otherwise) {
  const ir::Region& region = *kernel_.native->regions[0];
  Value* good = b_.getTrue();
  for (const HeldIndices& held : indices) {
    const ir::Value* v = region.args[held.operand].get();
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (kernel_.bufferOperand[i] != static_cast<int32_t>(held.operand)) continue;
      Value* most = b_.CreateZExt(greatest(buffers[i], v->type, held.range.least), b_.getInt64Ty());
      const auto length = static_cast<uint64_t>(held.range.most - held.range.least);
      good = b_.CreateAnd(good, b_.CreateICmpULE(most, b_.getInt64(length)));
    }
    ranges_.assume(v, held.range);
  }
  auto *aside = block("aside"), *straight = block("straight");
  b_.CreateCondBr(good, straight, aside, llvm::MDBuilder(b_.getContext()).createBranchWeights(4000, 1));
  b_.SetInsertPoint(aside);
  std::vector<Value*> args;
  for (llvm::Argument& a : function_->args()) args.push_back(&a);
  b_.CreateCall(otherwise, args);
  b_.CreateBr(exit_);
  b_.SetInsertPoint(straight);
}

}  // namespace tenc::codegen::cpu
