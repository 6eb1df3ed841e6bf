// Tiled products as LLVM IR: tasks, panels of columns, blocks of rows, and what happens to a tile's sums. The tiles
// themselves are functions (GemmTiles.h).
#include <llvm/IR/Module.h>

#include <utility>
#include <vector>

#include "codegen/cpu/GemmEpilogue.h"
#include "codegen/cpu/GemmPack.h"
#include "codegen/cpu/GemmTiles.h"
#include "codegen/cpu/KernelEmitters.h"
#include "codegen/cpu/Transpose.h"
#include "codegen/cpu/TurnCode.h"

namespace tenc::codegen::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using Val = llvm::Value*;

class TiledProductEmitter : ProductEmitter {
 public:
  TiledProductEmitter(const KernelToEmit& k, const TiledProduct& plan)
      : ProductEmitter(k.kernel.product, k.module, k.name, plan.lanes),
        plan_(plan),
        assembled_(k.assembled),
        rim_(GemmRim::of(k.kernel.product, plan, isAssembled() ? Level::Full : k.level)),
        epilogue_(k.kernel, k.module, k.name + ".epilogue", plan.lanes, k.level),
        tiles_(p_, m_, name_, plan_, rim_, plan.sums.direct ? epilogue_.rowStride() : plan.rowOfSums(), k.level,
               k.assembled) {
    if (plan.sums.turned) epilogue_.turn();
    if (plan.mirrored) epilogue_.takeAnyColumns();
  }

  /// The abi::KernelFn: tasks [begin, end), numbered batch-major, then row task, then panel task, or with the panel
  /// task as the highest digit.
  void emit() {
    const Operands operands = openEntry(plan_.sums.direct ? &epilogue_ : nullptr);
    scratch_ = entry_->getArg(5);
    loop(entry_->getArg(2), entry_->getArg(3), 1, [&](Val task) {
      int64_t others = plan_.rowTasks;
      for (int64_t n : p_.batch) others *= n;
      Val panelTask =
          plan_.panelsFirst ? b_.CreateSDiv(task, int64(others)) : b_.CreateSRem(task, int64(plan_.panelTasks));
      Val rest = plan_.panelsFirst ? b_.CreateSRem(task, int64(others)) : b_.CreateSDiv(task, int64(plan_.panelTasks));
      Val rowTask = b_.CreateSRem(rest, int64(plan_.rowTasks));
      Offsets offsets = {int64(0), int64(0), int64(0)};
      matrix_.batch = batchOf(b_.CreateSDiv(rest, int64(plan_.rowTasks)), offsets, operands);
      trips_.clear();
      for (const Product::Edge& e : p_.edges) {
        if (e.var >= p_.batch.size()) continue;
        const auto [begin, end] = tapsAt(e.window, matrix_.batch[e.var], matrix_.batch[e.var]);
        trips_.insert(trips_.end(), {begin, end});
      }
      matrix_.a = operandBytes(operands.a, offsets.a);
      matrix_.b = operandBytes(operands.b, offsets.b);
      if (plan_.sums.direct) matrix_.out = bytes(operands.out, offsets.out);
      emitTask(rowTask, panelTask);
    });
    finish();
    leaveAsItIs(*entry_);
  }

 private:
  const TiledProduct& plan_;
  const AssembledForm assembled_;
  GemmRim rim_;
  GemmEpilogue epilogue_;
  GemmTiles tiles_;
  Val scratch_ = nullptr;
  // of the task being emitted
  struct Matrix {
    Val a = nullptr, b = nullptr, out = nullptr;  ///< where it begins; `out` of direct sums alone
    std::vector<Val> batch;                       ///< its indices
  } matrix_;
  struct Part {
    Val first = nullptr, terms = nullptr;  ///< of k, where that is split
  } part_;
  enum class Step : uint8_t { All, Clear, Add, Finish } step_ = Step::All;  ///< of sums that are kept
  Val held_ = nullptr;      ///< the first row of the task, where sums of all its rows are kept to be turned
  std::vector<Val> trips_;  ///< of each edge of a batch dim: its sum runs from the first of two numbers to the second

  bool packed() const { return plan_.pack != PackB::None; }
  bool isAssembled() const { return plan_.assembled && assembled_ != AssembledForm::None; }

  template <typename F>
  void when(Val condition, F body) {
    auto* then = BasicBlock::Create(c_, "then", entry_);
    auto* next = BasicBlock::Create(c_, "next", entry_);
    b_.CreateCondBr(condition, then, next);
    b_.SetInsertPoint(then);
    body();
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
  }

  /// One tile at row `i0`, column `j0`: the microkernel and, when there is more to do than store, the epilogue.
  void tile(Val i0, Val j0, Val panel, const Tile& t) {
    const auto [height, width, tail, place] = t;
    Val first = b_.CreateMul(i0, int64(p_.a.row));
    if (plan_.split()) first = b_.CreateAdd(first, b_.CreateMul(part_.first, int64(p_.a.col)));
    Val a = operandBytes(matrix_.a, first);
    auto sumTo = [&](Val c) {
      std::vector<Val> arguments = {a, panel, c};
      arguments.insert(arguments.end(), trips_.begin(), trips_.end());
      if (plan_.split()) arguments.push_back(part_.terms);
      if (isTold(t.place)) arguments.push_back(rim_.rows ? i0 : j0);
      b_.CreateCall(tiles_.of(t), arguments);
    };
    if (plan_.sums.direct) {
      sumTo(bytes(matrix_.out, b_.CreateAdd(b_.CreateMul(i0, int64(epilogue_.rowStride())), j0)));
      return;
    }
    Val c = b_.CreateConstGEP1_64(b_.getInt8Ty(), scratch_, plan_.packBytes);
    if (plan_.split()) {
      sumTo(bytes(keptSums(j0), b_.CreateMul(i0, int64(plan_.rowOfSums()))));
      return;
    }
    if (plan_.sums.turned) {
      sumTo(bytes(c, b_.CreateMul(b_.CreateSub(i0, held_), int64(plan_.width() * plan_.lanes))));
      return;
    }
    sumTo(c);
    Val i1 = b_.CreateAdd(i0, int64(height)), j1 = b_.CreateAdd(j0, int64(columnsOf(width, tail)));
    const int64_t ld = plan_.width() * plan_.lanes;
    if (!plan_.mirrored) return epilogue_.call(b_, entry_, matrix_.batch, c, int64(ld), i0, i1, j0, j1);
    // Each element is stored once: what is above the panel's part of the diagonal is what another tile mirrors.
    Val from = maximum(i0, j0);
    epilogue_.call(b_, entry_, matrix_.batch, bytes(c, b_.CreateMul(b_.CreateSub(from, i0), int64(ld))), int64(ld),
                   from, i1, j0, j1);
    Val below = maximum(i0, j1), turned = b_.CreateConstGEP1_64(b_.getInt8Ty(), c, plan_.sums.bytes + 64);
    when(b_.CreateICmpSLT(below, i1), [&] {
      turn(c, turned, int64(0), int64(height), width);
      epilogue_.call(b_, entry_, matrix_.batch, bytes(turned, b_.CreateSub(below, i0)), int64(plan_.turnedRows(p_)), j0,
                     j1, below, i1);
    });
  }
  int64_t columnsOf(int64_t width, bool tail) const {
    return width * plan_.lanes - (tail ? plan_.lanes - plan_.tail : 0);
  }

  /// Turns rows [i0, i1), some at a time: turned[column][row] from sums[row][column].
  void turn(Val sums, Val turned, Val i0, Val i1, int64_t vectors) {
    b_.CreateCall(turnFunction(), {sums, turned, i0, i1, int64(vectors), int64(plan_.width() * plan_.lanes),
                                   int64(plan_.turnedRows(p_))});
  }

  /// void turn(sums, turned, i0, i1, vectors, ld, rows): the same for any distances from row to row, and from column to
  /// column where they are turned. All products of the module share it.
  Function* turnFunction() {
    const int64_t n = plan_.lanes;
    const std::string name = "turn." + std::string(ir::name(p_.dtype)) + "." + std::to_string(n);
    if (Function* made = m_.getFunction(name)) return made;
    const auto saved = b_.saveIP();
    Function* f = createLocalFunction(m_, name, {pointer_, pointer_, i64_, i64_, i64_, i64_, i64_}, 0);
    setCodeAttributes(*f);
    leaveAsItIs(*f);
    if (assembled_ != AssembledForm::None) {
      const VectorForm form = {static_cast<int>(n * size_), static_cast<int>(size_)};
      giveCode(*f, assembled_, [&](std::string_view listed) { return assembledTurn(form, listed); });
      b_.restoreIP(saved);
      return f;
    }
    b_.SetInsertPoint(BasicBlock::Create(c_, "entry", f));
    const int64_t together = stripOf(size_);
    auto bytesOf = [&](Val elements) { return b_.CreateMul(elements, int64(size_)); };
    auto after = [&](Val p, Val distance) { return b_.CreateGEP(b_.getInt8Ty(), p, distance); };
    Val ld = bytesOf(f->getArg(5)), rows = bytesOf(f->getArg(6));
    loop(f->getArg(2), f->getArg(3), together, [&](Val i) {
      loop(int64(0), f->getArg(4), 1, [&](Val vector) {
        Val j = b_.CreateMul(vector, int64(n));
        Val from = bytes(after(f->getArg(0), b_.CreateMul(i, ld)), j);
        Val to = after(bytes(f->getArg(1), i), b_.CreateMul(j, rows));
        Values vectors;
        for (int64_t k = 0; k < together; ++k) {
          vectors.push_back(load(from));
          from = after(from, ld);
        }
        for (Val strip : stripsAcross(b_, vectors)) {
          store(strip, to);
          to = after(to, rows);
        }
      });
    });
    b_.CreateRetVoid();
    b_.restoreIP(saved);
    return f;
  }

  /// Of what runs once for each tile: selection takes twice as long with optimisation, and finds little.
  static void leaveAsItIs(Function& f) {
    f.addFnAttr(llvm::Attribute::OptimizeNone);
    f.addFnAttr(llvm::Attribute::NoInline);
  }

  /// The epilogue of all rows of a panel whose sums have been kept.
  void turnedEpilogue(Val r0, Val r1, Val j0, int64_t width, bool tail) {
    Val i0 = start(plan_.rows, r0), i1 = start(plan_.rows, r1);
    Val sums = b_.CreateConstGEP1_64(b_.getInt8Ty(), scratch_, plan_.packBytes);
    Val turned = b_.CreateConstGEP1_64(b_.getInt8Ty(), sums, plan_.sums.bytes + 64);
    turn(sums, turned, int64(0), b_.CreateSub(i1, i0), width);
    epilogue_.call(b_, entry_, matrix_.batch, turned, int64(plan_.turnedRows(p_)), i0, i1, j0,
                   b_.CreateAdd(j0, int64(columnsOf(width, tail))));
  }

  /// The parts of blocks [begin, end) that are at the rim and inside, in order: f(first, end, place).
  template <typename F>
  void eachPart(const Blocks& blocks, bool ofRim, int64_t begin, int64_t end, F f) {
    if (!ofRim) return f(begin, end, kInside);
    const int64_t before = std::min(end, rim_.blocks.before), after = std::max(begin, rim_.blocks.after);
    const int64_t from = std::max(begin, before), to = std::min(end, after);
    if (begin >= before && after >= end) return f(begin, end, kInside);
    if (rim_.rows) return f(begin, end, kBlock);
    if (rim_.blocks.fixed) {
      // A function of each kind of block would be compiled for nearly as long as one of all.
      const bool isOne = end - begin == 1 && !isAssembled();
      return f(begin, end, isOne ? blocks.start(begin) * plan_.lanes : kBlock);
    }
    if (begin < before) f(begin, before, kAnywhere);
    if (from < to) f(from, to, kInside);
    if (after < end) f(after, end, kAnywhere);
  }

  /// `place`: of the panel, when columns are places.
  void rowBlocks(Val r0, Val r1, Val j0, Val panel, int64_t width, bool tail, int64_t place) {
    const Blocks& rows = plan_.rows;
    auto blocks = [&](int64_t begin, int64_t end, int64_t height) {
      eachPart(rows, rim_.edge && rim_.rows, begin, end, [&](int64_t from, int64_t to, int64_t rowPlace) {
        Val lo = from == 0 ? r0 : maximum(r0, int64(from)), hi = to == rows.count ? r1 : minimum(r1, int64(to));
        loop(lo, hi, 1, [&](Val r) {
          const Tile t = {height, width, tail, rim_.rows ? rowPlace : place};
          Val i0 = start(rows, r);
          if (!plan_.mirrored) return tile(i0, j0, panel, t);
          when(b_.CreateICmpSGT(b_.CreateAdd(i0, int64(height)), j0), [&] { tile(i0, j0, panel, t); });
        });
      });
    };
    if (rows.larger > 0) blocks(0, rows.larger, rows.size + 1);
    if (rows.larger < rows.count) blocks(rows.larger, rows.count, rows.size);
  }

  /// Where the sums of a panel are kept from part to part of k.
  Val keptSums(Val j0) {
    Val all = b_.CreateConstGEP1_64(b_.getInt8Ty(), scratch_, plan_.packBytes);
    return plan_.partsFirst ? bytes(all, j0) : all;
  }

  void clearSums(Val r0, Val r1, Val j0, int64_t width) {
    Val sums = keptSums(j0);
    loop(start(plan_.rows, r0), start(plan_.rows, r1), 1, [&](Val i) {
      Val row = bytes(sums, b_.CreateMul(i, int64(plan_.rowOfSums())));
      for (int64_t j = 0; j < width; ++j) store(llvm::Constant::getNullValue(vector_), at(row, j * plan_.lanes));
    });
  }

  /// One part of k after the other.
  template <typename F>
  void eachDepth(F f) {
    loop(int64(0), int64(plan_.depth.count), 1, [&](Val d) {
      part_.first = start(plan_.depth, d);
      part_.terms = b_.CreateSub(start(plan_.depth, b_.CreateAdd(d, int64(1))), part_.first);
      f();
    });
  }

  void addPart(Val r0, Val r1, Val j0, Val panel, int64_t width, bool tail) {
    rowBlocks(r0, r1, j0, bytes(panel, b_.CreateMul(part_.first, int64(p_.b.row))), width, tail, kInside);
  }

  void finishSums(Val r0, Val r1, Val j0, int64_t width, bool tail) {
    const int64_t ld = plan_.rowOfSums();
    Val i0 = start(plan_.rows, r0), i1 = start(plan_.rows, r1);
    epilogue_.call(b_, entry_, matrix_.batch, bytes(keptSums(j0), b_.CreateMul(i0, int64(ld))), int64(ld), i0, i1, j0,
                   b_.CreateAdd(j0, int64(columnsOf(width, tail))));
  }

  /// All rows by a panel that k is split for: everything, or only a step where all panels take each step in turn.
  void depthBlocks(Val r0, Val r1, Val j0, Val panel, int64_t width, bool tail) {
    if (step_ == Step::All || step_ == Step::Clear) clearSums(r0, r1, j0, width);
    if (step_ == Step::All) eachDepth([&] { addPart(r0, r1, j0, panel, width, tail); });
    if (step_ == Step::Add) addPart(r0, r1, j0, panel, width, tail);
    if (step_ == Step::All || step_ == Step::Finish) finishSums(r0, r1, j0, width, tail);
  }

  /// Those of panels [c0, c1) that are in [begin, end), all of one width; `tail` when the last vector is not full.
  void panels(Val c0, Val c1, int64_t begin, int64_t end, Val r0, Val r1, int64_t width, bool tail) {
    eachPart(plan_.vectors, rim_.edge && !rim_.rows, begin, end, [&](int64_t from, int64_t to, int64_t place) {
      Val lo = from == 0 ? c0 : maximum(c0, int64(from));
      panelsAt(lo, to == plan_.vectors.count ? c1 : minimum(c1, int64(to)), r0, r1, width, tail, place);
    });
  }

  /// Elements of B from its first column to the first of a panel that begins with this vector. A block of columns is
  /// one vector, or a panel.
  Val columnsBefore(Val vector) {
    if (p_.b.block == 0) return b_.CreateMul(vector, int64(plan_.lanes * p_.b.col));
    return b_.CreateMul(b_.CreateUDiv(vector, int64(p_.b.block / plan_.lanes)), int64(p_.b.acrossBlocks));
  }

  void panelsAt(Val lo, Val hi, Val r0, Val r1, int64_t width, bool tail, int64_t place) {
    loop(lo, hi, 1, [&](Val panel) {
      Val first = start(plan_.vectors, panel), j0 = b_.CreateMul(first, int64(plan_.lanes));
      Val source = operandBytes(matrix_.b, columnsBefore(first));
      if (packed()) {
        Function* pack = packPanel(m_, name_, p_, plan_, width, columnsOf(width, tail), assembled_);
        b_.CreateCall(pack, {source, scratch_});
        source = scratch_;
      }
      if (plan_.split()) return depthBlocks(r0, r1, j0, source, width, tail);
      rowBlocks(r0, r1, j0, source, width, tail, place);
      if (plan_.sums.turned) turnedEpilogue(r0, r1, j0, width, tail);
    });
  }

  void emitTask(Val rowTask, Val panelTask) {
    const Blocks& v = plan_.vectors;
    auto bounds = [&](Val task, int64_t count, int64_t tasks) {
      return std::pair(b_.CreateSDiv(b_.CreateMul(task, int64(count)), int64(tasks)),
                       b_.CreateSDiv(b_.CreateMul(b_.CreateAdd(task, int64(1)), int64(count)), int64(tasks)));
    };
    const auto [r0, r1] = bounds(rowTask, plan_.rows.count, plan_.rowTasks);
    const auto [c0, c1] = bounds(panelTask, v.count, plan_.panelTasks);
    if (plan_.sums.turned) held_ = start(plan_.rows, r0);
    const int64_t full = v.count - (plan_.tail ? 1 : 0);  // panels without a masked vector
    auto all = [&] {
      if (v.larger > 0) panels(c0, c1, 0, std::min(v.larger, full), r0, r1, v.size + 1, false);
      if (v.larger < full) panels(c0, c1, v.larger, full, r0, r1, v.size, false);
      if (plan_.tail) panels(c0, c1, full, v.count, r0, r1, v.count == v.larger ? v.size + 1 : v.size, true);
    };
    if (!plan_.partsFirst) return all();
    step_ = Step::Clear;
    all();
    step_ = Step::Add;
    eachDepth(all);
    step_ = Step::Finish;
    all();
  }
};

}  // namespace

void emitTiledProduct(const KernelToEmit& kernel, const TiledProduct& product) {
  TiledProductEmitter(kernel, product).emit();
}

}  // namespace tenc::codegen::cpu
