#include "codegen/cpu/GemmEpilogue.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "codegen/ScalarConvert.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/IrBuilder.h"

namespace tenc::codegen::cpu {
namespace {

using llvm::BasicBlock;
using Val = llvm::Value*;
constexpr unsigned kKernelArgs = 6;  // of abi::KernelFn

}  // namespace

GemmEpilogue::GemmEpilogue(const Kernel& kernel, llvm::Module& module, std::string name, int lanes, Level level)
    : kernel_(kernel), module_(module), name_(std::move(name)), lanes_(lanes), level_(level) {}

uint32_t GemmEpilogue::outBuffer() const { return plain().access.buffer; }
int64_t GemmEpilogue::outOffset() const { return plain().access.offset; }
int64_t GemmEpilogue::rowStride() const { return plain().access.strides[kernel_.product.batch.size()]; }
int64_t GemmEpilogue::batchStride(size_t d) const { return plain().access.strides[d]; }

/// for i in [i0, i1): whole vectors of columns from j0 on, then one masked vector when columns are left. Turned, i are
/// columns and j rows. Quick code has one body, masked unless all vectors are whole.
void GemmEpilogue::emitFunction() {
  const size_t rank = kernel_.product.batch.size();
  // A single column is no vector: its positions do not step with the lane.
  const int width = kernel_.product.n == 1 && !turned_ ? 1 : lanes_;
  llvm::LLVMContext& c = module_.getContext();
  IrBuilder b(c);
  auto* i64 = b.getInt64Ty();
  std::vector<llvm::Type*> types = {b.getPtrTy(), b.getPtrTy(), i64, i64, b.getPtrTy(), b.getPtrTy(), b.getPtrTy()};
  types.insert(types.end(), rank + 5, i64);
  function_ = createLocalFunction(module_, name_, types, 0);
  auto argument = [&](size_t i) { return function_->getArg(static_cast<unsigned>(i)); };
  const bool allWhole = !turned_ && !anyColumns_ && kernel_.product.n % width == 0;
  const bool oneBody = allWhole || level_ == Level::Quick;
  Val tile = argument(kKernelArgs);
  const size_t at = kKernelArgs + 1 + rank;
  const size_t rowVar = turned_ ? rank + 1 : rank, columnVar = turned_ ? rank : rank + 1;
  Val stride = argument(at), i0 = argument(at + 1), i1 = argument(at + 2), j0 = argument(at + 3), j1 = argument(at + 4);
  if (turned_) {
    std::swap(i0, j0);
    std::swap(i1, j1);
  }

  auto* entry = BasicBlock::Create(c, "entry", function_);
  auto* rows = BasicBlock::Create(c, "rows", function_);
  auto* columns = BasicBlock::Create(c, "columns", function_);
  auto* whole = BasicBlock::Create(c, "whole", function_);
  auto* rest = oneBody ? nullptr : BasicBlock::Create(c, "rest", function_);
  auto* part = oneBody ? nullptr : BasicBlock::Create(c, "part", function_);
  auto* nextRow = BasicBlock::Create(c, "next", function_);
  auto* done = BasicBlock::Create(c, "done", function_);

  b.SetInsertPoint(entry);
  const KernelArgs args = loadArguments(b, function_, kernel_);
  Val lanes = b.getInt64(static_cast<uint64_t>(width));
  b.CreateCondBr(b.CreateICmpSLT(i0, i1), rows, done);

  b.SetInsertPoint(rows);
  auto* i = b.CreatePHI(i64, 2);
  i->addIncoming(i0, entry);
  Val row = b.CreateMul(b.CreateSub(i, i0), stride);
  b.CreateBr(columns);

  auto* element = memoryType(c, kernel_.product.dtype);
  auto body = [&](Val j, Val mask) {
    ExprEmitter e(b, args, kernel_, kernel_.product.epilogue, width == 1 ? StageFacts::kNoVar : columnVar, width);
    e.scalars().shortCode = level_ == Level::Quick;
    for (size_t d = 0; d < rank; ++d) e.setVar(d, argument(kKernelArgs + 1 + d));
    e.setVar(rowVar, i);
    if (width == 1)
      e.setVar(columnVar, j);
    else
      e.setVector(j, 1, mask);
    Val from = b.CreateGEP(element, tile, b.CreateAdd(row, b.CreateSub(j, j0)));
    llvm::Type* loaded = width == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(width));
    Val sum =
        b.CreateAlignedLoad(loaded, from, llvm::Align(static_cast<uint64_t>(ir::byteSize(kernel_.product.dtype))));
    Scalar total = e.scalars().fromMemory(sum, kernel_.product.dtype);
    e.setReduced(0, {emitCast(e.scalars(), total, kernel_.product.dtype, kernel_.reductions[0].result)});
    for (const Store& s : kernel_.product.epilogue.stores) e.store(s);
  };

  b.SetInsertPoint(columns);
  auto* j = b.CreatePHI(i64, 2);
  j->addIncoming(j0, rows);
  Val end = b.CreateAdd(j, lanes);
  auto remaining = [&]() -> Val {  // lanes before j1, in 32 bits: of numbers of 64 the bits come from several vectors
    std::vector<llvm::Constant*> steps;
    for (int l = 0; l < width; ++l) steps.push_back(b.getInt32(static_cast<uint32_t>(l)));
    Val left = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(j1, j), lanes);
    left = b.CreateVectorSplat(static_cast<unsigned>(width), b.CreateTrunc(left, b.getInt32Ty()));
    return b.CreateICmpSLT(llvm::ConstantVector::get(steps), left);
  };
  if (oneBody)
    b.CreateCondBr(b.CreateICmpSLT(j, j1), whole, nextRow);
  else
    b.CreateCondBr(b.CreateICmpSLE(end, j1), whole, rest);

  b.SetInsertPoint(whole);
  body(j, oneBody && !allWhole ? remaining() : nullptr);
  j->addIncoming(end, b.GetInsertBlock());
  b.CreateBr(columns);

  if (!oneBody) {
    b.SetInsertPoint(rest);
    b.CreateCondBr(b.CreateICmpSLT(j, j1), part, nextRow);

    b.SetInsertPoint(part);
    body(j, remaining());
    b.CreateBr(nextRow);
  }

  b.SetInsertPoint(nextRow);
  Val next = b.CreateAdd(i, b.getInt64(1));
  i->addIncoming(next, nextRow);
  b.CreateCondBr(b.CreateICmpSLT(next, i1), rows, done);

  b.SetInsertPoint(done);
  b.CreateRetVoid();
}

void GemmEpilogue::call(llvm::IRBuilderBase& b, llvm::Function* entry, const std::vector<Val>& batch, Val tile,
                        Val stride, Val i0, Val i1, Val j0, Val j1) {
  if (!function_) emitFunction();
  std::vector<Val> args;
  for (unsigned a = 0; a < kKernelArgs; ++a) args.push_back(entry->getArg(a));
  args.push_back(tile);
  args.insert(args.end(), batch.begin(), batch.end());
  args.insert(args.end(), {stride, i0, i1, j0, j1});
  b.CreateCall(function_, args);
}

}  // namespace tenc::codegen::cpu
