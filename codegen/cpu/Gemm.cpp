#include "codegen/cpu/Gemm.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/cpu/Depthwise.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/GemmEpilogue.h"
#include "codegen/cpu/GemmPack.h"
#include "codegen/cpu/GemmPlan.h"
#include "codegen/cpu/ProductEmitter.h"
#include "codegen/cpu/Transpose.h"

namespace tenc::codegen::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using Val = llvm::Value*;

constexpr int64_t kMostTurned = 128 << 10;  // bytes: in the second-level cache

/// A part of C whose sums stand in registers: `height` rows of `width` vectors, the last of them not full when `tail`.
/// `place`: of the first row or column, whichever is a place of a convolution with padding, when it is known; else
/// kInside, where no tap meets padding, or kAnywhere.
struct Tile {
  int64_t height, width;
  bool tail;
  int64_t place;
  auto operator<=>(const Tile&) const = default;
};
constexpr int64_t kInside = -1, kAnywhere = -2;

class GemmEmitter : ProductEmitter {
 public:
  GemmEmitter(const Kernel& kernel, llvm::Module& module, const std::string& name, const VectorUnit& unit, int threads,
              Level level)
      : ProductEmitter(kernel.product, module, name, unit.registerBytes / ir::byteSize(kernel.product.dtype)),
        level_(level),
        plan_(planGemm(kernel.product, unit, threads, level)),
        epilogue_(kernel, module, name + ".epilogue", plan_.lanes, level) {}

  EmittedProduct emit() {
    for (const Product::Edge& e : p_.edges) {
      if (e.var < p_.batch.size()) continue;
      rimEdge_ = &e;
      rimRows_ = e.var == p_.batch.size();
      rim_ =
          rimRows_ ? Rim::of(e.window, plan_.rows, 1, level_) : Rim::of(e.window, plan_.vectors, plan_.lanes, level_);
    }
    direct_ = epilogue_.isPlainStore() && !plan_.stream;
    turned_ = level_ == Level::Full && !direct_ && !plan_.stream && epilogue_.storesAlongRows() &&
              turnedRows() * maxWidth() * plan_.lanes * size_ <= kMostTurned;
    if (turned_) epilogue_.turn();
    const int64_t tileRows = plan_.stream ? p_.m
                             : turned_    ? turnedRows()
                                          : plan_.rows.size + (plan_.rows.larger ? 1 : 0);
    tileBytes_ = static_cast<uint64_t>(tileRows * maxWidth() * plan_.lanes * size_);
    EmittedProduct out;
    out.function = entry();
    widenAll();
    out.items = plan_.tasks(p_);
    out.scratchBytes = plan_.packBytes + 64 + (direct_ ? 0 : tileBytes_ + 64) + (turned_ ? tileBytes_ + 64 : 0);
    return out;
  }

 private:
  Level level_;
  GemmPlan plan_;
  GemmEpilogue epilogue_;
  bool direct_ = false;
  bool turned_ = false;  ///< sums of all rows of a panel are kept, and turned before the epilogue
  Function* turn_ = nullptr;
  uint64_t tileBytes_ = 0;
  std::map<Tile, Function*> kernels_;
  const Product::Edge* rimEdge_ = nullptr;  ///< the one at rows or columns
  bool rimRows_ = false;
  Rim rim_;
  std::map<std::vector<bool>, Val> masks_;  ///< of the microkernel being emitted
  // of the task being emitted
  Val a_ = nullptr, bBase_ = nullptr, out_ = nullptr, scratch_ = nullptr;
  std::vector<Val> batch_;
  std::vector<Val> trips_;  ///< of each edge of a batch dim: its sum runs from the first of two numbers to the second

  /// Rows of the turned tile, with room for a whole vector from the last one on.
  int64_t turnedRows() const { return (p_.m + 2 * plan_.lanes - 1) / plan_.lanes * plan_.lanes; }
  int64_t maxWidth() const { return plan_.vectors.size + (plan_.vectors.larger ? 1 : 0); }
  Val start(const Blocks& blocks, Val i) {
    return b_.CreateAdd(b_.CreateMul(i, int64(blocks.size)), minimum(i, int64(blocks.larger)));
  }

  Val mask(int tail) {
    std::vector<llvm::Constant*> bits;
    for (int i = 0; i < plan_.lanes; ++i) bits.push_back(b_.getInt1(i < tail));
    return llvm::ConstantVector::get(bits);
  }
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
  std::vector<Val> sumLoops(size_t level, Val a, Val b, const Tile& t, const std::vector<Val>& sums) {
    const bool innermost = level == p_.sums.size();
    if (innermost && rimEdge_ && t.place >= 0) return rimTaps(a, b, t, sums);
    const Product::Edge* edge = nullptr;
    unsigned number = 0;  // of the edge's first number among the arguments
    for (const Product::Edge& e : p_.edges) {
      if (e.var >= p_.batch.size()) continue;
      if (e.sum == level) edge = &e;
      number += edge ? 0 : 2;
    }
    Val lo = int64(0), hi = int64(innermost ? p_.k : p_.sums[level].extent);
    bool mayBeNone = false;
    if (edge) {
      Function* f = b_.GetInsertBlock()->getParent();
      lo = f->getArg(3 + number);
      hi = f->getArg(4 + number);
      constexpr int64_t kMostLookedAt = 4096;  // places; with more of them compiling would take long
      mayBeNone = edge->window.places > kMostLookedAt;
      for (int64_t p = 0; !mayBeNone && p < edge->window.places; ++p)
        mayBeNone = edge->window.firstTap(p) >= edge->window.endTap(p);
    } else if (innermost && t.place == kAnywhere) {
      Function* f = b_.GetInsertBlock()->getParent();
      Val place = f->getArg(static_cast<unsigned>(f->arg_size() - 1));
      std::tie(lo, hi) = tapsAt(rimEdge_->window, place, b_.CreateAdd(place, int64(placesOf(t) - 1)));
      mayBeNone = true;
    }
    return trips(level, lo, hi, mayBeNone, a, b, t, sums);
  }

  /// Trips [lo, hi) of the sum of one level, and all of the inner ones.
  std::vector<Val> trips(size_t level, Val lo, Val hi, bool mayBeNone, Val a, Val b, const Tile& t,
                         const std::vector<Val>& sums) {
    Function* f = b_.GetInsertBlock()->getParent();
    const bool innermost = level == p_.sums.size();
    const int64_t stepA = innermost ? p_.a.col : p_.sums[level].a;
    const int64_t stepB = packed() ? t.width * plan_.lanes : innermost ? p_.b.row : p_.sums[level].b;
    if (auto* first = llvm::dyn_cast<llvm::ConstantInt>(lo); !first || !first->isZero()) {
      a = bytes(a, b_.CreateMul(lo, int64(stepA)));
      b = bytes(b, b_.CreateMul(lo, int64(stepB)));
    }
    BasicBlock* before = b_.GetInsertBlock();
    auto* head = BasicBlock::Create(c_, "k", f);
    auto* done = BasicBlock::Create(c_, "done", f);
    if (mayBeNone)
      b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), head, done);
    else
      b_.CreateBr(head);
    b_.SetInsertPoint(head);
    auto* k = b_.CreatePHI(i64_, 2);
    auto* pa = b_.CreatePHI(pointer_, 2);
    auto* pb = b_.CreatePHI(pointer_, 2);
    k->addIncoming(lo, before);
    pa->addIncoming(a, before);
    pb->addIncoming(b, before);
    std::vector<llvm::PHINode*> acc;
    for (Val s : sums) {
      acc.push_back(b_.CreatePHI(vector_, 2));
      acc.back()->addIncoming(s, before);
    }
    std::vector<Val> next(acc.begin(), acc.end());
    if (innermost) {
      addOuterProduct(pa, pb, t, t.place == kAnywhere ? takenAt(k, t) : Taken(), next);
    } else {
      next = sumLoops(level + 1, pa, pb, t, next);
    }
    BasicBlock* latch = b_.GetInsertBlock();
    for (size_t n = 0; n < acc.size(); ++n) acc[n]->addIncoming(next[n], latch);
    Val k1 = b_.CreateAdd(k, int64(1));
    k->addIncoming(k1, latch);
    pa->addIncoming(at(pa, stepA), latch);
    pb->addIncoming(at(pb, stepB), latch);
    b_.CreateCondBr(b_.CreateICmpSLT(k1, hi), head, done);
    b_.SetInsertPoint(done);
    if (!mayBeNone) return next;
    for (size_t n = 0; n < next.size(); ++n) {
      auto* either = b_.CreatePHI(vector_, 2);
      either->addIncoming(sums[n], before);
      either->addIncoming(next[n], latch);
      next[n] = either;
    }
    return next;
  }

  /// What takes part in an outer product: null is all. `rows`: bits; `columns`: vectors of bits, without those beyond
  /// the matrix.
  struct Taken {
    std::vector<Val> rows, columns;
    Val row(int64_t i) const { return rows.empty() ? nullptr : rows[static_cast<size_t>(i)]; }
    Val column(int64_t j) const { return columns.empty() ? nullptr : columns[static_cast<size_t>(j)]; }
  };
  static bool isNone(Val bits) {
    auto* c = llvm::dyn_cast_or_null<llvm::Constant>(bits);
    return c && c->isNullValue();
  }

  /// At tap `k` of a tile whose place is the last argument.
  Taken takenAt(Val k, const Tile& t) {
    const ir::WindowDim& w = rimEdge_->window;
    Function* f = b_.GetInsertBlock()->getParent();
    Val place = f->getArg(static_cast<unsigned>(f->arg_size() - 1));
    Val from = b_.CreateAdd(b_.CreateMul(place, int64(w.stride)),
                            b_.CreateSub(b_.CreateMul(k, int64(w.dilation)), int64(w.lo)));
    Taken taken;
    for (int64_t i = 0; rimRows_ && i < t.height; ++i)
      taken.rows.push_back(b_.CreateICmpULT(b_.CreateAdd(from, int64(i * w.stride)), int64(w.extent)));
    for (int64_t j = 0; !rimRows_ && j < t.width; ++j) {
      std::vector<llvm::Constant*> apart;
      for (int64_t l = 0; l < plan_.lanes; ++l)
        apart.push_back(llvm::cast<llvm::Constant>(int64((j * plan_.lanes + l) * w.stride)));
      const auto lanes = static_cast<unsigned>(plan_.lanes);
      Val element = b_.CreateAdd(b_.CreateVectorSplat(lanes, from), llvm::ConstantVector::get(apart));
      Val in = b_.CreateICmpULT(element, b_.CreateVectorSplat(lanes, int64(w.extent)));
      taken.columns.push_back(t.tail && j + 1 == t.width ? b_.CreateAnd(in, mask(plan_.tail)) : in);
    }
    return taken;
  }

  /// A constant that selection takes for a value: a choice by constant bits would become a blend of its own instead of
  /// a masked operation. Of a function's entry, to be there in all its blocks.
  Val opaqueMask(const std::vector<bool>& bits) {
    Val& mask = masks_[bits];
    if (mask) return mask;
    const auto saved = b_.saveIP();
    BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
    b_.SetInsertPoint(&entry, entry.begin());
    std::vector<llvm::Constant*> lanes;
    for (const bool bit : bits) lanes.push_back(llvm::ConstantFP::get(element_, bit ? 1 : 0));
    Val kept = b_.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {vector_}, {llvm::ConstantVector::get(lanes)});
    mask = b_.CreateFCmpOGT(kept, llvm::Constant::getNullValue(vector_));
    b_.restoreIP(saved);
    return mask;
  }

  /// At tap `k` of a tile whose place is known.
  Taken takenAt(int64_t k, const Tile& t) {
    const ir::WindowDim& w = rimEdge_->window;
    auto meets = [&](int64_t place) { return w.firstTap(place) <= k && k < w.endTap(place); };
    Taken taken;
    for (int64_t i = 0; rimRows_ && i < t.height; ++i)
      taken.rows.push_back(meets(t.place + i) ? nullptr : b_.getFalse());
    for (int64_t j = 0; !rimRows_ && j < t.width; ++j) {
      std::vector<bool> bits;
      bool all = true, none = true;
      for (int64_t l = 0; l < plan_.lanes; ++l) {
        const bool used = !t.tail || j + 1 < t.width || l < plan_.tail;
        const bool in = used && meets(t.place + j * plan_.lanes + l);
        bits.push_back(in);
        all = all && in == used;
        none = none && !in;
      }
      taken.columns.push_back(all ? nullptr : none ? b_.getFalse() : opaqueMask(bits));
    }
    return taken;
  }

  /// The sum over k of a tile at the rim: taps that all of its places have are a loop, those before and after stand one
  /// by one with what they meet.
  std::vector<Val> rimTaps(Val a, Val b, const Tile& t, std::vector<Val> sums) {
    const TapRange r = rim_.taps(rimEdge_->window, t.place, placesOf(t));
    auto some = [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        addOuterProduct(at(a, k * p_.a.col), at(b, k * p_.b.row), t, takenAt(k, t), sums);
        // Loads of the next tap stay behind: their values would not find registers.
        b_.CreateFence(llvm::AtomicOrdering::AcquireRelease, llvm::SyncScope::SingleThread);
      }
    };
    some(r.first, r.allFirst);
    if (r.allFirst < r.allEnd) {
      sums = trips(p_.sums.size(), int64(r.allFirst), int64(r.allEnd), false, a, b,
                   {t.height, t.width, t.tail, kInside}, sums);
    }
    some(r.allEnd, r.end);
    return sums;
  }
  int64_t placesOf(const Tile& t) const {
    return rimRows_ ? t.height : t.width * plan_.lanes - (t.tail ? plan_.lanes - plan_.tail : 0);
  }

  /// sums[i, j] += A[i] * B[j]: one column of A by one row of B.
  void addOuterProduct(Val a, Val b, const Tile& t, const Taken& taken, std::vector<Val>& sums) {
    const auto [height, width, tail, place] = t;
    std::vector<Val> row(static_cast<size_t>(width));
    for (int64_t j = 0; j < width; ++j) {
      Val from = at(b, j * plan_.lanes), some = taken.column(j);
      if (isNone(some)) continue;
      row[static_cast<size_t>(j)] = some ? static_cast<Val>(b_.CreateMaskedLoad(vector_, from, align(), some,
                                                                                llvm::Constant::getNullValue(vector_)))
                                         : load(from, !packed() && tail && j + 1 == width);
    }
    if (plan_.prefetchRows > 0) {
      for (int64_t j = 0; j < width; ++j)
        b_.CreateIntrinsic(
            llvm::Intrinsic::prefetch, {pointer_},
            {at(b, plan_.prefetchRows * p_.b.row + j * plan_.lanes), b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
    }
    for (int64_t i = 0; i < height; ++i) {
      Val some = taken.row(i), from = at(a, i * p_.a.row);
      if (isNone(some)) continue;
      Val x = splat(some ? b_.CreateSelect(some, from, b) : from);
      for (int64_t j = 0; j < width; ++j) {
        Val y = row[static_cast<size_t>(j)], which = some ? some : taken.column(j);
        if (!y) continue;
        Val& s = sums[static_cast<size_t>(i * width + j)];
        Val sum = b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x, y, s});
        s = which ? b_.CreateSelect(which, sum, s) : sum;
      }
    }
  }

  /// void tile(a, b, c): C[height x width vectors] = A[height x k] * B[k x width]. Constant strides; k is a rolled
  /// loop.
  Function* microkernel(const Tile& t) {
    Function*& f = kernels_[t];
    if (f) return f;
    const auto [height, width, tail, place] = t;
    const auto saved = b_.saveIP();
    std::vector<llvm::Type*> types(3, pointer_);
    types.resize(3 + trips_.size() + (place == kAnywhere ? 1 : 0), i64_);
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
    const std::string rim = place == kInside ? "" : place == kAnywhere ? "r" : "r" + std::to_string(place);
    f = Function::Create(
        type, llvm::GlobalValue::InternalLinkage,
        name_ + ".tile" + std::to_string(height) + "x" + std::to_string(width) + (tail ? "t" : "") + rim, m_);
    f->addFnAttr(llvm::Attribute::NoInline);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    for (unsigned i = 0; i < 3; ++i) f->addParamAttr(i, llvm::Attribute::NoAlias);
    auto* entry = BasicBlock::Create(c_, "entry", f);
    b_.SetInsertPoint(entry);
    masks_.clear();
    const int64_t ldc = direct_ ? epilogue_.rowStride() : maxWidth() * plan_.lanes;
    if (direct_ && level_ == Level::Full) {
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j)
          b_.CreateIntrinsic(
              llvm::Intrinsic::prefetch, {pointer_},
              {at(f->getArg(2), i * ldc + j * plan_.lanes), b_.getInt32(1), b_.getInt32(3), b_.getInt32(1)});
    }
    const std::vector<Val> sum =
        sumLoops(0, f->getArg(0), f->getArg(1), t,
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
  void tile(Val i0, Val j0, Val panel, const Tile& t) {
    const auto [height, width, tail, place] = t;
    Val a = bytes(a_, b_.CreateMul(i0, int64(p_.a.row)));
    auto sumTo = [&](Val c) {
      std::vector<Val> arguments = {a, panel, c};
      arguments.insert(arguments.end(), trips_.begin(), trips_.end());
      if (t.place == kAnywhere) arguments.push_back(rimRows_ ? i0 : j0);
      b_.CreateCall(microkernel(t), arguments);
    };
    if (direct_) {
      sumTo(bytes(out_, b_.CreateAdd(b_.CreateMul(i0, int64(epilogue_.rowStride())), j0)));
      return;
    }
    Val c = b_.CreateConstGEP1_64(b_.getInt8Ty(), scratch_, plan_.packBytes);
    if (turned_) {
      sumTo(bytes(c, b_.CreateMul(i0, int64(maxWidth() * plan_.lanes))));
      return;
    }
    sumTo(c);
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

  /// The parts of blocks [begin, end) that are at the rim and inside, in order: f(first, end, place).
  template <typename F>
  void eachPart(const Blocks& blocks, bool ofRim, int64_t begin, int64_t end, F f) {
    if (!ofRim) return f(begin, end, kInside);
    auto rim = [&](int64_t from, int64_t to) {
      if (from >= to) return;
      if (!rim_.fixed) return f(from, to, kAnywhere);
      for (; from < to; ++from) f(from, from + 1, blocks.start(from) * (rimRows_ ? 1 : plan_.lanes));
    };
    rim(begin, std::min(end, rim_.before));
    const int64_t from = std::max(begin, rim_.before), to = std::min(end, rim_.after);
    if (from < to) f(from, to, kInside);
    rim(std::max(begin, rim_.after), end);
  }

  /// `place`: of the panel, when columns are places.
  void rowBlocks(Val r0, Val r1, Val j0, Val panel, int64_t width, bool tail, int64_t place) {
    const Blocks& rows = plan_.rows;
    auto blocks = [&](int64_t begin, int64_t end, int64_t height) {
      eachPart(rows, rimEdge_ && rimRows_, begin, end, [&](int64_t from, int64_t to, int64_t rowPlace) {
        Val lo = from == 0 ? r0 : maximum(r0, int64(from)), hi = to == rows.count ? r1 : minimum(r1, int64(to));
        loop(lo, hi, 1,
             [&](Val r) { tile(start(rows, r), j0, panel, {height, width, tail, rimRows_ ? rowPlace : place}); });
      });
    };
    if (rows.larger > 0) blocks(0, rows.larger, rows.size + 1);
    if (rows.larger < rows.count) blocks(rows.larger, rows.count, rows.size);
  }

  /// Those of panels [c0, c1) that are in [begin, end), all of one width; `tail` when the last vector is not full.
  void panels(Val c0, Val c1, int64_t begin, int64_t end, Val r0, Val r1, int64_t width, bool tail) {
    eachPart(plan_.vectors, rimEdge_ && !rimRows_, begin, end, [&](int64_t from, int64_t to, int64_t place) {
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

  /// The first tap that meets an element at one of the places from `first` to `last`, and the end of those.
  std::pair<Val, Val> tapsAt(const ir::WindowDim& w, Val first, Val last) {
    auto taps = [&](Val place, int64_t beyond, Val least) {  // ceil(distance / dilation), in range
      Val distance = b_.CreateSub(int64(w.lo + beyond), b_.CreateMul(place, int64(w.stride)));
      Val up = b_.CreateSDiv(b_.CreateAdd(maximum(distance, int64(0)), int64(w.dilation - 1)), int64(w.dilation));
      return minimum(maximum(up, least), int64(w.taps));
    };
    Val begin = taps(last, 0, int64(0));
    return {begin, taps(first, w.extent, begin)};
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
      trips_.clear();
      for (const Product::Edge& e : p_.edges) {
        if (e.var >= p_.batch.size()) continue;
        const auto [begin, end] = tapsAt(e.window, batch_[e.var], batch_[e.var]);
        trips_.insert(trips_.end(), {begin, end});
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

EmittedProduct emitProduct(const Kernel& kernel, llvm::Module& module, const std::string& name, const VectorUnit& unit,
                           int threads, Level level) {
  if (kernel.product.depthwise) return emitDepthwise(kernel, module, name, unit.registerBytes, threads, level);
  return GemmEmitter(kernel, module, name, unit, threads, level).emit();
}

}  // namespace tenc::codegen::cpu
