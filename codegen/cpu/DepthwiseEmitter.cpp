// Depthwise convolutions as LLVM IR: tiles of places in registers, one column of the window after the other.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <vector>

#include "codegen/cpu/GemmEpilogue.h"
#include "codegen/cpu/KernelEmitters.h"
#include "codegen/cpu/ProductEmitter.h"

namespace tenc::codegen::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using Val = llvm::Value*;

/// `height` rows of places by `width` vectors. `place`: of the first column when it is known, else kInside, where every
/// vector reads elements only, or kAnywhere.
struct Tile {
  int64_t height, width, place;
  auto operator<=>(const Tile&) const = default;
};
constexpr int64_t kInside = -1, kAnywhere = -2;

class DepthwiseEmitter : ProductEmitter {
 public:
  DepthwiseEmitter(const KernelToEmit& k, const DepthwiseConvolution& plan)
      : ProductEmitter(k.kernel.product, k.module, k.name, plan.lanes),
        rows_(p_.depthwise->rows),
        columns_(p_.depthwise->columns),
        rowVar_(p_.depthwise->rowVar),
        full_(k.level == Level::Full),
        plan_(plan),
        epilogue_(k.kernel, k.module, k.name + ".epilogue", static_cast<int>(plan.lanes), k.level) {}

  /// The abi::KernelFn: items [begin, end), numbered batch-major, then channel, then range of blocks of rows.
  void emit() {
    const Operands operands = openEntry(plan_.direct ? &epilogue_ : nullptr);
    loop(entry_->getArg(2), entry_->getArg(3), 1, [&](Val item) {
      Val rowTask = b_.CreateSRem(item, int64(plan_.rowTasks));
      Val rest = b_.CreateSDiv(item, int64(plan_.rowTasks));
      Channel c;
      c.m = b_.CreateSRem(rest, int64(p_.m));
      rest = b_.CreateSDiv(rest, int64(p_.m));
      Offsets offsets = {b_.CreateMul(c.m, int64(p_.a.row)), int64(0),
                         plan_.direct ? b_.CreateMul(c.m, int64(epilogue_.rowStride())) : int64(0)};
      c.batch = batchOf(rest, offsets, operands, rowVar_);
      c.weights = bytes(operands.a, offsets.a);
      c.input = bytes(operands.b, offsets.b);
      c.out = plan_.direct ? bytes(operands.out, offsets.out) : nullptr;
      c.scratch = entry_->getArg(5);
      rowBlocks(c, rowTask);
    });
    finish();
  }

 private:
  const ir::WindowDim &rows_, &columns_;
  const size_t rowVar_;
  bool full_;
  const DepthwiseConvolution& plan_;
  GemmEpilogue epilogue_;
  std::map<Tile, Function*> kernels_;

  // ---- what a vector of places meets

  int64_t firstElement(int64_t place) const { return place * columns_.stride - columns_.lo; }
  int64_t lastElement(int64_t place) const {
    return firstElement(place + plan_.lanes - 1) + (columns_.taps - 1) * columns_.dilation;
  }
  /// Whether all that a vector reads, in lanes of no place too, are elements.
  bool readsElements(int64_t place) const { return firstElement(place) >= 0 && lastElement(place) < columns_.extent; }
  /// Whether some tap meets padding at a place of the vector.
  bool meetsPadding(int64_t place) const {
    return place < columns_.firstWhole() || std::min(place + plan_.lanes, p_.n) > columns_.endWhole();
  }
  bool isInside(int64_t panel) const {
    if (panel + 1 == plan_.panels && p_.n % (plan_.width * plan_.lanes) != 0) return false;
    for (int64_t j = 0; j < plan_.width; ++j)
      if (!readsElements((panel * plan_.width + j) * plan_.lanes)) return false;
    return true;
  }

  /// Lanes of a vector from element `from` on, `step` apart, that are elements of the row.
  Val inRow(Val from, int64_t step) {
    auto* i32 = b_.getInt32Ty();
    std::vector<llvm::Constant*> apart;
    for (int64_t l = 0; l < plan_.lanes; ++l)
      apart.push_back(llvm::ConstantInt::get(i32, static_cast<uint64_t>(l * step), true));
    const auto lanes = static_cast<unsigned>(plan_.lanes);
    Val element =
        b_.CreateAdd(b_.CreateVectorSplat(lanes, b_.CreateTrunc(from, i32)), llvm::ConstantVector::get(apart));
    return b_.CreateICmpULT(
        element, b_.CreateVectorSplat(lanes, llvm::ConstantInt::get(i32, static_cast<uint64_t>(columns_.extent))));
  }

  /// How one vector of a tile is read at one column of the window.
  struct Reading {
    Val first = nullptr, second = nullptr;  ///< elements of its loads; null is all
    Val meets = nullptr;                    ///< places that meet an element; null is all
  };
  Reading reading(const Tile& t, int64_t j, Val element) {
    const int64_t place = t.place + j * plan_.lanes;
    Reading r;
    if (t.place == kInside || (t.place >= 0 && readsElements(place))) return r;
    Val from = b_.CreateAdd(element, int64(j * plan_.lanes * columns_.stride));
    r.first = inRow(from, 1);
    if (columns_.stride == 2) r.second = inRow(b_.CreateAdd(from, int64(plan_.lanes - 1)), 1);
    if (t.place == kAnywhere || meetsPadding(place))
      r.meets = columns_.stride == 1 ? r.first : inRow(from, columns_.stride);
    return r;
  }

  /// The elements at `p` and, with a stride of 2, at every second one from there: of two loads that end where they do.
  Val read(Val p, const Reading& r) {
    Val first = load(p, r.first);
    if (columns_.stride == 1) return first;
    Val second = load(at(p, plan_.lanes - 1), r.second);
    std::vector<int> which;
    for (int64_t l = 0; l < plan_.lanes; ++l)
      which.push_back(static_cast<int>(2 * l < plan_.lanes ? 2 * l : plan_.lanes + 2 * l - (plan_.lanes - 1)));
    return b_.CreateShuffleVector(first, second, which);
  }

  // ---- the sums of a tile

  /// void tile(weights, input, c[, row][, element]): the sums of a tile, stored at c. `row` and `element` are those of
  /// the input that the first place meets with the first tap.
  Function* microkernel(const Tile& t) {
    Function*& f = kernels_[t];
    if (f) return f;
    const auto saved = b_.saveIP();
    std::vector<llvm::Type*> types(5, pointer_);
    types[3] = types[4] = i64_;
    const std::string place = t.place == kInside ? "" : t.place == kAnywhere ? "r" : "r" + std::to_string(t.place);
    f = createLocalFunction(m_, name_ + ".tile" + std::to_string(t.height) + "x" + std::to_string(t.width) + place,
                            types, 3);
    b_.SetInsertPoint(BasicBlock::Create(c_, "entry", f));
    const std::vector<Walk> walks = {
        {f->getArg(0), p_.a.col}, {f->getArg(1), p_.b.row}, {f->getArg(4), columns_.dilation}};
    const Values zeros(static_cast<size_t>(t.height * t.width), llvm::Constant::getNullValue(vector_));
    const Values sums = sumLoop(int64(0), int64(p_.k), false, walks, zeros, [&](Val, const Values& at, Values next) {
      addColumn(t, at[0], at[1], at[2], f->getArg(3), next);
      return next;
    });
    for (int64_t i = 0; i < t.height; ++i)
      for (int64_t j = 0; j < t.width; ++j) {
        Val to = at(f->getArg(2), i * rowStep() + j * plan_.lanes);
        Val sum = sums[static_cast<size_t>(i * t.width + j)];
        const int64_t left = t.place < 0 ? plan_.lanes : std::min(plan_.lanes, p_.n - t.place - j * plan_.lanes);
        store(sum, to, plan_.direct && left < plan_.lanes ? tailMask(plan_.lanes, left) : nullptr);
      }
    b_.CreateRetVoid();
    b_.restoreIP(saved);
    return f;
  }
  int64_t rowStep() const { return plan_.direct ? epilogue_.batchStride(rowVar_) : plan_.width * plan_.lanes; }

  /// Adds one column of the window to all sums. Rows of the input that are padding are passed over.
  void addColumn(const Tile& t, Val weights, Val input, Val element, Val row, std::vector<Val>& sums) {
    Function* f = b_.GetInsertBlock()->getParent();
    const Product::Sum& down = p_.sums[0];
    std::vector<Val> weight;
    for (int64_t tap = 0; tap < rows_.taps; ++tap)
      weight.push_back(b_.CreateVectorSplat(static_cast<unsigned>(plan_.lanes),
                                            b_.CreateAlignedLoad(element_, at(weights, tap * down.a), align())));
    std::vector<Reading> readings;
    for (int64_t j = 0; j < t.width; ++j) readings.push_back(reading(t, j, element));
    const int64_t rowElements = p_.b.batch[rowVar_] / rows_.stride;
    for (int64_t y = 0; y <= (t.height - 1) * rows_.stride + (rows_.taps - 1) * rows_.dilation; ++y) {
      std::vector<std::pair<int64_t, int64_t>> users;  // rows of places, and their taps
      for (int64_t i = 0; i < t.height; ++i) {
        const int64_t distance = y - i * rows_.stride, tap = distance / rows_.dilation;
        if (distance >= 0 && distance % rows_.dilation == 0 && tap < rows_.taps) users.push_back({i, tap});
      }
      if (users.empty()) continue;
      BasicBlock* before = b_.GetInsertBlock();
      BasicBlock* after = nullptr;
      const std::vector<Val> old = sums;
      if (!rows_.whole()) {
        auto* meets = BasicBlock::Create(c_, "row", f);
        after = BasicBlock::Create(c_, "next", f);
        b_.CreateCondBr(b_.CreateICmpULT(b_.CreateAdd(row, int64(y)), int64(rows_.extent)), meets, after);
        b_.SetInsertPoint(meets);
      }
      for (int64_t j = 0; j < t.width; ++j) {
        const Reading& r = readings[static_cast<size_t>(j)];
        Val x = read(at(input, y * rowElements + j * plan_.lanes * columns_.stride), r);
        for (const auto& [i, tap] : users) {
          Val& s = sums[static_cast<size_t>(i * t.width + j)];
          Val sum = b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {weight[static_cast<size_t>(tap)], x, s});
          s = r.meets ? b_.CreateSelect(r.meets, sum, s) : sum;
        }
      }
      if (!after) continue;
      BasicBlock* end = b_.GetInsertBlock();
      b_.CreateBr(after);
      b_.SetInsertPoint(after);
      for (size_t n = 0; n < sums.size(); ++n) {
        if (sums[n] == old[n]) continue;
        auto* either = b_.CreatePHI(vector_, 2);
        either->addIncoming(old[n], before);
        either->addIncoming(sums[n], end);
        sums[n] = either;
      }
    }
  }

  // ---- the loops around

  /// What a task works on: the weights and the input of its channel, where its results begin, and its loop variables.
  struct Channel {
    Val weights, input, out, scratch, m;
    std::vector<Val> batch;
  };

  void tile(Channel& c, Val row0, Val column0, const Tile& t) {
    Val input = bytes(c.input, b_.CreateAdd(b_.CreateMul(row0, int64(p_.b.batch[rowVar_])),
                                            b_.CreateMul(column0, int64(columns_.stride))));
    Val to = plan_.direct
                 ? bytes(c.out, b_.CreateAdd(b_.CreateMul(row0, int64(epilogue_.batchStride(rowVar_))), column0))
                 : c.scratch;
    Val row = b_.CreateSub(b_.CreateMul(row0, int64(rows_.stride)), int64(rows_.lo));
    Val element = b_.CreateSub(b_.CreateMul(column0, int64(columns_.stride)), int64(columns_.lo));
    b_.CreateCall(microkernel(t), {c.weights, input, to, row, element});
    if (plan_.direct) return;
    Val end = minimum(b_.CreateAdd(column0, int64(t.width * plan_.lanes)), int64(p_.n));
    loop(int64(0), int64(t.height), 1, [&](Val i) {
      c.batch[rowVar_] = b_.CreateAdd(row0, i);
      epilogue_.call(b_, entry_, c.batch, bytes(to, b_.CreateMul(i, int64(rowStep()))), int64(rowStep()), c.m,
                     b_.CreateAdd(c.m, int64(1)), column0, end);
    });
  }

  /// All tiles of `height` rows from one on.
  void panels(Channel& c, Val row0, int64_t height) {
    constexpr int64_t kMostApart = 3;  // tiles at the ends of a row that have code of their own
    int64_t before = 0;
    while (before < plan_.panels && !isInside(before)) ++before;
    int64_t after = before;
    while (after < plan_.panels && isInside(after)) ++after;
    auto one = [&](int64_t panel) {
      const int64_t place = panel * plan_.width * plan_.lanes;
      const int64_t vectors = (p_.n - place + plan_.lanes - 1) / plan_.lanes;
      tile(c, row0, int64(place), {height, std::min(plan_.width, vectors), place});
    };
    auto some = [&](int64_t begin, int64_t end, int64_t place) {
      if (begin >= end) return;
      loop(int64(begin), int64(end), 1, [&](Val panel) {
        tile(c, row0, b_.CreateMul(panel, int64(plan_.width * plan_.lanes)), {height, plan_.width, place});
      });
    };
    const bool apart = before + plan_.panels - after <= (full_ ? kMostApart : 1);
    if (apart) {
      for (int64_t i = 0; i < before; ++i) one(i);
      some(before, after, kInside);
      for (int64_t i = after; i < plan_.panels; ++i) one(i);
      return;
    }
    const int64_t last = plan_.panels - 1;
    some(0, std::min(before, last), kAnywhere);
    some(before, after, kInside);
    some(std::max(before, after), last, kAnywhere);
    if (after < plan_.panels || before == plan_.panels) one(last);
  }

  /// The blocks of rows of one task of a channel.
  void rowBlocks(Channel& c, Val rowTask) {
    auto bound = [&](Val task) {
      return b_.CreateSDiv(b_.CreateMul(task, int64(plan_.blocks)), int64(plan_.rowTasks));
    };
    Val lo = bound(rowTask), hi = bound(b_.CreateAdd(rowTask, int64(1)));
    const int64_t left = rows_.places % plan_.height;
    Val whole = left ? minimum(hi, int64(plan_.blocks - 1)) : hi;
    loop(lo, whole, 1, [&](Val block) { panels(c, b_.CreateMul(block, int64(plan_.height)), plan_.height); });
    if (left) loop(whole, hi, 1, [&](Val block) { panels(c, b_.CreateMul(block, int64(plan_.height)), left); });
  }
};

}  // namespace

void emitDepthwise(const KernelToEmit& kernel, const DepthwiseConvolution& convolution) {
  DepthwiseEmitter(kernel, convolution).emit();
}

}  // namespace tenc::codegen::cpu
