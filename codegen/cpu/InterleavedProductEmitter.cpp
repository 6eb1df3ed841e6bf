// Products of small matrices that lie side by side, element by element, as LLVM IR: a lane is a matrix.
#include "codegen/ScalarConvert.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/KernelEmitters.h"
#include "codegen/cpu/ProductEmitter.h"
#include "codegen/cpu/Transpose.h"

namespace tenc::codegen::cpu {
namespace {

using llvm::BasicBlock;
using Val = llvm::Value*;

class InterleavedProductEmitter : ProductEmitter {
 public:
  InterleavedProductEmitter(const KernelToEmit& k, const InterleavedProduct& plan)
      : ProductEmitter(k.kernel.product, k.module, k.name, plan.lanes),
        kernel_(k.kernel),
        plan_(plan),
        level_(k.level),
        matrices_(p_.batch[plan.dim]) {}

  /// The abi::KernelFn: items [begin, end), numbered by the other dims of the batch, then by vectors of matrices.
  void emit() {
    const Operands operands = openEntry(nullptr);
    arguments_ = loadArguments(b_, entry_, kernel_);
    loop(entry_->getArg(2), entry_->getArg(3), 1, [&](Val item) {
      Offsets offsets = {int64(0), int64(0), int64(0)};
      batch_ = batchOf(b_.CreateSDiv(item, int64(plan_.vectors)), offsets, operands, plan_.dim);
      Val due = b_.CreateMul(b_.CreateSRem(item, int64(plan_.vectors)), int64(plan_.lanes));
      // What is read is always a whole vector. Lanes that were stored with the one before are not stored again.
      Val first = minimum(due, int64(matrices_ - plan_.lanes));
      batch_[plan_.dim] = first;
      auto from = [&](Val base, Val offset, const MatrixView& view) {
        return bytes(base, b_.CreateAdd(offset, b_.CreateMul(first, int64(view.batch[plan_.dim]))));
      };
      multiply(from(operands.a, offsets.a, p_.a), from(operands.b, offsets.b, p_.b));
      store(first, due);
    });
    finish();
  }

 private:
  const Kernel& kernel_;
  const InterleavedProduct& plan_;
  Level level_;
  int64_t matrices_;
  KernelArgs arguments_;
  std::vector<Val> batch_;  ///< indices of the first matrix

  /// body(the first of a block, how many it holds)
  template <typename F>
  void eachBlock(const Blocks& blocks, F body) {
    const int64_t most = blocks.size + 1, rest = blocks.larger * most;
    if (blocks.larger > 0) loop(int64(0), int64(rest), most, [&](Val first) { body(first, most); });
    if (blocks.larger < blocks.count)
      loop(int64(rest), int64(blocks.start(blocks.count)), blocks.size, [&](Val first) { body(first, blocks.size); });
  }

  Val sumAt(Val row, Val column) {
    Val number = b_.CreateAdd(b_.CreateMul(row, int64(p_.n)), column);
    return bytes(entry_->getArg(5), b_.CreateMul(number, int64(plan_.lanes)));
  }

  /// The sums of all rows and columns, in scratch.
  void multiply(Val a, Val b) {
    eachBlock(plan_.rows, [&](Val row, int64_t rows) {
      Val rowOfA = bytes(a, b_.CreateMul(row, int64(p_.a.row)));
      eachBlock(plan_.columns, [&](Val column, int64_t columns) {
        Val columnOfB = bytes(b, b_.CreateMul(column, int64(p_.b.col)));
        const Values zeros(static_cast<size_t>(rows * columns), llvm::Constant::getNullValue(vector_));
        const Values sums = sumLoop(int64(0), int64(p_.k), false, {{rowOfA, p_.a.col}, {columnOfB, p_.b.row}}, zeros,
                                    [&](Val, const Values& walks, const Values& before) {
                                      return step(walks[0], walks[1], rows, columns, before);
                                    });
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j)
            ProductEmitter::store(sums[static_cast<size_t>(i * columns + j)],
                                  sumAt(b_.CreateAdd(row, int64(i)), b_.CreateAdd(column, int64(j))));
      });
    });
  }

  /// Adds the terms of one step of k.
  Values step(Val a, Val b, int64_t rows, int64_t columns, const Values& before) {
    Values terms, next;
    for (int64_t j = 0; j < columns; ++j) terms.push_back(ofMatrices(p_.b, at(b, j * p_.b.col)));
    for (int64_t i = 0; i < rows; ++i) {
      Val x = ofMatrices(p_.a, at(a, i * p_.a.row));
      for (Val y : terms)
        next.push_back(b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x, y, before[next.size()]}));
    }
    return next;
  }
  Val ofMatrices(const MatrixView& view, Val element) {
    return view.batch[plan_.dim] == 0 ? splat(element) : load(element);
  }

  /// The epilogue of all rows and columns, of lanes from matrix `due` on.
  void store(Val first, Val due) {
    if (matrices_ % plan_.lanes == 0) return storeLanes(first, nullptr);
    auto *whole = BasicBlock::Create(c_, "whole", entry_), *part = BasicBlock::Create(c_, "part", entry_),
         *next = BasicBlock::Create(c_, "next", entry_);
    b_.CreateCondBr(b_.CreateICmpEQ(first, due), whole, part);
    b_.SetInsertPoint(whole);
    storeLanes(first, nullptr);
    b_.CreateBr(next);
    b_.SetInsertPoint(part);
    const int64_t stored = plan_.lanes - matrices_ % plan_.lanes;
    storeLanes(first, llvm::ConstantExpr::getNot(llvm::cast<llvm::Constant>(tailMask(plan_.lanes, stored))));
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
  }

  /// The rows of a matrix, or all of it, that lie side by side where the product itself is stored matrix by matrix.
  struct Runs {
    int64_t count, elements, apart;
  };
  std::optional<Runs> runsOfStrips() const {
    if (!isPlainStore(kernel_)) return std::nullopt;
    const Access& to = p_.epilogue.stores[0].access;
    const int64_t apart = to.strides[p_.batch.size()];
    if (to.strides[plan_.dim] == 1 || (p_.n == 1 && to.strides[p_.batch.size() + 1] != 1)) return std::nullopt;
    const bool dense = p_.m == 1 || apart == p_.n;
    const Runs runs = dense ? Runs{1, p_.m * p_.n, 0} : Runs{p_.m, p_.n, apart};
    return runs.elements % stripOf(size_) == 0 ? std::optional(runs) : std::nullopt;
  }

  /// Stores 16 bytes of a matrix at a time.
  void storeStrips(const Runs& runs) {
    const Access& to = p_.epilogue.stores[0].access;
    Val out = at(arguments_.buffers[to.buffer], to.offset);
    for (size_t d = 0; d < batch_.size(); ++d) out = bytes(out, b_.CreateMul(batch_[d], int64(to.strides[d])));
    const int64_t strip = stripOf(size_);
    loop(int64(0), int64(runs.count), 1, [&](Val run) {
      Val begin = bytes(out, b_.CreateMul(run, int64(runs.apart)));
      loop(int64(0), int64(runs.elements), strip, [&](Val element) {
        Values sums;
        for (int64_t i = 0; i < strip; ++i) sums.push_back(load(sumAt(run, b_.CreateAdd(element, int64(i)))));
        Val place = bytes(begin, element);
        const Values strips = stripsAcross(b_, sums);
        for (size_t lane = 0; lane < strips.size(); ++lane)
          b_.CreateAlignedStore(strips[lane], at(place, static_cast<int64_t>(lane) * to.strides[plan_.dim]), align());
      });
    });
  }

  void storeLanes(Val first, Val mask) {
    if (const auto runs = runsOfStrips(); runs && mask == nullptr) return storeStrips(*runs);
    loop(int64(0), int64(p_.m), 1, [&](Val row) {
      loop(int64(0), int64(p_.n), 1, [&](Val column) {
        const Stage& epilogue = p_.epilogue;
        ExprEmitter e(b_, arguments_, kernel_, epilogue, plan_.dim, plan_.lanes);
        e.scalars().shortCode = level_ == Level::Quick;
        const size_t rank = p_.batch.size();
        for (size_t d = 0; d < rank; ++d)
          if (d != plan_.dim) e.setVar(d, batch_[d]);
        e.setVar(rank, row);
        e.setVar(rank + 1, column);
        e.setVector(first, 1, mask);
        const Scalar sum = e.scalars().fromMemory(load(sumAt(row, column)), p_.dtype);
        e.setReduced(0, {emitCast(e.scalars(), sum, p_.dtype, kernel_.reductions[0].result)});
        for (const Store& s : epilogue.stores) e.store(s);
      });
    });
  }
};

}  // namespace

void emitInterleavedProduct(const KernelToEmit& kernel, const InterleavedProduct& product) {
  InterleavedProductEmitter(kernel, product).emit();
}

}  // namespace tenc::codegen::cpu
