// Streamed products as LLVM IR: each group of rows of B is read once, side by side, and added to all rows of C.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "codegen/cpu/GemmEpilogue.h"
#include "codegen/cpu/KernelEmitters.h"
#include "codegen/cpu/NarrowTerms.h"
#include "codegen/cpu/ProductEmitter.h"

namespace tenc::codegen::cpu {
namespace {

using Val = llvm::Value*;

class StreamedProductEmitter : ProductEmitter {
 public:
  StreamedProductEmitter(const KernelToEmit& k, const StreamedProduct& plan)
      : ProductEmitter(k.kernel.product, k.module, k.name, plan.lanes),
        plan_(plan),
        terms_(b_, p_, plan.terms, plan.lanes),
        epilogue_(k.kernel, k.module, k.name + ".epilogue", plan.lanes, k.level) {}

  /// The abi::KernelFn: tasks [begin, end), numbered batch-major, then ranges of columns.
  void emit() {
    const Operands operands = openEntry(nullptr);
    loop(entry_->getArg(2), entry_->getArg(3), 1, [&](Val task) {
      Val columns = b_.CreateSRem(task, int64(plan_.vectors.count));
      Offsets offsets = {int64(0), int64(0), int64(0)};
      batch_ = batchOf(b_.CreateSDiv(task, int64(plan_.vectors.count)), offsets, operands);
      a_ = operandBytes(operands.a, offsets.a);
      bMatrix_ = operandBytes(operands.b, offsets.b);
      emitTask(columns);
    });
    finish();
  }

 private:
  const StreamedProduct& plan_;
  NarrowTerms terms_;
  GemmEpilogue epilogue_;
  // of the task being emitted
  std::vector<Val> batch_;
  Val a_ = nullptr, bMatrix_ = nullptr;

  bool isNarrow() const { return plan_.terms != Terms::Same; }
  /// What stands for the elements of A at `p`, in every lane.
  Values ofA(Val p, bool odd) {
    if (!isNarrow()) return {splat(p)};
    Values parts;
    for (size_t part = 0; part < terms_.parts(); ++part) parts.push_back(terms_.ofA(part, p, odd));
    return parts;
  }
  /// A vector of columns of the row, or rows, of B at `p`.
  Values ofB(Val p, bool odd, Val mask) {
    if (!isNarrow()) return {load(p, mask)};
    const bool pair = stepsOf(plan_.terms) == 2 && !odd;
    return terms_.ofB(terms_.load(p, mask), pair ? terms_.load(operandAt(p, p_.b.row), mask) : nullptr);
  }
  void add(const Values& x, const Values& y, Val& sum) {
    if (!isNarrow()) {
      sum = b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x[0], y[0], sum});
      return;
    }
    for (size_t part = 0; part < y.size(); ++part) sum = terms_.add(x[part], y[part], sum);
  }

  void emitTask(Val columns) {
    const Blocks& v = plan_.vectors;
    Val v0 = start(v, columns), v1 = start(v, b_.CreateAdd(columns, int64(1)));
    Val j0 = b_.CreateMul(v0, int64(plan_.lanes));
    Val last = plan_.tail ? b_.CreateSub(v1, b_.CreateZExt(b_.CreateICmpEQ(v1, int64(v.start(v.count))), i64_)) : v1;
    Val c = entry_->getArg(5);
    const int64_t ldc = plan_.vectors.most() * plan_.lanes;
    // A step is a row of B, or a pair of rows.
    const int64_t inStep = stepsOf(plan_.terms), group = plan_.rowsOfB / inStep, steps = p_.k / inStep;
    auto rows = [&](Val step, int64_t count, bool first, bool odd) {
      Val k = b_.CreateMul(step, int64(inStep));
      std::vector<Values> x;  // of each row of A and step, its parts
      for (int64_t i = 0; i < p_.m; ++i) {
        for (int64_t q = 0; q < count; ++q) {
          Val element = b_.CreateMul(b_.CreateAdd(k, int64(q * inStep)), int64(p_.a.col));
          x.push_back(ofA(operandBytes(a_, b_.CreateAdd(element, int64(i * p_.a.row))), odd));
        }
      }
      Val rowStart = b_.CreateMul(k, int64(p_.b.row));
      auto column = [&](Val vec, bool masked) {
        Val j = b_.CreateMul(vec, int64(plan_.lanes));
        Val source = operandBytes(bMatrix_, b_.CreateAdd(rowStart, j));
        Val target = bytes(c, b_.CreateSub(j, j0));
        std::vector<Val> acc;
        for (int64_t i = 0; i < p_.m; ++i)
          acc.push_back(first ? llvm::Constant::getNullValue(vector_) : load(at(target, i * ldc)));
        for (int64_t q = 0; q < count; ++q) {
          const Values y =
              ofB(operandAt(source, q * inStep * p_.b.row), odd, masked ? tailMask(plan_.lanes, plan_.tail) : nullptr);
          // The rows of the next group, on their way to L2 while this one is used.
          for (int64_t r = 0; r < inStep && !masked; ++r)
            prefetch(operandAt(source, ((q + group) * inStep + r) * p_.b.row), false, 2);
          for (int64_t i = 0; i < p_.m; ++i) add(x[static_cast<size_t>(i * count + q)], y, acc[static_cast<size_t>(i)]);
        }
        for (int64_t i = 0; i < p_.m; ++i) store(acc[static_cast<size_t>(i)], at(target, i * ldc));
      };
      loop(v0, last, 1, [&](Val vec) { column(vec, false); });
      if (plan_.tail) loop(last, v1, 1, [&](Val vec) { column(vec, true); });
    };
    const int64_t whole = steps / group * group;
    Val state = terms_.beginSums();
    rows(int64(0), group, true, false);
    loop(int64(group), int64(whole), group, [&](Val step) { rows(step, group, false, false); });
    if (whole < steps) rows(int64(whole), steps - whole, false, false);
    if (p_.k % inStep != 0) rows(int64(steps), 1, false, true);
    terms_.endSums(state);
    Val j1 = minimum(b_.CreateMul(v1, int64(plan_.lanes)), int64(p_.n));
    epilogue_.call(b_, entry_, batch_, c, int64(ldc), int64(0), int64(p_.m), j0, j1);
  }
};

}  // namespace

void emitStreamedProduct(const KernelToEmit& kernel, const StreamedProduct& product) {
  StreamedProductEmitter(kernel, product).emit();
}

}  // namespace tenc::codegen::cpu
