#include "codegen/cpu/Gemm.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/cpu/Depthwise.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/GemmEpilogue.h"
#include "codegen/cpu/GemmPack.h"
#include "codegen/cpu/GemmPlan.h"
#include "codegen/cpu/GemmTiles.h"
#include "codegen/cpu/Transpose.h"

namespace tenc::codegen::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using Val = llvm::Value*;

class GemmEmitter : ProductEmitter {
 public:
  GemmEmitter(const Kernel& kernel, llvm::Module& module, const std::string& name, const VectorUnit& unit, int threads,
              Level level)
      : ProductEmitter(kernel.product, module, name, unit.registerBytes / ir::byteSize(kernel.product.dtype)),
        level_(level),
        plan_(planGemm(kernel.product, unit, threads, level)),
        sums_(tileStoreOf(kernel, plan_, level)),
        rim_(GemmRim::of(kernel.product, plan_, level)),
        epilogue_(kernel, module, name + ".epilogue", plan_.lanes, level) {}

  EmittedProduct emit() {
    if (sums_.turned) epilogue_.turn();
    const int64_t rowStride = sums_.direct ? epilogue_.rowStride() : plan_.width() * plan_.lanes;
    tiles_.emplace(p_, m_, name_, plan_, rim_, rowStride, sums_.direct, level_);
    EmittedProduct out;
    out.function = entry();
    widenAll();
    out.items = plan_.tasks(p_);
    return out;
  }

 private:
  Level level_;
  GemmPlan plan_;
  TileStore sums_;
  GemmRim rim_;
  GemmEpilogue epilogue_;
  Function* turn_ = nullptr;
  std::optional<GemmTiles> tiles_;
  // of the task being emitted
  Val a_ = nullptr, bBase_ = nullptr, out_ = nullptr, scratch_ = nullptr;
  std::vector<Val> batch_;
  std::vector<Val> trips_;  ///< of each edge of a batch dim: its sum runs from the first of two numbers to the second

  /// Rows of the turned tile, with room for a whole vector from the last one on.
  Val start(const Blocks& blocks, Val i) {
    return b_.CreateAdd(b_.CreateMul(i, int64(blocks.size)), minimum(i, int64(blocks.larger)));
  }

  bool packed() const { return plan_.pack != PackB::None; }

  /// One tile at row `i0`, column `j0`: the microkernel and, when there is more to do than store, the epilogue.
  void tile(Val i0, Val j0, Val panel, const Tile& t) {
    const auto [height, width, tail, place] = t;
    Val a = bytes(a_, b_.CreateMul(i0, int64(p_.a.row)));
    auto sumTo = [&](Val c) {
      std::vector<Val> arguments = {a, panel, c};
      arguments.insert(arguments.end(), trips_.begin(), trips_.end());
      if (t.place == kAnywhere) arguments.push_back(rim_.rows ? i0 : j0);
      b_.CreateCall(tiles_->of(t), arguments);
    };
    if (sums_.direct) {
      sumTo(bytes(out_, b_.CreateAdd(b_.CreateMul(i0, int64(epilogue_.rowStride())), j0)));
      return;
    }
    Val c = b_.CreateConstGEP1_64(b_.getInt8Ty(), scratch_, plan_.packBytes);
    if (sums_.turned) {
      sumTo(bytes(c, b_.CreateMul(i0, int64(plan_.width() * plan_.lanes))));
      return;
    }
    sumTo(c);
    Val i1 = b_.CreateAdd(i0, int64(height));
    const int64_t columns = width * plan_.lanes - (tail ? plan_.lanes - plan_.tail : 0);
    epilogue_.call(b_, entry_, batch_, c, int64(plan_.width() * plan_.lanes), i0, i1, j0,
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
    const int64_t n = plan_.lanes, ld = plan_.width() * n;
    loop(turn_->getArg(2), turn_->getArg(3), n, [&](Val i) {
      loop(int64(0), turn_->getArg(4), 1, [&](Val vector) {
        Val j = b_.CreateMul(vector, int64(n));
        Val from = bytes(turn_->getArg(0), b_.CreateAdd(b_.CreateMul(i, int64(ld)), j));
        Val to = bytes(turn_->getArg(1), b_.CreateAdd(b_.CreateMul(j, int64(turnedRows(p_, plan_))), i));
        Values square;
        for (int64_t k = 0; k < n; ++k) square.push_back(b_.CreateAlignedLoad(vector_, at(from, k * ld), align()));
        transposeSquare(b_, square);
        for (int64_t k = 0; k < n; ++k)
          b_.CreateAlignedStore(square[static_cast<size_t>(k)], at(to, k * turnedRows(p_, plan_)), align());
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
    Val turned = b_.CreateConstGEP1_64(b_.getInt8Ty(), sums, sums_.bytes + 64);
    b_.CreateCall(turnFunction(), {sums, turned, i0, i1, int64(width)});
    const int64_t columns = width * plan_.lanes - (tail ? plan_.lanes - plan_.tail : 0);
    epilogue_.call(b_, entry_, batch_, bytes(turned, i0), int64(turnedRows(p_, plan_)), i0, i1, j0,
                   b_.CreateAdd(j0, int64(columns)));
  }

  /// The parts of blocks [begin, end) that are at the rim and inside, in order: f(first, end, place).
  template <typename F>
  void eachPart(const Blocks& blocks, bool ofRim, int64_t begin, int64_t end, F f) {
    if (!ofRim) return f(begin, end, kInside);
    auto rim = [&](int64_t from, int64_t to) {
      if (from >= to) return;
      if (!rim_.blocks.fixed) return f(from, to, kAnywhere);
      for (; from < to; ++from) f(from, from + 1, blocks.start(from) * (rim_.rows ? 1 : plan_.lanes));
    };
    rim(begin, std::min(end, rim_.blocks.before));
    const int64_t from = std::max(begin, rim_.blocks.before), to = std::min(end, rim_.blocks.after);
    if (from < to) f(from, to, kInside);
    rim(std::max(begin, rim_.blocks.after), end);
  }

  /// `place`: of the panel, when columns are places.
  void rowBlocks(Val r0, Val r1, Val j0, Val panel, int64_t width, bool tail, int64_t place) {
    const Blocks& rows = plan_.rows;
    auto blocks = [&](int64_t begin, int64_t end, int64_t height) {
      eachPart(rows, rim_.edge && rim_.rows, begin, end, [&](int64_t from, int64_t to, int64_t rowPlace) {
        Val lo = from == 0 ? r0 : maximum(r0, int64(from)), hi = to == rows.count ? r1 : minimum(r1, int64(to));
        loop(lo, hi, 1,
             [&](Val r) { tile(start(rows, r), j0, panel, {height, width, tail, rim_.rows ? rowPlace : place}); });
      });
    };
    if (rows.larger > 0) blocks(0, rows.larger, rows.size + 1);
    if (rows.larger < rows.count) blocks(rows.larger, rows.count, rows.size);
  }

  /// Those of panels [c0, c1) that are in [begin, end), all of one width; `tail` when the last vector is not full.
  void panels(Val c0, Val c1, int64_t begin, int64_t end, Val r0, Val r1, int64_t width, bool tail) {
    eachPart(plan_.vectors, rim_.edge && !rim_.rows, begin, end, [&](int64_t from, int64_t to, int64_t place) {
      Val lo = from == 0 ? c0 : maximum(c0, int64(from));
      panelsAt(lo, to == plan_.vectors.count ? c1 : minimum(c1, int64(to)), r0, r1, width, tail, place);
    });
  }

  void panelsAt(Val lo, Val hi, Val r0, Val r1, int64_t width, bool tail, int64_t place) {
    loop(lo, hi, 1, [&](Val panel) {
      Val j0 = b_.CreateMul(start(plan_.vectors, panel), int64(plan_.lanes));
      Val source = bytes(bBase_, b_.CreateMul(j0, int64(p_.b.col)));
      if (packed()) {
        const int64_t columns = width * plan_.lanes - (tail ? plan_.lanes - plan_.tail : 0);
        Function* pack = packPanel(m_, name_, p_, plan_, width, columns);
        b_.CreateCall(pack, {source, scratch_});
        source = scratch_;
      }
      rowBlocks(r0, r1, j0, source, width, tail, place);
      if (sums_.turned) turnedEpilogue(r0, r1, j0, width, tail);
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
    if (v.larger > 0) panels(c0, c1, 0, std::min(v.larger, full), r0, r1, v.size + 1, false);
    if (v.larger < full) panels(c0, c1, v.larger, full, r0, r1, v.size, false);
    if (plan_.tail) panels(c0, c1, full, v.count, r0, r1, v.count == v.larger ? v.size + 1 : v.size, true);
  }

  /// 1 to 8 rows: each group of rows of B is read once, side by side, and added to all rows of C, which stay in L1.
  void streamTask(Val panelTask) {
    const int64_t group = p_.m <= 2 ? 8 : p_.m <= 4 ? 4 : 2;  // broadcasts of A stay in registers
    const Blocks& v = plan_.vectors;
    Val v0 = start(v, panelTask), v1 = start(v, b_.CreateAdd(panelTask, int64(1)));
    Val j0 = b_.CreateMul(v0, int64(plan_.lanes));
    Val last = plan_.tail ? b_.CreateSub(v1, b_.CreateZExt(b_.CreateICmpEQ(v1, int64(v.start(v.count))), i64_)) : v1;
    Val c = b_.CreateConstGEP1_64(b_.getInt8Ty(), scratch_, plan_.packBytes);
    const int64_t ldc = plan_.width() * plan_.lanes;
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
          Val from = at(source, q * p_.b.row);
          Val y = masked
                      ? static_cast<Val>(b_.CreateMaskedLoad(vector_, from, align(), tailMask(plan_.lanes, plan_.tail),
                                                             llvm::Constant::getNullValue(vector_)))
                      : b_.CreateAlignedLoad(vector_, from, align());
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
    Val outBase = sums_.direct ? buffer(epilogue_.outBuffer(), epilogue_.outOffset()) : nullptr;
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
        if (sums_.direct) outOffset = b_.CreateAdd(outOffset, b_.CreateMul(batch_[d], int64(epilogue_.batchStride(d))));
      }
      trips_.clear();
      for (const Product::Edge& e : p_.edges) {
        if (e.var >= p_.batch.size()) continue;
        const auto [begin, end] = tapsAt(e.window, batch_[e.var], batch_[e.var]);
        trips_.insert(trips_.end(), {begin, end});
      }
      a_ = bytes(aBase, aOffset);
      bBase_ = bytes(bBase, bOffset);
      if (sums_.direct) out_ = bytes(outBase, outOffset);
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

uint64_t productScratchBytes(const Kernel& kernel, const VectorUnit& unit, int threads, Level level) {
  if (kernel.product.depthwise) return DepthwisePlan::of(kernel, unit.registerBytes, level).scratchBytes();
  const GemmPlan plan = planGemm(kernel.product, unit, threads, level);
  return tileStoreOf(kernel, plan, level).scratchBytes(plan);
}

EmittedProduct emitProduct(const Kernel& kernel, llvm::Module& module, const std::string& name, const VectorUnit& unit,
                           int threads, Level level) {
  if (kernel.product.depthwise) return emitDepthwise(kernel, module, name, unit.registerBytes, threads, level);
  return GemmEmitter(kernel, module, name, unit, threads, level).emit();
}

}  // namespace tenc::codegen::cpu
