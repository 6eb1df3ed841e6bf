// Streamed products as LLVM IR: each group of rows of B is read once, side by side, and added to all rows of C.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "codegen/cpu/GemmEpilogue.h"
#include "codegen/cpu/KernelEmitters.h"
#include "codegen/cpu/ProductEmitter.h"

namespace tenc::codegen::cpu {
namespace {

using Val = llvm::Value*;

class StreamedProductEmitter : ProductEmitter {
 public:
  StreamedProductEmitter(const KernelToEmit& k, const StreamedProduct& plan)
      : ProductEmitter(k.kernel.product, k.module, k.name, plan.lanes),
        plan_(plan),
        epilogue_(k.kernel, k.module, k.name + ".epilogue", plan.lanes, k.level) {}

  /// The abi::KernelFn: tasks [begin, end), numbered batch-major, then ranges of columns.
  void emit() {
    const Operands operands = openEntry(nullptr);
    loop(entry_->getArg(2), entry_->getArg(3), 1, [&](Val task) {
      Val columns = b_.CreateSRem(task, int64(plan_.vectors.count));
      Offsets offsets = {int64(0), int64(0), int64(0)};
      batch_ = batchOf(b_.CreateSDiv(task, int64(plan_.vectors.count)), offsets, operands);
      a_ = bytes(operands.a, offsets.a);
      bMatrix_ = bytes(operands.b, offsets.b);
      emitTask(columns);
    });
    finish();
  }

 private:
  const StreamedProduct& plan_;
  GemmEpilogue epilogue_;
  // of the task being emitted
  std::vector<Val> batch_;
  Val a_ = nullptr, bMatrix_ = nullptr;

  void emitTask(Val columns) {
    const int64_t group = plan_.rowsOfB;
    const Blocks& v = plan_.vectors;
    Val v0 = start(v, columns), v1 = start(v, b_.CreateAdd(columns, int64(1)));
    Val j0 = b_.CreateMul(v0, int64(plan_.lanes));
    Val last = plan_.tail ? b_.CreateSub(v1, b_.CreateZExt(b_.CreateICmpEQ(v1, int64(v.start(v.count))), i64_)) : v1;
    Val c = entry_->getArg(5);
    const int64_t ldc = plan_.vectors.most() * plan_.lanes;
    auto rows = [&](Val k, int64_t count, bool first) {
      std::vector<Val> x;
      for (int64_t i = 0; i < p_.m; ++i)
        for (int64_t q = 0; q < count; ++q)
          x.push_back(splat(
              bytes(a_, b_.CreateAdd(b_.CreateMul(b_.CreateAdd(k, int64(q)), int64(p_.a.col)), int64(i * p_.a.row)))));
      Val rowStart = b_.CreateMul(k, int64(p_.b.row));
      auto column = [&](Val vec, bool masked) {
        Val j = b_.CreateMul(vec, int64(plan_.lanes));
        Val source = bytes(bMatrix_, b_.CreateAdd(rowStart, j));
        Val target = bytes(c, b_.CreateSub(j, j0));
        std::vector<Val> acc;
        for (int64_t i = 0; i < p_.m; ++i)
          acc.push_back(first ? llvm::Constant::getNullValue(vector_) : load(at(target, i * ldc)));
        for (int64_t q = 0; q < count; ++q) {
          Val from = at(source, q * p_.b.row);
          Val y = load(from, masked ? tailMask(plan_.lanes, plan_.tail) : nullptr);
          // The rows of the next group, on their way to L2 while this one is used.
          if (!masked) prefetch(at(source, (q + group) * p_.b.row), false, 2);
          for (int64_t i = 0; i < p_.m; ++i) {
            auto& s = acc[static_cast<size_t>(i)];
            s = b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x[static_cast<size_t>(i * count + q)], y, s});
          }
        }
        for (int64_t i = 0; i < p_.m; ++i) store(acc[static_cast<size_t>(i)], at(target, i * ldc));
      };
      loop(v0, last, 1, [&](Val vec) { column(vec, false); });
      if (plan_.tail) loop(last, v1, 1, [&](Val vec) { column(vec, true); });
    };
    const int64_t whole = p_.k / group * group;
    rows(int64(0), group, true);
    loop(int64(group), int64(whole), group, [&](Val k) { rows(k, group, false); });
    if (whole < p_.k) rows(int64(whole), p_.k - whole, false);
    Val j1 = minimum(b_.CreateMul(v1, int64(plan_.lanes)), int64(p_.n));
    epilogue_.call(b_, entry_, batch_, c, int64(ldc), int64(0), int64(p_.m), j0, j1);
  }
};

}  // namespace

void emitStreamedProduct(const KernelToEmit& kernel, const StreamedProduct& product) {
  StreamedProductEmitter(kernel, product).emit();
}

}  // namespace tenc::codegen::cpu
