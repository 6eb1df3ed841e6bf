// Many small products as LLVM IR: all terms of a block of rows, one after the other, and the epilogue.
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/GemmEpilogue.h"
#include "codegen/cpu/KernelEmitters.h"
#include "codegen/cpu/LaneMemory.h"
#include "codegen/cpu/ProductEmitter.h"
#include "codegen/cpu/Transpose.h"

namespace tenc::codegen::cpu {
namespace {

using llvm::BasicBlock;
using Val = llvm::Value*;

class SmallProductEmitter : ProductEmitter {
 public:
  SmallProductEmitter(const KernelToEmit& k, const SmallProduct& plan)
      : ProductEmitter(k.kernel.product, k.module, k.name, plan.lanes),
        kernel_(k.kernel),
        plan_(plan),
        of_(operandsOf(p_, plan.swapped)),
        memory_(b_, plan.lanes),
        epilogue_(k.kernel, k.module, k.name + ".epilogue", static_cast<int>(plan.wholeLanes), k.level) {
    if (plan.swapped) epilogue_.turn();
  }

  /// The abi::KernelFn: items [begin, end), numbered batch-major, then block of rows.
  void emit() {
    const Operands operands = openEntry(nullptr);
    arguments_ = loadArguments(b_, entry_, kernel_);
    loop(entry_->getArg(2), entry_->getArg(3), 1, [&](Val item) {
      Val block = b_.CreateSRem(item, int64(plan_.rows.count));
      Offsets offsets = {int64(0), int64(0), int64(0)};
      batch_ = batchOf(b_.CreateSDiv(item, int64(plan_.rows.count)), offsets, operands);
      Val a = bytes(operands.a, offsets.a), b = bytes(operands.b, offsets.b);
      if (plan_.swapped) std::swap(a, b);
      if (plan_.rows.count == 1) return rows(a, b, int64(0), of_.m);
      Val first = start(plan_.rows, block);
      a = bytes(a, b_.CreateMul(first, int64(of_.rowOfA)));
      if (plan_.rows.larger == 0) return rows(a, b, first, plan_.rows.size);
      auto *more = BasicBlock::Create(c_, "more", entry_), *fewer = BasicBlock::Create(c_, "fewer", entry_),
           *next = BasicBlock::Create(c_, "next", entry_);
      b_.CreateCondBr(b_.CreateICmpSLT(block, int64(plan_.rows.larger)), more, fewer);
      for (auto [at, count] : {std::pair(more, plan_.rows.most()), std::pair(fewer, plan_.rows.size)}) {
        b_.SetInsertPoint(at);
        rows(a, b, first, count);
        b_.CreateBr(next);
      }
      b_.SetInsertPoint(next);
    });
    finish();
  }

 private:
  const Kernel& kernel_;
  const SmallProduct& plan_;
  const SmallOperands of_;
  LaneMemory memory_;
  GemmEpilogue epilogue_;
  KernelArgs arguments_;
  std::vector<Val> batch_;  ///< indices of the matrix

  /// The first `count` lanes; null is all.
  Val leading(int64_t count) { return count < plan_.lanes ? tailMask(plan_.lanes, count) : nullptr; }
  int64_t columnsOf(int64_t vector) const { return std::min<int64_t>(plan_.lanes, of_.n - vector * plan_.lanes); }

  /// Vector number `vector` of each row of B.
  Values rowsOfB(Val b, int64_t vector) {
    Values rows;
    const int64_t first = vector * plan_.lanes;
    if (!plan_.turned) {
      for (int64_t k = 0; k < p_.k; ++k)
        rows.push_back(memory_.load(element_, at(b, k * of_.termOfB + first), leading(columnsOf(vector))));
      return rows;
    }
    for (int64_t k = 0; k < p_.k; k += plan_.lanes) {
      Values square(static_cast<size_t>(plan_.lanes), llvm::Constant::getNullValue(vector_));
      for (int64_t column = 0; column < columnsOf(vector); ++column)
        square[static_cast<size_t>(column)] =
            memory_.load(element_, at(b, (first + column) * of_.columnOfB + k), leading(p_.k - k));
      transposeSquare(b_, square);
      rows.insert(rows.end(), square.begin(), square.end());
    }
    return rows;
  }

  /// `count` rows of C from `first` on; `a` is the first of A.
  void rows(Val a, Val b, Val first, int64_t count) {
    std::vector<Values> sums;  // of each vector, by row
    for (int64_t v = 0; v < plan_.vectors; ++v) {
      Values& of = sums.emplace_back(static_cast<size_t>(count), llvm::Constant::getNullValue(vector_));
      const Values terms = rowsOfB(b, v);
      for (int64_t k = 0; k < p_.k; ++k)
        for (int64_t i = 0; i < count; ++i) {
          Val x = splat(at(a, i * of_.rowOfA + k * of_.termOfA));
          Val& sum = of[static_cast<size_t>(i)];
          sum = b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x, terms[static_cast<size_t>(k)], sum});
        }
    }
    plan_.inlined ? storeInline(sums, first, count) : storeByCall(sums, first, count);
  }

  void storeInline(const std::vector<Values>& sums, Val first, int64_t count) {
    const size_t rank = p_.batch.size();
    const size_t rowVar = plan_.swapped ? rank + 1 : rank, columnVar = plan_.swapped ? rank : rank + 1;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t v = 0; v < plan_.vectors; ++v) {
        ExprEmitter e(b_, arguments_, kernel_, p_.epilogue, columnVar, plan_.lanes);
        for (size_t d = 0; d < rank; ++d) e.setVar(d, batch_[d]);
        e.setVar(rowVar, b_.CreateAdd(first, int64(i)));
        e.setVector(int64(v * plan_.lanes), 1, leading(columnsOf(v)));
        const Scalar sum = e.scalars().fromMemory(sums[static_cast<size_t>(v)][static_cast<size_t>(i)], p_.dtype);
        e.setReduced(0, {sum});
        for (const Store& s : p_.epilogue.stores) e.store(s);
      }
  }

  void storeByCall(const std::vector<Values>& sums, Val first, int64_t count) {
    Val tile = entry_->getArg(5);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t v = 0; v < plan_.vectors; ++v)
        store(sums[static_cast<size_t>(v)][static_cast<size_t>(i)], at(tile, i * plan_.rowOfSums + v * plan_.lanes));
    Val rowEnd = b_.CreateAdd(first, int64(count)), zero = int64(0), columnEnd = int64(of_.n);
    if (plan_.swapped)
      epilogue_.call(b_, entry_, batch_, tile, int64(plan_.rowOfSums), zero, columnEnd, first, rowEnd);
    else
      epilogue_.call(b_, entry_, batch_, tile, int64(plan_.rowOfSums), first, rowEnd, zero, columnEnd);
  }
};

}  // namespace

void emitSmallProduct(const KernelToEmit& kernel, const SmallProduct& product) {
  SmallProductEmitter(kernel, product).emit();
}

}  // namespace tenc::codegen::cpu
