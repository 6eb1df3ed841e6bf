#include "codegen/cpu/GemmTiles.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <tuple>

#include "codegen/cpu/Jit.h"

namespace tenc::codegen::cpu {
using llvm::BasicBlock;
using llvm::Function;
using Val = llvm::Value*;

namespace {
constexpr int64_t kRun = 256;  // elements of a row that are widened at a time: all rows in the first cache

bool isNone(Val bits) {
  auto* c = llvm::dyn_cast_or_null<llvm::Constant>(bits);
  return c && c->isNullValue();
}

}  // namespace

GemmTiles::GemmTiles(const Product& product, llvm::Module& module, const std::string& name, const TiledProduct& plan,
                     const GemmRim& rim, int64_t rowStride, Level level, AssembledForm form)
    : ProductEmitter(product, module, name, plan.lanes),
      level_(level),
      form_(form),
      plan_(plan),
      rim_(rim),
      rowStride_(rowStride),
      tripArguments_(2 * static_cast<size_t>(
                             std::count_if(product.edges.begin(), product.edges.end(),
                                           [&](const Product::Edge& e) { return e.var < product.batch.size(); }))) {}

/// The loops of the sum from number `level` on, the last of them over k; the tile's sums go through all of them in
/// registers. Returns the sums, with the builder behind the loops.
std::vector<Val> GemmTiles::sumLoops(size_t level, Val a, Val b, const Tile& t, const std::vector<Val>& sums) {
  const bool innermost = level == p_.sums.size();
  if (innermost && rim_.rows && t.place == kBlock) return rowTaps(a, b, t, sums);
  if (innermost && rim_.edge && t.place >= 0) return rimTaps(a, b, t, sums);
  if (innermost && t.place == kBlock) return blockTaps(a, b, t, sums);
  const BatchEdge edge = batchEdge(p_, level);
  Val lo = int64(0), hi = int64(innermost ? p_.k : p_.sums[level].extent);
  if (plan_.split()) hi = b_.GetInsertBlock()->getParent()->getArg(3);
  bool mayBeNone = edge.mayBeNone;
  if (edge.edge) {
    Function* f = b_.GetInsertBlock()->getParent();
    lo = f->getArg(static_cast<unsigned>(3 + edge.argument));
    hi = f->getArg(static_cast<unsigned>(4 + edge.argument));
  } else if (innermost && t.place == kAnywhere) {
    std::tie(lo, hi) = tapsAt(rim_.edge->window, place(), b_.CreateAdd(place(), int64(placesOf(t) - 1)));
    mayBeNone = true;
  }
  return trips(level, lo, hi, mayBeNone, a, b, t, sums);
}

/// Trips [lo, hi) of the sum of one level, and all of the inner ones.
std::vector<Val> GemmTiles::trips(size_t level, Val lo, Val hi, bool mayBeNone, Val a, Val b, const Tile& t,
                                  const std::vector<Val>& sums) {
  const bool innermost = level == p_.sums.size();
  const int64_t stepA = innermost ? p_.a.col : p_.sums[level].a;
  const int64_t stepB = packed() ? t.width * plan_.lanes : innermost ? p_.b.row : p_.sums[level].b;
  if (auto* first = llvm::dyn_cast<llvm::ConstantInt>(lo); !first || !first->isZero()) {
    a = bytes(a, b_.CreateMul(lo, int64(stepA)));
    b = bytes(b, b_.CreateMul(lo, int64(stepB)));
  }
  return sumLoop(lo, hi, mayBeNone, {{a, stepA}, {b, stepB}}, sums, [&](Val k, const Values& at, Values next) {
    if (!innermost) return sumLoops(level + 1, at[0], at[1], t, next);
    addOuterProduct(at[0], at[1], t, t.place == kAnywhere ? takenAt(k, t) : Taken(), next);
    return next;
  });
}

Val GemmTiles::place() const {
  Function* f = b_.GetInsertBlock()->getParent();
  return f->getArg(static_cast<unsigned>(f->arg_size() - 1));
}

/// At tap `k` of a tile of columns that is told its place.
GemmTiles::Taken GemmTiles::takenAt(Val k, const Tile& t) {
  const ir::WindowDim& w = rim_.edge->window;
  Val from = b_.CreateAdd(b_.CreateMul(place(), int64(w.stride)),
                          b_.CreateSub(b_.CreateMul(k, int64(w.dilation)), int64(w.lo)));
  Taken taken;
  for (int64_t j = 0; j < t.width; ++j) {
    std::vector<llvm::Constant*> apart;
    for (int64_t l = 0; l < plan_.lanes; ++l)
      apart.push_back(llvm::cast<llvm::Constant>(int64((j * plan_.lanes + l) * w.stride)));
    const auto lanes = static_cast<unsigned>(plan_.lanes);
    Val element = b_.CreateAdd(b_.CreateVectorSplat(lanes, from), llvm::ConstantVector::get(apart));
    Val in = b_.CreateICmpULT(element, b_.CreateVectorSplat(lanes, int64(w.extent)));
    taken.columns.push_back(t.tail && j + 1 == t.width ? b_.CreateAnd(in, tailMask(plan_.lanes, plan_.tail)) : in);
  }
  return taken;
}

/// A constant that selection takes for a value: a choice by constant bits would become a blend of its own instead of
/// a masked operation. Of a function's entry, to be there in all its blocks.
Val GemmTiles::opaqueMask(const std::vector<bool>& bits) {
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

/// At tap `k` of a tile of columns whose place is known.
GemmTiles::Taken GemmTiles::takenAt(int64_t k, const Tile& t) {
  const ir::WindowDim& w = rim_.edge->window;
  auto meets = [&](int64_t place) { return w.firstTap(place) <= k && k < w.endTap(place); };
  Taken taken;
  for (int64_t j = 0; j < t.width; ++j) {
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

/// Of a tile whose rows are places: which of them meet padding in some block.
std::vector<bool> GemmTiles::rowsThatMayMiss(const Tile& t) const {
  const ir::WindowDim& w = rim_.edge->window;
  std::vector<bool> mayMiss(static_cast<size_t>(t.height), false);
  for (const int64_t first : rimPlaces(t))
    for (int64_t i = 0; i < t.height; ++i)
      if (w.firstTap(first + i) > 0 || w.endTap(first + i) < w.taps) mayMiss[static_cast<size_t>(i)] = true;
  return mayMiss;
}

/// The sum over k of a tile whose rows are places, at any block: rows that meet padding in some block are left out by
/// a branch where they do.
std::vector<Val> GemmTiles::rowTaps(Val a, Val b, const Tile& t, const std::vector<Val>& sums) {
  const ir::WindowDim& w = rim_.edge->window;
  const std::vector<bool> mayMiss = rowsThatMayMiss(t);
  const std::vector<Walk> walks = {
      {a, p_.a.col},
      {b, packed() ? t.width * plan_.lanes : p_.b.row},
      {b_.CreateSub(b_.CreateMul(place(), int64(w.stride)), int64(w.lo)), w.dilation}};  // where the tap meets row 0
  return sumLoop(int64(0), int64(p_.k), false, walks, sums, [&](Val, const Values& at, Values next) {
    Taken taken;
    taken.row = [&](int64_t i) -> Val {
      if (!mayMiss[static_cast<size_t>(i)]) return nullptr;
      return b_.CreateICmpULT(b_.CreateAdd(at[2], int64(i * w.stride)), int64(w.extent));
    };
    addOuterProduct(at[0], at[1], t, taken, next);
    return next;
  });
}

/// The sum over k of a tile of columns at the rim: taps that all of its places have are a loop, those before and after
/// stand one by one with what they meet.
std::vector<Val> GemmTiles::rimTaps(Val a, Val b, const Tile& t, std::vector<Val> sums) {
  const TapRange r = Rim::taps(rim_.edge->window, t.place, placesOf(t));
  addTaps(r.first, r.allFirst, a, b, t, sums);
  if (r.allFirst < r.allEnd) {
    sums = trips(p_.sums.size(), int64(r.allFirst), int64(r.allEnd), false, a, b, {t.height, t.width, t.tail, kInside},
                 sums);
  }
  addTaps(r.allEnd, r.end, a, b, t, sums);
  return sums;
}

/// Taps [begin, end) of a tile whose place is known, one by one.
void GemmTiles::addTaps(int64_t begin, int64_t end, Val a, Val b, const Tile& t, std::vector<Val>& sums) {
  for (int64_t k = begin; k < end; ++k) {
    addOuterProduct(at(a, k * p_.a.col), at(b, k * p_.b.row), t, takenAt(k, t), sums);
    // Loads of the next tap stay behind: their values would not find registers.
    b_.CreateFence(llvm::AtomicOrdering::AcquireRelease, llvm::SyncScope::SingleThread);
  }
}

void GemmTiles::findWholeTaps(const Tile& t) {
  wholeTaps_ = {int64(0), int64(p_.k)};
  for (const int64_t at : rimPlaces(t)) {
    const TapRange r = Rim::taps(rim_.edge->window, at, placesOf(t));
    Val here = b_.CreateICmpEQ(place(), int64(at));
    wholeTaps_ = {b_.CreateSelect(here, int64(r.allFirst), wholeTaps_.first),
                  b_.CreateSelect(here, int64(r.allEnd), wholeTaps_.second)};
  }
}

/// The same of a tile at any block: the loop is that of all blocks, and each at the rim has its taps before and after.
std::vector<Val> GemmTiles::blockTaps(Val a, Val b, const Tile& t, std::vector<Val> sums) {
  bool mayBeNone = false;
  auto apart = [&](bool before) {
    for (const int64_t at : rimPlaces(t)) {
      const TapRange r = Rim::taps(rim_.edge->window, at, placesOf(t));
      mayBeNone = mayBeNone || r.allFirst >= r.allEnd;
      const int64_t begin = before ? r.first : r.allEnd, end = before ? r.allFirst : r.end;
      if (begin >= end) continue;
      Function* f = b_.GetInsertBlock()->getParent();
      BasicBlock* from = b_.GetInsertBlock();
      auto *here = BasicBlock::Create(c_, "here", f), *next = BasicBlock::Create(c_, "next", f);
      b_.CreateCondBr(b_.CreateICmpEQ(place(), int64(at)), here, next);
      b_.SetInsertPoint(here);
      std::vector<Val> added = sums;
      addTaps(begin, end, a, b, {t.height, t.width, t.tail, at}, added);
      here = b_.GetInsertBlock();
      b_.CreateBr(next);
      b_.SetInsertPoint(next);
      for (size_t n = 0; n < sums.size(); ++n) {
        auto* either = b_.CreatePHI(vector_, 2);
        either->addIncoming(sums[n], from);
        either->addIncoming(added[n], here);
        sums[n] = either;
      }
    }
  };
  apart(true);
  sums = trips(p_.sums.size(), wholeTaps_.first, wholeTaps_.second, mayBeNone, a, b,
               {t.height, t.width, t.tail, kInside}, sums);
  apart(false);
  return sums;
}

/// sums[i, j] += A[i] * B[j]: one column of A by one row of B.
void GemmTiles::addOuterProduct(Val a, Val b, const Tile& t, const Taken& taken, std::vector<Val>& sums) {
  const auto [height, width, tail, place] = t;
  std::vector<Val> row(static_cast<size_t>(width));
  for (int64_t j = 0; j < width; ++j) {
    Val from = at(b, columnsBefore(j)), some = taken.column(j);
    if (isNone(some)) continue;
    if (some == nullptr && !packed() && tail && j + 1 == width) some = tailMask(plan_.lanes, plan_.tail);
    row[static_cast<size_t>(j)] = load(from, some);
  }
  if (plan_.prefetchRows > 0) {
    for (int64_t j = 0; j < width; ++j) prefetch(at(b, plan_.prefetchRows * p_.b.row + columnsBefore(j)), false, 3);
  }
  for (int64_t i = 0; i < height; ++i) {
    auto addRow = [&] {
      const auto first = sums.begin() + i * width;
      std::vector<Val> next(first, first + width);
      Val x = splat(at(a, i * p_.a.row));
      for (int64_t j = 0; j < width; ++j) {
        Val y = row[static_cast<size_t>(j)], which = taken.column(j);
        if (!y) continue;
        Val& s = next[static_cast<size_t>(j)];
        Val sum = b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x, y, s});
        s = which ? b_.CreateSelect(which, sum, s) : sum;
      }
      return next;
    };
    const auto first = sums.begin() + i * width;
    Val meets = taken.row ? taken.row(i) : nullptr;
    const std::vector<Val> next = meets ? emitIf(b_, meets, {first, first + width}, addRow) : addRow();
    std::copy(next.begin(), next.end(), first);
  }
}

/// Adds the terms of one step, of B at `b`; a null element of A is 0.
void GemmTiles::addTerms(NarrowTerms& terms, const std::function<Val(size_t part, int64_t row)>& elementOfA, Val b,
                         const Tile& t, std::vector<Val>& sums) {
  const int64_t row = t.width * plan_.lanes;
  for (size_t part = 0; part < terms.parts(); ++part) {
    std::vector<Val> columns;
    for (int64_t j = 0; j < t.width; ++j)
      columns.push_back(load(at(b, static_cast<int64_t>(part) * row + j * plan_.lanes)));
    for (int64_t i = 0; i < t.height; ++i) {
      Val element = elementOfA(part, i);
      for (int64_t j = 0; j < t.width; ++j) {
        Val& s = sums[static_cast<size_t>(i * t.width + j)];
        s = terms.add(element, columns[static_cast<size_t>(j)], s);
      }
    }
  }
}

/// Whether the tile's rows of A are widened in vectors, a run at a time, before they are used: an element that is
/// widened by itself takes several instructions, which tiles of 32-byte vectors wait for.
bool GemmTiles::widensRows() const {
  constexpr int kLanes32 = 8;
  return plan_.lanes <= kLanes32 && level_ == Level::Full &&
         (plan_.terms == Terms::Widened || plan_.terms == Terms::WidenedPairs) && p_.a.col == 1 &&
         p_.k >= 2 * plan_.lanes;
}

/// Of each row, `count` elements from `a` on, to rows of kRun elements.
void GemmTiles::widenRows(NarrowTerms& terms, Val a, Val wide, int64_t rows, int64_t count) {
  const int64_t whole = count / plan_.lanes * plan_.lanes;
  for (int64_t i = 0; i < rows; ++i) {
    Val from = operandAt(a, i * p_.a.row), to = at(wide, i * kRun);
    loop(int64(0), int64(whole), plan_.lanes,
         [&](Val k) { store(terms.loadAlong(operandBytes(from, k)), bytes(to, k)); });
    if (whole == count) continue;
    // The last ones are stored in a whole vector: a row of kRun elements has room.
    Val mask = tailMask(plan_.lanes, static_cast<int>(count - whole));
    store(terms.widened(terms.load(operandAt(from, whole), mask)), at(to, whole));
  }
}

/// The same sums by rows of A that are widened first.
std::vector<Val> GemmTiles::widenedSums(NarrowTerms& terms, Val a, Val b, const Tile& t, std::vector<Val> sums) {
  const int64_t steps = terms.steps(), step = static_cast<int64_t>(terms.parts()) * t.width * plan_.lanes;
  BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  auto* wide = llvm::IRBuilder<>(&entry, entry.begin())
                   .CreateAlloca(llvm::ArrayType::get(element_, static_cast<uint64_t>(t.height * kRun)));
  wide->setAlignment(llvm::Align(64));
  auto run = [&](Val rows, Val panel, int64_t count, const std::vector<Val>& next) {
    widenRows(terms, rows, wide, t.height, count);
    return sumLoop(int64(0), int64(count / steps), false, {{panel, step}, {wide, steps}}, next,
                   [&](Val, const Values& from, Values to) {
                     addTerms(
                         terms,
                         [&](size_t part, int64_t i) { return splat(at(from[1], i * kRun + terms.placeOf(part))); },
                         from[0], t, to);
                     return to;
                   });
  };
  const int64_t runs = p_.k / kRun, rest = (p_.k - runs * kRun) / steps * steps;
  if (runs > 0)
    sums = sumLoop(int64(0), int64(runs), false, {{b, kRun / steps * step}}, sums,
                   [&](Val n, const Values& panel, const Values& next) {
                     return run(operandBytes(a, b_.CreateMul(n, int64(kRun))), panel[0], kRun, next);
                   });
  if (rest > 0) sums = run(operandAt(a, runs * kRun), at(b, runs * kRun / steps * step), rest, sums);
  return sums;
}

/// The sum over k of narrow operands; B is a packed panel.
std::vector<Val> GemmTiles::narrowSums(Val a, Val b, const Tile& t, std::vector<Val> sums) {
  NarrowTerms terms(b_, p_, plan_.terms, plan_.lanes);
  const int64_t steps = terms.steps(), row = t.width * plan_.lanes, whole = p_.k / steps;
  if (isShifted(plan_.terms)) {
    for (int64_t n = 0; n < t.height * t.width; ++n)
      sums[static_cast<size_t>(n)] = load(at(b, (plan_.packedRows - 1) * row + n % t.width * plan_.lanes));
  }
  auto addNarrow = [&](Val x, Val y, int64_t present, std::vector<Val>& to) {
    addTerms(
        terms, [&](size_t part, int64_t i) { return terms.ofA(part, operandAt(x, i * p_.a.row), present); }, y, t, to);
  };
  const int64_t step = static_cast<int64_t>(terms.parts()) * row;
  Val state = terms.beginSums();
  if (widensRows()) {
    sums = widenedSums(terms, a, b, t, sums);
  } else {
    sums = sumLoop(int64(0), int64(whole), false, {{b, step}}, sums, [&](Val k, const Values& panel, Values next) {
      addNarrow(operandBytes(a, b_.CreateMul(k, int64(steps * p_.a.col))), panel[0], steps, next);
      return next;
    });
  }
  if (p_.k % steps != 0) addNarrow(operandAt(a, whole * steps * p_.a.col), at(b, whole * step), p_.k % steps, sums);
  terms.endSums(state);
  return sums;
}

Function* GemmTiles::of(Tile t) {
  // A packed panel is full, and so are sums in scratch memory.
  if (packed() && !plan_.sums.direct && rim_.edge == nullptr) t.tail = false;
  Function*& f = made_[t];
  if (f) return f;
  const auto [height, width, tail, place] = t;
  std::vector<llvm::Type*> types(3, pointer_);
  types.resize(3 + tripArguments_ + (isTold(place) || plan_.split() ? 1 : 0), i64_);
  const std::string rim = place == kInside ? "" : isTold(place) ? "r" : "r" + std::to_string(place);
  f = createLocalFunction(
      m_, name_ + ".tile" + std::to_string(height) + "x" + std::to_string(width) + (tail ? "t" : "") + rim, types, 3);
  if (plan_.assembled && form_ != AssembledForm::None) {
    TileCode code = tileCode(p_, plan_, height, width, tail, rowStride_);
    if (place == kBlock && rim_.rows) meetPadding(code, *rim_.edge, rowsThatMayMiss(t));
    if (place == kBlock && !rim_.rows) meetPadding(code, plan_, rim_, tail);
    code.prefetchesWrites = vectorUnit(m_).prefetchesWrites;
    giveCode(*f, form_, [&](std::string_view listed) { return assembledTile(code, listed); });
    return f;
  }
  auto* entry = BasicBlock::Create(c_, "entry", f);
  b_.SetInsertPoint(entry);
  masks_.clear();
  if (place == kBlock && !rim_.rows) findWholeTaps(t);
  if (plan_.sums.direct && level_ == Level::Full) {
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j) prefetch(at(f->getArg(2), i * rowStride_ + j * plan_.lanes), true, 3);
  }
  std::vector<Val> sum(static_cast<size_t>(height * width), llvm::Constant::getNullValue(vector_));
  for (int64_t n = 0; plan_.split() && n < height * width; ++n)
    sum[static_cast<size_t>(n)] = load(at(f->getArg(2), n / width * rowStride_ + n % width * plan_.lanes));
  sum = plan_.terms == Terms::Same ? sumLoops(0, f->getArg(0), f->getArg(1), t, sum)
                                   : narrowSums(f->getArg(0), f->getArg(1), t, sum);
  for (int64_t i = 0; i < height; ++i)
    for (int64_t j = 0; j < width; ++j)
      store(sum[static_cast<size_t>(i * width + j)], at(f->getArg(2), i * rowStride_ + j * plan_.lanes),
            plan_.sums.direct && tail && j + 1 == width ? tailMask(plan_.lanes, plan_.tail) : nullptr);
  b_.CreateRetVoid();
  return f;
}

}  // namespace tenc::codegen::cpu
