#include "codegen/cpu/Gemm.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/GemmEpilogue.h"
#include "codegen/cpu/GemmPack.h"
#include "codegen/cpu/GemmPlan.h"
#include "codegen/cpu/Scan.h"

namespace tenc::codegen::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using llvm::IRBuilder;
using Val = llvm::Value*;

constexpr int64_t kMostTurned = 128 << 10;  // bytes: in the second-level cache

class GemmEmitter {
 public:
  GemmEmitter(const Kernel& kernel, llvm::Module& module, const std::string& name, int registerBytes, int threads,
              Level level)
      : p_(kernel.product),
        m_(module),
        c_(module.getContext()),
        b_(c_),
        name_(name),
        plan_(planGemm(kernel.product, registerBytes, threads, level)),
        size_(ir::byteSize(kernel.product.dtype)),
        epilogue_(kernel, module, name + ".epilogue", plan_.lanes, level),
        pointer_(llvm::PointerType::get(c_, 0)),
        i64_(llvm::Type::getInt64Ty(c_)),
        element_(p_.dtype == ir::DType::F64 ? llvm::Type::getDoubleTy(c_) : llvm::Type::getFloatTy(c_)),
        vector_(llvm::FixedVectorType::get(element_, static_cast<unsigned>(plan_.lanes))) {}

  EmittedProduct emit() {
    direct_ = epilogue_.isPlainStore() && !plan_.stream;
    turned_ = !direct_ && !plan_.stream && epilogue_.storesAlongRows() &&
              turnedRows() * maxWidth() * plan_.lanes * size_ <= kMostTurned;
    if (turned_) epilogue_.turn();
    const int64_t tileRows = plan_.stream ? p_.m
                             : turned_    ? turnedRows()
                                          : plan_.rows.size + (plan_.rows.larger ? 1 : 0);
    tileBytes_ = static_cast<uint64_t>(tileRows * maxWidth() * plan_.lanes * size_);
    EmittedProduct out;
    out.function = entry();
    for (Function& f : m_) {
      if (!f.isDeclaration() && f.getName().starts_with(name_)) widen(f);
    }
    out.items = plan_.tasks(p_);
    out.scratchBytes = plan_.packBytes + 64 + (direct_ ? 0 : tileBytes_ + 64) + (turned_ ? tileBytes_ + 64 : 0);
    return out;
  }

 private:
  const Product& p_;
  llvm::Module& m_;
  llvm::LLVMContext& c_;
  IRBuilder<> b_;
  std::string name_;
  GemmPlan plan_;
  int size_;
  GemmEpilogue epilogue_;
  llvm::PointerType* pointer_;
  llvm::Type* i64_;
  llvm::Type* element_;
  llvm::FixedVectorType* vector_;
  bool direct_ = false;
  bool turned_ = false;  ///< sums of all rows of a panel are kept, and turned before the epilogue
  Function* turn_ = nullptr;
  uint64_t tileBytes_ = 0;
  std::map<std::tuple<int64_t, int64_t, bool>, Function*> kernels_;
  Function* entry_ = nullptr;
  // of the task being emitted
  Val a_ = nullptr, bBase_ = nullptr, out_ = nullptr, scratch_ = nullptr;
  std::vector<Val> batch_;

  /// All parts of the product use whole registers, as the entry does.
  void widen(Function& f) const {
    for (const char* name : {"prefer-vector-width", "min-legal-vector-width"}) {
      if (entry_->hasFnAttribute(name)) f.addFnAttr(entry_->getFnAttribute(name));
    }
  }
  /// Rows of the turned tile, with room for a whole vector from the last one on.
  int64_t turnedRows() const { return (p_.m + 2 * plan_.lanes - 1) / plan_.lanes * plan_.lanes; }
  int64_t maxWidth() const { return plan_.vectors.size + (plan_.vectors.larger ? 1 : 0); }
  Val int64(int64_t v) { return llvm::ConstantInt::get(i64_, static_cast<uint64_t>(v), true); }
  Val bytes(Val base, Val elements) { return b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(elements, int64(size_))); }
  Val at(Val base, int64_t elements) {
    return elements ? b_.CreateConstGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(elements * size_)) : base;
  }

  /// for (i = lo; i < hi; i += step) body(i)
  template <typename F>
  void loop(Val lo, Val hi, int64_t step, F body) {
    Function* f = b_.GetInsertBlock()->getParent();
    BasicBlock* before = b_.GetInsertBlock();
    auto* head = BasicBlock::Create(c_, "head", f);
    auto* inside = BasicBlock::Create(c_, "body", f);
    auto* after = BasicBlock::Create(c_, "after", f);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    auto* i = b_.CreatePHI(i64_, 2);
    i->addIncoming(lo, before);
    b_.CreateCondBr(b_.CreateICmpSLT(i, hi), inside, after);
    b_.SetInsertPoint(inside);
    body(i);
    i->addIncoming(b_.CreateAdd(i, int64(step)), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }

  Val minimum(Val x, Val y) { return b_.CreateSelect(b_.CreateICmpSLT(x, y), x, y); }
  Val maximum(Val x, Val y) { return b_.CreateSelect(b_.CreateICmpSGT(x, y), x, y); }
  Val start(const Blocks& blocks, Val i) {
    return b_.CreateAdd(b_.CreateMul(i, int64(blocks.size)), minimum(i, int64(blocks.larger)));
  }

  Val mask(int tail) {
    std::vector<llvm::Constant*> bits;
    for (int i = 0; i < plan_.lanes; ++i) bits.push_back(b_.getInt1(i < tail));
    return llvm::ConstantVector::get(bits);
  }
  llvm::Align align() const { return llvm::Align(static_cast<uint64_t>(size_)); }
  Val load(Val p, bool masked) {
    if (!masked) return b_.CreateAlignedLoad(vector_, p, align());
    return b_.CreateMaskedLoad(vector_, p, align(), mask(plan_.tail), llvm::Constant::getNullValue(vector_));
  }
  void store(Val v, Val p, bool masked) {
    if (!masked)
      b_.CreateAlignedStore(v, p, align());
    else
      b_.CreateMaskedStore(v, p, align(), mask(plan_.tail));
  }
  Val splat(Val p) {
    return b_.CreateVectorSplat(static_cast<unsigned>(plan_.lanes), b_.CreateAlignedLoad(element_, p, align()));
  }

  bool packed() const { return plan_.pack != PackB::None; }

  /// The loops of the sum from number `level` on, the last of them over k; the tile's sums go through all of them in
  /// registers. Returns the sums, with the builder behind the loops.
  std::vector<Val> sumLoops(size_t level, Val a, Val b, int64_t height, int64_t width, bool tail,
                            const std::vector<Val>& sums) {
    Function* f = b_.GetInsertBlock()->getParent();
    BasicBlock* before = b_.GetInsertBlock();
    const bool innermost = level == p_.sums.size();
    auto* head = BasicBlock::Create(c_, "k", f);
    auto* done = BasicBlock::Create(c_, "done", f);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    auto* k = b_.CreatePHI(i64_, 2);
    auto* pa = b_.CreatePHI(pointer_, 2);
    auto* pb = b_.CreatePHI(pointer_, 2);
    k->addIncoming(int64(0), before);
    pa->addIncoming(a, before);
    pb->addIncoming(b, before);
    std::vector<llvm::PHINode*> acc;
    for (Val s : sums) {
      acc.push_back(b_.CreatePHI(vector_, 2));
      acc.back()->addIncoming(s, before);
    }
    std::vector<Val> next(acc.begin(), acc.end());
    if (innermost) {
      addOuterProduct(pa, pb, height, width, tail, next);
    } else {
      next = sumLoops(level + 1, pa, pb, height, width, tail, next);
    }
    const int64_t trips = innermost ? p_.k : p_.sums[level].extent;
    const int64_t stepA = innermost ? p_.a.col : p_.sums[level].a;
    const int64_t stepB = packed() ? width * plan_.lanes : innermost ? p_.b.row : p_.sums[level].b;
    BasicBlock* latch = b_.GetInsertBlock();
    for (size_t n = 0; n < acc.size(); ++n) acc[n]->addIncoming(next[n], latch);
    Val k1 = b_.CreateAdd(k, int64(1));
    k->addIncoming(k1, latch);
    pa->addIncoming(at(pa, stepA), latch);
    pb->addIncoming(at(pb, stepB), latch);
    b_.CreateCondBr(b_.CreateICmpSLT(k1, int64(trips)), head, done);
    b_.SetInsertPoint(done);
    return next;
  }

  /// sums[i, j] += A[i] * B[j]: one column of A by one row of B.
  void addOuterProduct(Val a, Val b, int64_t height, int64_t width, bool tail, std::vector<Val>& sums) {
    std::vector<Val> row(static_cast<size_t>(width));
    for (int64_t j = 0; j < width; ++j)
      row[static_cast<size_t>(j)] = load(at(b, j * plan_.lanes), !packed() && tail && j + 1 == width);
    for (int64_t i = 0; i < height; ++i) {
      Val x = splat(at(a, i * p_.a.row));
      for (int64_t j = 0; j < width; ++j) {
        Val& s = sums[static_cast<size_t>(i * width + j)];
        s = b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x, row[static_cast<size_t>(j)], s});
      }
    }
  }

  /// void tile(a, b, c): C[height x width vectors] = A[height x k] * B[k x width]. Constant strides; k is a rolled
  /// loop.
  Function* microkernel(int64_t height, int64_t width, bool tail) {
    Function*& f = kernels_[{height, width, tail}];
    if (f) return f;
    const auto saved = b_.saveIP();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer_, pointer_, pointer_}, false);
    f = Function::Create(type, llvm::GlobalValue::InternalLinkage,
                         name_ + ".tile" + std::to_string(height) + "x" + std::to_string(width) + (tail ? "t" : ""),
                         m_);
    f->addFnAttr(llvm::Attribute::NoInline);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    for (unsigned i = 0; i < 3; ++i) f->addParamAttr(i, llvm::Attribute::NoAlias);
    auto* entry = BasicBlock::Create(c_, "entry", f);
    b_.SetInsertPoint(entry);
    const int64_t ldc = direct_ ? epilogue_.rowStride() : maxWidth() * plan_.lanes;
    if (direct_) {
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j)
          b_.CreateIntrinsic(
              llvm::Intrinsic::prefetch, {pointer_},
              {at(f->getArg(2), i * ldc + j * plan_.lanes), b_.getInt32(1), b_.getInt32(3), b_.getInt32(1)});
    }
    const std::vector<Val> sum =
        sumLoops(0, f->getArg(0), f->getArg(1), height, width, tail,
                 std::vector<Val>(static_cast<size_t>(height * width), llvm::Constant::getNullValue(vector_)));
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j)
        store(sum[static_cast<size_t>(i * width + j)], at(f->getArg(2), i * ldc + j * plan_.lanes),
              direct_ && tail && j + 1 == width);
    b_.CreateRetVoid();
    b_.restoreIP(saved);
    return f;
  }

  /// One tile at row `i0`, column `j0`: the microkernel and, when there is more to do than store, the epilogue.
  void tile(Val i0, Val j0, Val panel, int64_t height, int64_t width, bool tail) {
    Val a = bytes(a_, b_.CreateMul(i0, int64(p_.a.row)));
    if (direct_) {
      Val c = bytes(out_, b_.CreateAdd(b_.CreateMul(i0, int64(epilogue_.rowStride())), j0));
      b_.CreateCall(microkernel(height, width, tail), {a, panel, c});
      return;
    }
    Val c = b_.CreateConstGEP1_64(b_.getInt8Ty(), scratch_, plan_.packBytes);
    if (turned_) {
      c = bytes(c, b_.CreateMul(i0, int64(maxWidth() * plan_.lanes)));
      b_.CreateCall(microkernel(height, width, tail), {a, panel, c});
      return;
    }
    b_.CreateCall(microkernel(height, width, tail), {a, panel, c});
    Val i1 = b_.CreateAdd(i0, int64(height));
    const int64_t columns = width * plan_.lanes - (tail ? plan_.lanes - plan_.tail : 0);
    epilogue_.call(b_, entry_, batch_, c, int64(maxWidth() * plan_.lanes), i0, i1, j0,
                   b_.CreateAdd(j0, int64(columns)));
  }

  /// void turn(sums, turned, i0, i1, vectors): turned[column][row] from sums[row][column], for rows [i0, i1) in
  /// squares.
  Function* turnFunction() {
    if (turn_) return turn_;
    const auto saved = b_.saveIP();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer_, pointer_, i64_, i64_, i64_}, false);
    turn_ = Function::Create(type, llvm::GlobalValue::InternalLinkage, name_ + ".turn", m_);
    turn_->addFnAttr(llvm::Attribute::NoInline);
    turn_->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(BasicBlock::Create(c_, "entry", turn_));
    const int64_t n = plan_.lanes, ld = maxWidth() * n;
    loop(turn_->getArg(2), turn_->getArg(3), n, [&](Val i) {
      loop(int64(0), turn_->getArg(4), 1, [&](Val vector) {
        Val j = b_.CreateMul(vector, int64(n));
        Val from = bytes(turn_->getArg(0), b_.CreateAdd(b_.CreateMul(i, int64(ld)), j));
        Val to = bytes(turn_->getArg(1), b_.CreateAdd(b_.CreateMul(j, int64(turnedRows())), i));
        Values square;
        for (int64_t k = 0; k < n; ++k) square.push_back(load(at(from, k * ld), false));
        transposeSquare(b_, square);
        for (int64_t k = 0; k < n; ++k) store(square[static_cast<size_t>(k)], at(to, k * turnedRows()), false);
      });
    });
    b_.CreateRetVoid();
    b_.restoreIP(saved);
    return turn_;
  }

  /// The epilogue of all rows of a panel whose sums have been kept.
  void turnedEpilogue(Val r0, Val r1, Val j0, int64_t width, bool tail) {
    Val i0 = start(plan_.rows, r0), i1 = start(plan_.rows, r1);
    Val sums = b_.CreateConstGEP1_64(b_.getInt8Ty(), scratch_, plan_.packBytes);
    Val turned = b_.CreateConstGEP1_64(b_.getInt8Ty(), sums, tileBytes_ + 64);
    b_.CreateCall(turnFunction(), {sums, turned, i0, i1, int64(width)});
    const int64_t columns = width * plan_.lanes - (tail ? plan_.lanes - plan_.tail : 0);
    epilogue_.call(b_, entry_, batch_, bytes(turned, i0), int64(turnedRows()), i0, i1, j0,
                   b_.CreateAdd(j0, int64(columns)));
  }

  void rowBlocks(Val r0, Val r1, Val j0, Val panel, int64_t width, bool tail) {
    const Blocks& rows = plan_.rows;
    if (rows.larger > 0) {
      loop(r0, minimum(r1, int64(rows.larger)), 1,
           [&](Val r) { tile(b_.CreateMul(r, int64(rows.size + 1)), j0, panel, rows.size + 1, width, tail); });
    }
    if (rows.larger < rows.count) {
      loop(maximum(r0, int64(rows.larger)), r1, 1,
           [&](Val r) { tile(start(rows, r), j0, panel, rows.size, width, tail); });
    }
  }

  /// Panels [lo, hi) of one width; `tail` when the last vector is not full.
  void panels(Val lo, Val hi, Val r0, Val r1, int64_t width, bool tail) {
    loop(lo, hi, 1, [&](Val panel) {
      Val j0 = b_.CreateMul(start(plan_.vectors, panel), int64(plan_.lanes));
      Val source = bytes(bBase_, b_.CreateMul(j0, int64(p_.b.col)));
      if (packed()) {
        const int64_t columns = width * plan_.lanes - (tail ? plan_.lanes - plan_.tail : 0);
        Function* pack = packPanel(m_, name_, p_, plan_, width, columns);
        b_.CreateCall(pack, {source, scratch_});
        source = scratch_;
      }
      rowBlocks(r0, r1, j0, source, width, tail);
      if (turned_) turnedEpilogue(r0, r1, j0, width, tail);
    });
  }

  void tiledTask(Val rowTask, Val panelTask) {
    const Blocks& v = plan_.vectors;
    auto bounds = [&](Val task, int64_t count, int64_t tasks) {
      return std::pair(b_.CreateSDiv(b_.CreateMul(task, int64(count)), int64(tasks)),
                       b_.CreateSDiv(b_.CreateMul(b_.CreateAdd(task, int64(1)), int64(count)), int64(tasks)));
    };
    const auto [r0, r1] = bounds(rowTask, plan_.rows.count, plan_.rowTasks);
    const auto [c0, c1] = bounds(panelTask, v.count, plan_.panelTasks);
    const int64_t full = v.count - (plan_.tail ? 1 : 0);  // panels without a masked vector
    if (v.larger > 0) panels(c0, minimum(c1, int64(std::min(v.larger, full))), r0, r1, v.size + 1, false);
    if (v.larger < full) panels(maximum(c0, int64(v.larger)), minimum(c1, int64(full)), r0, r1, v.size, false);
    if (plan_.tail) panels(maximum(c0, int64(full)), c1, r0, r1, v.count == v.larger ? v.size + 1 : v.size, true);
  }

  /// 1 to 8 rows: each group of rows of B is read once, side by side, and added to all rows of C, which stay in L1.
  void streamTask(Val panelTask) {
    const int64_t group = p_.m <= 2 ? 8 : p_.m <= 4 ? 4 : 2;  // broadcasts of A stay in registers
    const Blocks& v = plan_.vectors;
    Val v0 = start(v, panelTask), v1 = start(v, b_.CreateAdd(panelTask, int64(1)));
    Val j0 = b_.CreateMul(v0, int64(plan_.lanes));
    Val last = plan_.tail ? b_.CreateSub(v1, b_.CreateZExt(b_.CreateICmpEQ(v1, int64(v.start(v.count))), i64_)) : v1;
    Val c = b_.CreateConstGEP1_64(b_.getInt8Ty(), scratch_, plan_.packBytes);
    const int64_t ldc = maxWidth() * plan_.lanes;
    auto rows = [&](Val k, int64_t count, bool first) {
      std::vector<Val> x;
      for (int64_t i = 0; i < p_.m; ++i)
        for (int64_t q = 0; q < count; ++q)
          x.push_back(splat(
              bytes(a_, b_.CreateAdd(b_.CreateMul(b_.CreateAdd(k, int64(q)), int64(p_.a.col)), int64(i * p_.a.row)))));
      Val rowStart = b_.CreateMul(k, int64(p_.b.row));
      auto column = [&](Val vec, bool masked) {
        Val j = b_.CreateMul(vec, int64(plan_.lanes));
        Val source = bytes(bBase_, b_.CreateAdd(rowStart, j));
        Val target = bytes(c, b_.CreateSub(j, j0));
        std::vector<Val> acc;
        for (int64_t i = 0; i < p_.m; ++i)
          acc.push_back(first ? llvm::Constant::getNullValue(vector_)
                              : static_cast<Val>(b_.CreateAlignedLoad(vector_, at(target, i * ldc), align())));
        for (int64_t q = 0; q < count; ++q) {
          Val y = load(at(source, q * p_.b.row), masked);
          if (!masked) {
            // The rows of the next group, on their way to L2 while this one is used.
            b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer_},
                               {at(source, (q + group) * p_.b.row), b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
          }
          for (int64_t i = 0; i < p_.m; ++i) {
            auto& s = acc[static_cast<size_t>(i)];
            s = b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x[static_cast<size_t>(i * count + q)], y, s});
          }
        }
        for (int64_t i = 0; i < p_.m; ++i)
          b_.CreateAlignedStore(acc[static_cast<size_t>(i)], at(target, i * ldc), align());
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

  /// The abi::KernelFn: tasks [begin, end), numbered batch-major, then row task, then panel task, or with the panel
  /// task as the highest digit.
  Function* entry() {
    Function* f = createKernelFunction(m_, name_);
    entry_ = f;
    b_.SetInsertPoint(BasicBlock::Create(c_, "entry", f));
    auto buffer = [&](uint32_t i, int64_t offset) {
      return at(b_.CreateLoad(pointer_, b_.CreateConstGEP1_64(pointer_, f->getArg(0), i)), offset);
    };
    Val aBase = buffer(p_.a.buffer, p_.a.offset), bBase = buffer(p_.b.buffer, p_.b.offset);
    Val outBase = direct_ ? buffer(epilogue_.outBuffer(), epilogue_.outOffset()) : nullptr;
    scratch_ = f->getArg(5);
    loop(f->getArg(2), f->getArg(3), 1, [&](Val task) {
      int64_t others = plan_.rowTasks;
      for (int64_t n : p_.batch) others *= n;
      Val panelTask =
          plan_.panelsFirst ? b_.CreateSDiv(task, int64(others)) : b_.CreateSRem(task, int64(plan_.panelTasks));
      Val rest = plan_.panelsFirst ? b_.CreateSRem(task, int64(others)) : b_.CreateSDiv(task, int64(plan_.panelTasks));
      Val rowTask = b_.CreateSRem(rest, int64(plan_.rowTasks));
      rest = b_.CreateSDiv(rest, int64(plan_.rowTasks));
      batch_.assign(p_.batch.size(), nullptr);
      Val aOffset = int64(0), bOffset = int64(0), outOffset = int64(0);
      for (size_t d = p_.batch.size(); d-- > 0;) {
        batch_[d] = b_.CreateSRem(rest, int64(p_.batch[d]));
        rest = b_.CreateSDiv(rest, int64(p_.batch[d]));
        aOffset = b_.CreateAdd(aOffset, b_.CreateMul(batch_[d], int64(p_.a.batch[d])));
        bOffset = b_.CreateAdd(bOffset, b_.CreateMul(batch_[d], int64(p_.b.batch[d])));
        if (direct_) outOffset = b_.CreateAdd(outOffset, b_.CreateMul(batch_[d], int64(epilogue_.batchStride(d))));
      }
      a_ = bytes(aBase, aOffset);
      bBase_ = bytes(bBase, bOffset);
      if (direct_) out_ = bytes(outBase, outOffset);
      if (plan_.stream)
        streamTask(panelTask);
      else
        tiledTask(rowTask, panelTask);
    });
    b_.CreateRetVoid();
    return f;
  }
};

}  // namespace

EmittedProduct emitProduct(const Kernel& kernel, llvm::Module& module, const std::string& name, int registerBytes,
                           int threads, Level level) {
  return GemmEmitter(kernel, module, name, registerBytes, threads, level).emit();
}

}  // namespace tenc::codegen::cpu
