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
        epilogue_(k.kernel, k.module, k.name + ".epilogue", plan.lanes, k.level),
        ldc_(plan.rowOfSums()) {}

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

  int64_t ldc_;  ///< of the sums, in elements

  bool isNarrow() const { return plan_.terms != Terms::Same; }
  /// Rows of sums: those of C and, where A is shifted, what that adds to each of them.
  int64_t sums() const { return p_.m + (isShifted(plan_.terms) ? 1 : 0); }
  Val sumsAt(Val vector) { return bytes(entry_->getArg(5), b_.CreateMul(vector, int64(plan_.lanes))); }
  Val mask(bool masked) { return masked ? tailMask(plan_.lanes, plan_.tail) : nullptr; }

  /// Rows of B that are read side by side, as steps of the sum, and how many elements of k each of them has.
  struct Group {
    Val first;
    int64_t steps, present;
  };
  /// A vector of columns of a step.
  Values ofB(Val p, int64_t present, Val mask) {
    if (!isNarrow()) return {load(p, mask)};
    Values rows;
    for (int64_t i = 0; i < present; ++i) rows.push_back(terms_.load(operandAt(p, i * p_.b.row), mask));
    return terms_.ofB(rows);
  }
  void add(const Values& x, const Values& y, Val& sum) {
    if (!isNarrow()) {
      sum = b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x[0], y[0], sum});
      return;
    }
    for (size_t part = 0; part < y.size(); ++part) sum = terms_.add(x[part], y[part], sum);
  }

  // ---- A: few elements of a group are in registers for all columns; many are stored side by side, as terms, since
  // rows of A may all be in the same places of the cache, and are operands in memory

  bool inRegisters(const Group& g) const {
    return plan_.rows.count == 1 && p_.m * g.steps * static_cast<int64_t>(terms_.parts()) <= plan_.broadcasts;
  }
  Val elementOfA(const Group& g, Val i, int64_t q) {
    Val k = b_.CreateMul(b_.CreateAdd(g.first, int64(q)), int64(terms_.steps()));
    return operandBytes(a_, b_.CreateAdd(b_.CreateMul(k, int64(p_.a.col)), b_.CreateMul(i, int64(p_.a.row))));
  }
  Val stagedAt(const Group& g, Val i, int64_t q) {
    const auto parts = static_cast<int64_t>(terms_.parts());
    Val to = at(entry_->getArg(5), sums() * ldc_ + q * parts);
    return bytes(to, b_.CreateMul(i, int64(g.steps * parts)));
  }
  void stage(const Group& g) {
    loop(int64(0), int64(p_.m), 1, [&](Val i) {
      for (int64_t q = 0; q < g.steps; ++q) {
        for (size_t part = 0; part < terms_.parts(); ++part) {
          Val from = elementOfA(g, i, q);
          Val x = isNarrow() ? terms_.termOfA(part, from, g.present) : b_.CreateAlignedLoad(element_, from, align());
          if (x != nullptr) b_.CreateAlignedStore(x, at(stagedAt(g, i, q), static_cast<int64_t>(part)), align());
        }
      }
    });
  }
  /// What stands for elements of A in every lane.
  Values ofA(const Group& g, Val i, int64_t q) {
    Values parts;
    for (size_t part = 0; part < terms_.parts(); ++part) {
      if (inRegisters(g))
        parts.push_back(isNarrow() ? terms_.ofA(part, elementOfA(g, i, q), g.present) : splat(elementOfA(g, i, q)));
      else if (terms_.isZero(part, g.present))
        parts.push_back(nullptr);
      else
        parts.push_back(splat(at(stagedAt(g, i, q), static_cast<int64_t>(part))));
    }
    return parts;
  }

  /// Adds a group of steps to the sums of columns [v0, v1), counted in vectors; `whole` are before the last, masked
  /// one.
  void addGroup(const Group& g, Val v0, Val whole, Val v1) {
    std::vector<Values> kept;  // of each row of A and step
    for (int64_t i = 0; inRegisters(g) && i < p_.m; ++i)
      for (int64_t q = 0; q < g.steps; ++q) kept.push_back(ofA(g, int64(i), q));
    if (!inRegisters(g)) stage(g);
    const int64_t inStep = terms_.steps();
    Val firstRow = b_.CreateMul(b_.CreateMul(g.first, int64(inStep)), int64(p_.b.row));
    auto column = [&](Val v, bool masked) {
      Val source = operandBytes(bMatrix_, b_.CreateAdd(firstRow, b_.CreateMul(v, int64(plan_.lanes))));
      Val target = sumsAt(b_.CreateSub(v, v0));
      std::vector<Values> y(static_cast<size_t>(g.steps));
      auto yOf = [&](int64_t q) -> const Values& {
        Values& made = y[static_cast<size_t>(q)];
        if (!made.empty()) return made;
        made = ofB(operandAt(source, q * inStep * p_.b.row), g.present, mask(masked));
        // The rows of the next group, on their way to the second-level cache while this one is used.
        for (int64_t r = 0; r < inStep && !masked; ++r)
          prefetch(operandAt(source, ((q + g.steps) * inStep + r) * p_.b.row), false, 2);
        return made;
      };
      // The last vector's code is short: it is there once a row of B.
      const Blocks rowsOfA = masked && kept.empty() ? Blocks::of(p_.m, 2) : plan_.rows;
      for (int64_t q = 0; rowsOfA.count > 1 && q < g.steps; ++q) yOf(q);
      auto addTo = [&](Val to, int64_t rows, auto x) {
        std::vector<Val> acc;
        for (int64_t i = 0; i < rows; ++i) acc.push_back(load(at(to, i * ldc_)));
        for (int64_t q = 0; q < g.steps; ++q) {
          const Values& of = yOf(q);
          for (int64_t i = 0; i < rows; ++i) add(x(i, q), of, acc[static_cast<size_t>(i)]);
        }
        for (int64_t i = 0; i < rows; ++i) store(acc[static_cast<size_t>(i)], at(to, i * ldc_));
      };
      eachBlock(rowsOfA, [&](Val i0, int64_t rows) {
        addTo(bytes(target, b_.CreateMul(i0, int64(ldc_))), rows, [&](int64_t i, int64_t q) {
          if (!kept.empty()) return kept[static_cast<size_t>(i * g.steps + q)];
          return ofA(g, b_.CreateAdd(i0, int64(i)), q);
        });
      });
      if (isShifted(plan_.terms))
        addTo(at(target, p_.m * ldc_), 1, [&](int64_t, int64_t) { return Values{terms_.shift()}; });
    };
    loop(v0, whole, 1, [&](Val v) { column(v, false); });
    if (plan_.tail) loop(whole, v1, 1, [&](Val v) { column(v, true); });
  }

  /// body(first row, how many) for all rows of A.
  template <typename F>
  void eachBlock(const Blocks& rows, F body) {
    if (rows.count == 1) return body(int64(0), rows.most());
    if (rows.larger > 0) loop(int64(0), int64(rows.larger), 1, [&](Val r) { body(start(rows, r), rows.size + 1); });
    loop(int64(rows.larger), int64(rows.count), 1, [&](Val r) { body(start(rows, r), rows.size); });
  }

  /// The sums of columns [v0, v1), and the epilogue.
  void emitColumns(Val v0, Val v1) {
    Val whole = v1;
    if (plan_.tail)
      whole =
          b_.CreateSub(v1, b_.CreateZExt(b_.CreateICmpEQ(v1, int64(plan_.vectors.start(plan_.vectors.count))), i64_));
    Val count = b_.CreateSub(v1, v0);
    loop(int64(0), int64(sums()), 1, [&](Val i) {
      loop(int64(0), count, 1, [&](Val v) {
        store(llvm::Constant::getNullValue(vector_), bytes(sumsAt(v), b_.CreateMul(i, int64(ldc_))));
      });
    });
    const int64_t inStep = terms_.steps(), group = plan_.rowsOfB / inStep, steps = p_.k / inStep;
    const int64_t inGroups = steps / group * group;
    Val state = terms_.beginSums();
    loop(int64(0), int64(inGroups), group, [&](Val step) { addGroup({step, group, inStep}, v0, whole, v1); });
    if (inGroups < steps) addGroup({int64(inGroups), steps - inGroups, inStep}, v0, whole, v1);
    if (p_.k % inStep != 0) addGroup({int64(steps), 1, p_.k % inStep}, v0, whole, v1);
    terms_.endSums(state);
    if (isShifted(plan_.terms)) shiftBack(count);
    Val j0 = b_.CreateMul(v0, int64(plan_.lanes));
    Val j1 = minimum(b_.CreateMul(v1, int64(plan_.lanes)), int64(p_.n));
    epilogue_.call(b_, entry_, batch_, entry_->getArg(5), int64(ldc_), int64(0), int64(p_.m), j0, j1);
  }

  /// Takes from the sums what the shift of A has added.
  void shiftBack(Val vectors) {
    loop(int64(0), vectors, 1, [&](Val v) {
      Val first = sumsAt(v), added = load(at(first, p_.m * ldc_));
      loop(int64(0), int64(p_.m), 1, [&](Val i) {
        Val to = bytes(first, b_.CreateMul(i, int64(ldc_)));
        store(b_.CreateSub(load(to), added), to);
      });
    });
  }

  void emitTask(Val columns) {
    const Blocks& v = plan_.vectors;
    Val end = start(v, b_.CreateAdd(columns, int64(1)));
    loop(start(v, columns), end, plan_.together,
         [&](Val v0) { emitColumns(v0, minimum(b_.CreateAdd(v0, int64(plan_.together)), end)); });
  }
};

}  // namespace

void emitStreamedProduct(const KernelToEmit& kernel, const StreamedProduct& product) {
  StreamedProductEmitter(kernel, product).emit();
}

}  // namespace tenc::codegen::cpu
