#include "codegen/cpu/TileCode.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

namespace tenc::codegen::cpu {
namespace {

/// What loops count and step: in a register, or in the function's frame where there are too many.
using Place = std::variant<Gpr, Mem>;

class TileAssembler {
 public:
  TileAssembler(Assembler& to, const TileCode& tile) : a_(to), t_(tile), levels_(tile.loops.size()) {}

  void run() {
    allocate();
    begin();
    const int64_t sums = t_.height * t_.width;
    for (int64_t n = 0; n < sums; ++n) {
      if (t_.addsToC)
        a_.load(static_cast<int>(n), sumAt(Gpr::Rdx, n));
      else
        a_.clear(static_cast<int>(n));
    }
    loop(0);
    store();
    end();
  }

  static int registersFor(const TileCode& t) {
    const bool holdsMask = t.masksB && t.form.registerBytes < 64;
    return static_cast<int>(t.height * t.width + t.width + 1 + (holdsMask ? 1 : 0));
  }

 private:
  struct Level {
    Place a, b, count;
    std::optional<Place> trips, offsetA, offsetB;  ///< of a loop whose trips are arguments
  };
  static constexpr Gpr kA = Gpr::Rdi, kB = Gpr::Rsi, kC = Gpr::Rdx, kScratch = Gpr::Rax;
  static constexpr std::array kFree = {Gpr::Rcx, Gpr::R8,  Gpr::R9,  Gpr::R10, Gpr::R11, Gpr::Rbx,
                                       Gpr::Rbp, Gpr::R12, Gpr::R13, Gpr::R14, Gpr::R15};
  static constexpr size_t kKept = 5;  ///< from here on they are the caller's

  Assembler& a_;
  const TileCode& t_;
  std::vector<Level> levels_;
  Place met_, firstMet_;  ///< the element that row 0 meets, and at trip 0
  size_t used_ = 0;
  int32_t frame_ = 0;
  std::vector<Mem> numbers_;

  bool isLast(size_t level) const { return level + 1 == levels_.size(); }
  Mem slot() {
    frame_ += 8;
    return {Gpr::Rsp, frame_ - 8};
  }
  Place fresh() { return used_ < kFree.size() ? Place(kFree[used_++]) : Place(slot()); }

  /// Innermost loops first; what is read once for each of their runs comes last.
  void allocate() {
    for (int n = 0; n < t_.arguments; ++n) numbers_.push_back(slot());
    for (size_t l = levels_.size(); l-- > 0;) {
      levels_[l].a = l == 0 ? Place(kA) : fresh();
      levels_[l].b = l == 0 ? Place(kB) : fresh();
      levels_[l].count = fresh();
      if (isLast(l) && t_.places) met_ = fresh();
    }
    for (size_t l = levels_.size(); l-- > 0;) {
      if (!t_.loops[l].first) continue;
      levels_[l].trips = fresh();
      if (t_.loops[l].countIsArgument) continue;
      levels_[l].offsetA = fresh();
      levels_[l].offsetB = fresh();
    }
    if (t_.places) firstMet_ = fresh();
  }

  void begin() {
    const size_t kept = used_ > kKept ? used_ - kKept : 0;
    for (size_t r = 0; r < kept; ++r) a_.push(kFree[kKept + r]);
    if (frame_ > 0) a_.subtract(Gpr::Rsp, frame_);
    // Numbers go to the frame, those of registers first, before their registers are used for others.
    constexpr std::array kNumbers = {Gpr::Rcx, Gpr::R8, Gpr::R9};
    for (size_t n = 0; n < numbers_.size() && n < kNumbers.size(); ++n) a_.store(numbers_[n], kNumbers[n]);
    for (size_t n = kNumbers.size(); n < numbers_.size(); ++n) {
      const size_t above = kept + 1 + n - kNumbers.size();  // the return address is one
      a_.load(kScratch, {Gpr::Rsp, frame_ + static_cast<int32_t>(8 * above)});
      a_.store(numbers_[n], kScratch);
    }
    if (t_.prefetchC) {
      for (int64_t n = 0; n < t_.height * t_.width; ++n) a_.prefetch(sumAt(kC, n), t_.prefetchesWrites);
    }
    if (t_.masksB) a_.selectLanes(t_.tail, registersFor(t_) - 1);
    for (size_t l = 0; l < levels_.size(); ++l) {
      const TileCode::Loop& loop = t_.loops[l];
      if (!loop.first) continue;
      const auto first = static_cast<size_t>(*loop.first);
      if (loop.countIsArgument) {
        a_.load(kScratch, numbers_[first]);
        set(*levels_[l].trips, kScratch);
        continue;
      }
      a_.load(kScratch, numbers_[first + 1]);
      a_.subtract(kScratch, numbers_[first]);
      set(*levels_[l].trips, kScratch);
      a_.load(kScratch, numbers_[first]);
      a_.multiply(kScratch, kScratch, narrow(loop.stepA));
      set(*levels_[l].offsetA, kScratch);
      a_.load(kScratch, numbers_[first]);
      a_.multiply(kScratch, kScratch, narrow(loop.stepB));
      set(*levels_[l].offsetB, kScratch);
    }
    if (t_.places) {
      a_.load(kScratch, numbers_.back());
      a_.multiply(kScratch, kScratch, narrow(t_.places->stride));
      a_.add(kScratch, narrow(-t_.places->lo));
      set(firstMet_, kScratch);
    }
  }

  void end() {
    if (frame_ > 0) a_.add(Gpr::Rsp, frame_);
    for (size_t r = used_; r > kKept; --r) a_.pop(kFree[r - 1]);
    a_.leave();
  }

  static int32_t narrow(int64_t v) { return static_cast<int32_t>(v); }
  void set(Place to, Gpr from) {
    if (const auto* r = std::get_if<Gpr>(&to)) {
      if (*r != from) a_.move(*r, from);
    } else {
      a_.store(std::get<Mem>(to), from);
    }
  }
  /// The value in a register: its own, or that for what is read at once.
  Gpr get(Place from) {
    if (const auto* r = std::get_if<Gpr>(&from)) return *r;
    a_.load(kScratch, std::get<Mem>(from));
    return kScratch;
  }
  void copy(Place to, Place from, const std::optional<Place>& plus) {
    const auto* r = std::get_if<Gpr>(&to);
    const Gpr target = r != nullptr ? *r : kScratch;
    if (const auto* source = std::get_if<Gpr>(&from))
      a_.move(target, *source);
    else
      a_.load(target, std::get<Mem>(from));
    if (plus) {
      if (const auto* more = std::get_if<Gpr>(&*plus))
        a_.add(target, *more);
      else
        a_.add(target, std::get<Mem>(*plus));
    }
    if (r == nullptr) a_.store(std::get<Mem>(to), kScratch);
  }
  void step(Place p, int64_t by) {
    if (by != 0) std::visit([&](auto at) { a_.add(at, narrow(by)); }, p);
  }

  Mem sumAt(Gpr c, int64_t n) const {
    return {c, narrow(n / t_.width * t_.rowOfC + n % t_.width * t_.form.registerBytes)};
  }

  /// Trips of loop `level`, whose addresses stand where its first trip begins.
  void loop(size_t level) {
    const TileCode::Loop& loop = t_.loops[level];
    Level& l = levels_[level];
    if (l.trips)
      copy(l.count, *l.trips, std::nullopt);
    else if (loop.trips != 1)
      setCount(l.count, loop.trips);
    if (level == 0 && l.offsetA) {
      copy(l.a, l.a, l.offsetA);
      copy(l.b, l.b, l.offsetB);
    }
    if (isLast(level) && t_.places) copy(met_, firstMet_, std::nullopt);
    Assembler::Label head, done;
    if (loop.mayBeNone) {
      std::visit([&](auto at) { a_.compare(at, 0); }, l.count);
      a_.jumpIf(Assembler::If::LessOrEqual, done);
    }
    const bool repeats = l.trips.has_value() || loop.trips != 1;
    if (repeats && isLast(level)) a_.align(32);
    if (repeats) a_.bind(head);
    if (isLast(level)) {
      outerProduct(get(l.a), std::get<Gpr>(l.b));
    } else {
      copy(levels_[level + 1].a, l.a, levels_[level + 1].offsetA);
      copy(levels_[level + 1].b, l.b, levels_[level + 1].offsetB);
      this->loop(level + 1);
    }
    if (repeats) {
      step(l.a, loop.stepA);
      step(l.b, loop.stepB);
      if (isLast(level) && t_.places) step(met_, t_.places->dilation);
      std::visit([&](auto at) { a_.decrement(at); }, l.count);
      a_.jumpIf(Assembler::If::NotZero, head);
    }
    if (loop.mayBeNone) a_.bind(done);
  }
  void setCount(Place count, int64_t trips) {
    const auto* r = std::get_if<Gpr>(&count);
    a_.move(r != nullptr ? *r : kScratch, narrow(trips));
    if (r == nullptr) a_.store(std::get<Mem>(count), kScratch);
  }

  /// sums[i, j] += A[i] * B[j].
  void outerProduct(Gpr a, Gpr b) {
    const int64_t height = t_.height, width = t_.width;
    const int row = static_cast<int>(height * width), x = row + static_cast<int>(width);
    const auto at = [&](Gpr base, int64_t offset) { return Mem{base, narrow(offset)}; };
    for (int64_t j = 0; j < width; ++j) {
      const Mem from = at(b, t_.columnsOfB[static_cast<size_t>(j)]);
      if (t_.masksB && j + 1 == width)
        a_.loadSelected(row + static_cast<int>(j), from);
      else
        a_.load(row + static_cast<int>(j), from);
    }
    for (int64_t j = 0; t_.prefetchB && j < width; ++j)
      a_.prefetch(at(b, *t_.prefetchB + t_.columnsOfB[static_cast<size_t>(j)]), false);
    // One vector of B is multiplied by elements of A in memory, where instructions can.
    const bool fromMemory = width == 1 && t_.form.registerBytes == 64;
    for (int64_t i = 0; i < height; ++i) {
      Assembler::Label next;
      const bool mayMiss = t_.places && t_.places->mayMiss[static_cast<size_t>(i)];
      if (mayMiss) {
        const int64_t further = i * t_.places->stride;
        const Gpr first = get(met_);
        if (further != 0) a_.address(kScratch, at(first, further));
        a_.compare(further != 0 ? kScratch : first, narrow(t_.places->extent));
        a_.jumpIf(Assembler::If::AboveOrEqual, next);
      }
      const Mem element = at(a, i * t_.rowOfA);
      if (fromMemory) {
        a_.multiplyAddBroadcast(static_cast<int>(i), row, element);
      } else {
        a_.broadcast(x, element);
        for (int64_t j = 0; j < width; ++j)
          a_.multiplyAdd(static_cast<int>(i * width + j), row + static_cast<int>(j), x);
      }
      if (mayMiss) a_.bind(next);
    }
  }

  void store() {
    const int64_t sums = t_.height * t_.width;
    const auto masked = [&](int64_t n) { return t_.masksC && (n + 1) % t_.width == 0; };
    for (int64_t n = 0; n < sums; ++n)
      if (!masked(n)) a_.store(sumAt(kC, n), static_cast<int>(n));
    if (!t_.masksC) return;
    a_.selectLanes(t_.tail, static_cast<int>(sums));
    for (int64_t n = 0; n < sums; ++n)
      if (masked(n)) a_.storeSelected(sumAt(kC, n), static_cast<int>(n));
  }
};

}  // namespace

bool isAssembled(const TileCode& t) {
  constexpr int64_t kFarthest = 1 << 30;  // a sum of two of them is a distance, too
  const int registers = t.form.registerBytes == 64 ? 32 : 16;
  const bool empty = std::any_of(t.loops.begin(), t.loops.end(), [](const auto& l) { return !l.first && l.trips < 1; });
  if (empty || TileAssembler::registersFor(t) > registers) return false;
  std::vector<int64_t> distances = {t.height * t.rowOfA, t.height * t.rowOfC, t.prefetchB.value_or(0)};
  distances.insert(distances.end(), t.columnsOfB.begin(), t.columnsOfB.end());
  for (const TileCode::Loop& l : t.loops) distances.insert(distances.end(), {l.trips, l.stepA, l.stepB});
  if (t.places) {
    distances.insert(distances.end(),
                     {t.places->stride * t.height, t.places->lo, t.places->dilation, t.places->extent});
  }
  return std::all_of(distances.begin(), distances.end(), [](int64_t d) { return -kFarthest < d && d < kFarthest; });
}

void assembleTile(Assembler& to, const TileCode& tile) { TileAssembler(to, tile).run(); }

void assembleTurn(Assembler& a) {
  constexpr Gpr kSums = Gpr::Rdi, kTurned = Gpr::Rsi, kFirst = Gpr::Rdx, kRows = Gpr::Rcx, kVectors = Gpr::R8,
                kRow = Gpr::R9, kColumn = Gpr::Rax, kFrom = Gpr::R10, kTo = Gpr::R11, kAt = Gpr::Rbx, kLeft = Gpr::Rdx;
  const int size = a.form().elementBytes, together = 16 / size, lanes = a.form().registerBytes / size;
  a.load(kColumn, {Gpr::Rsp, 8});
  a.push(kAt);
  a.multiply(kColumn, kColumn, size);
  a.multiply(kRow, kRow, size);
  a.subtract(kRows, kFirst);
  a.move(kFrom, kFirst);
  a.multiply(kFrom, kRow);
  a.add(kSums, kFrom);
  a.multiply(kFirst, kFirst, size);
  a.add(kTurned, kFirst);
  Assembler::Label rows, vectors, done;
  a.compare(kRows, 0);
  a.jumpIf(Assembler::If::LessOrEqual, done);
  a.bind(rows);
  a.move(kAt, kSums);
  a.move(kTo, kTurned);
  a.move(kLeft, kVectors);
  a.align(32);
  a.bind(vectors);
  a.move(kFrom, kAt);
  for (int i = 0; i < together; ++i) {
    a.load(i, {kFrom});
    a.add(kFrom, kRow);
  }
  // Rows 0 and 1, and 2 and 3, are interleaved by elements, then both by pairs: each 16 bytes are then of one column.
  std::vector<int> columns;
  if (together == 2) {
    a.interleave(2, 0, 1, 8, false);
    a.interleave(3, 0, 1, 8, true);
    columns = {2, 3};
  } else {
    a.interleave(4, 0, 1, 4, false);
    a.interleave(5, 0, 1, 4, true);
    a.interleave(6, 2, 3, 4, false);
    a.interleave(7, 2, 3, 4, true);
    for (int i = 0; i < 4; ++i) a.interleave(i, 4 + i / 2, 6 + i / 2, 8, i % 2 != 0);
    columns = {0, 1, 2, 3};
  }
  for (int lane = 0; lane < lanes; ++lane) {
    a.storePart({kTo}, columns[static_cast<size_t>(lane % together)], lane / together);
    a.add(kTo, kColumn);
  }
  a.add(kAt, a.form().registerBytes);
  a.decrement(kLeft);
  a.jumpIf(Assembler::If::NotZero, vectors);
  for (int i = 0; i < together; ++i) a.add(kSums, kRow);
  a.add(kTurned, 16);
  a.subtract(kRows, together);
  a.jumpIf(Assembler::If::Greater, rows);
  a.bind(done);
  a.pop(kAt);
  a.leave();
}

}  // namespace tenc::codegen::cpu
