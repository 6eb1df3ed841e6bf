#include "codegen/cpu/TileCode.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>

#include "codegen/cpu/VectorAssembler.h"

namespace tenc::codegen::cpu {
namespace {

using Xbyak::Address;
using Xbyak::Reg64;

/// What loops count and step: in a register, or in the function's frame where there are too many.
using Place = std::variant<Reg64, Address>;

class TileAssembler : VectorAssembler {
 public:
  TileAssembler(const TileCode& tile, std::string_view listed)
      : VectorAssembler(tile.form, listed), t_(tile), levels_(tile.loops.size()) {}

  MachineCode run() {
    allocate();
    begin();
    const int sums = narrow(t_.height * t_.width);
    for (int n = 0; n < sums; ++n) {
      if (t_.addsToC) {
        load(n, sumAt(n));
      } else {
        clear(n);
      }
    }
    Label summed;
    for (const TileCode::Rim& rim : t_.rims) {
      Label other;
      cmp(numbers_.back(), narrow(rim.place));
      jne(other);
      beginRim(rim);
      loop(0);
      jmp(summed);
      L(other);
    }
    rim_ = nullptr;
    loop(0);
    if (!t_.rims.empty()) L(summed);
    storeSums();
    return end();
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
  static constexpr Reg64 kA = Xbyak::util::rdi, kB = Xbyak::util::rsi, kC = Xbyak::util::rdx,
                         kScratch = Xbyak::util::rax;
  static constexpr std::array kFree = {Xbyak::util::rcx, Xbyak::util::r8,  Xbyak::util::r9,  Xbyak::util::r10,
                                       Xbyak::util::r11, Xbyak::util::rbx, Xbyak::util::rbp, Xbyak::util::r12,
                                       Xbyak::util::r13, Xbyak::util::r14, Xbyak::util::r15};
  static constexpr size_t kKept = 5;  ///< from here on they are the caller's

  const TileCode& t_;
  std::vector<Level> levels_;
  Place met_, firstMet_;                ///< the element that row 0 meets, and at trip 0
  const TileCode::Rim* rim_ = nullptr;  ///< of the loops being written
  std::vector<uint32_t> masks_;         ///< what mask registers from kFirstMask on hold there
  static constexpr int kAnyMask = 2, kFirstMask = 4, kEndMask = 8;
  size_t used_ = 0;
  int frame_ = 0;
  std::vector<Address> numbers_;

  bool isLast(size_t level) const { return level + 1 == levels_.size(); }
  Address slot() {
    frame_ += 8;
    return qword[rsp + (frame_ - 8)];
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
    for (size_t r = 0; r < kept; ++r) push(kFree[kKept + r]);
    if (frame_ > 0) sub(rsp, frame_);
    // Numbers go to the frame, those of registers first, before their registers are used for others.
    constexpr std::array kNumbers = {Xbyak::util::rcx, Xbyak::util::r8, Xbyak::util::r9};
    for (size_t n = 0; n < numbers_.size() && n < kNumbers.size(); ++n) mov(numbers_[n], kNumbers[n]);
    for (size_t n = kNumbers.size(); n < numbers_.size(); ++n) {
      const size_t above = kept + 1 + n - kNumbers.size();  // the return address is one
      mov(kScratch, qword[rsp + (static_cast<size_t>(frame_) + 8 * above)]);
      mov(numbers_[n], kScratch);
    }
    for (int n = 0; t_.prefetchC && n < t_.height * t_.width; ++n)
      t_.prefetchesWrites ? prefetchw(sumAt(n)) : prefetcht0(sumAt(n));
    if (t_.masksB) selectLanes(t_.tail, registersFor(t_) - 1);
    for (size_t l = 0; l < levels_.size(); ++l) {
      const TileCode::Loop& loop = t_.loops[l];
      if (!loop.first) continue;
      const auto first = static_cast<size_t>(*loop.first);
      if (loop.countIsArgument) {
        mov(kScratch, numbers_[first]);
        set(*levels_[l].trips);
        continue;
      }
      mov(kScratch, numbers_[first + 1]);
      sub(kScratch, numbers_[first]);
      set(*levels_[l].trips);
      mov(kScratch, numbers_[first]);
      imul(kScratch, kScratch, narrow(loop.stepA));
      set(*levels_[l].offsetA);
      mov(kScratch, numbers_[first]);
      imul(kScratch, kScratch, narrow(loop.stepB));
      set(*levels_[l].offsetB);
    }
    if (t_.places) {
      mov(kScratch, numbers_.back());
      imul(kScratch, kScratch, narrow(t_.places->stride));
      add(kScratch, narrow(-t_.places->lo));
      set(firstMet_);
    }
  }

  MachineCode end() {
    if (frame_ > 0) add(rsp, frame_);
    for (size_t r = used_; r > kKept; --r) pop(kFree[r - 1]);
    return leave();
  }

  static int narrow(int64_t v) { return static_cast<int>(v); }
  /// From the scratch register.
  void set(const Place& to) {
    std::visit([&](const auto& place) { mov(place, kScratch); }, to);
  }
  /// The value in a register: its own, or that for what is read at once.
  Reg64 get(const Place& from) {
    if (const auto* r = std::get_if<Reg64>(&from)) return *r;
    mov(kScratch, std::get<Address>(from));
    return kScratch;
  }
  void copy(const Place& to, const Place& from, const std::optional<Place>& plus) {
    const auto* r = std::get_if<Reg64>(&to);
    const Reg64 target = r != nullptr ? *r : kScratch;
    std::visit([&](const auto& place) { mov(target, place); }, from);
    if (plus) std::visit([&](const auto& place) { add(target, place); }, *plus);
    if (r == nullptr) set(to);
  }
  void step(const Place& p, int64_t by) {
    if (by != 0) std::visit([&](const auto& place) { add(place, narrow(by)); }, p);
  }

  Address sumAt(int64_t n) const { return at(kC, n / t_.width * t_.rowOfC + n % t_.width * t_.form.registerBytes); }

  void beginRim(const TileCode::Rim& rim) {
    rim_ = &rim;
    masks_.clear();
    for (const TileCode::Rim::Trip& trip : rim.apart)
      for (const uint32_t lanes : trip.lanes) {
        const bool isKnown = lanes == 0 || lanes == allLanes() || std::ranges::find(masks_, lanes) != masks_.end();
        if (isKnown || masks_.size() == kEndMask - kFirstMask) continue;
        setMask(kFirstMask + narrow(std::ssize(masks_)), lanes);
        masks_.push_back(lanes);
      }
  }
  uint32_t allLanes() const { return (1U << (t_.form.registerBytes / t_.form.elementBytes)) - 1; }
  /// A mask register of some lanes, `other` if none holds them.
  int maskOf(uint32_t lanes, int other) {
    if (const auto found = std::ranges::find(masks_, lanes); found != masks_.end())
      return kFirstMask + narrow(found - masks_.begin());
    setMask(other, lanes);
    return other;
  }

  /// The innermost loop at the rim, with trips before and after it that some columns do not meet.
  void rimTrips() {
    const TileCode::Loop& loop = t_.loops.back();
    const Level& l = levels_.back();
    const Reg64 a = std::get<Reg64>(l.a), b = std::get<Reg64>(l.b);
    int64_t at = 0;  // the trip that the addresses are at
    const auto apart = [&](bool before) {
      for (const TileCode::Rim::Trip& trip : rim_->apart) {
        if ((trip.trip < rim_->allFirst) != before) continue;
        const int64_t further = trip.trip - at;
        rimProduct(a, b, further * loop.stepA, further * loop.stepB, trip.lanes);
      }
    };
    apart(true);
    if (const int64_t whole = rim_->allEnd - rim_->allFirst; whole > 0) {
      step(l.a, rim_->allFirst * loop.stepA);
      step(l.b, rim_->allFirst * loop.stepB);
      Label head;
      if (whole > 1) {
        std::visit([&](const auto& place) { mov(place, static_cast<uint64_t>(whole)); }, l.count);
        align(32);
        L(head);
      }
      outerProduct(a, b);
      at = rim_->allFirst;
      if (whole > 1) {
        step(l.a, loop.stepA);
        step(l.b, loop.stepB);
        std::visit([&](const auto& place) { dec(place); }, l.count);
        jnz(head);
        at = rim_->allEnd;
      }
    }
    apart(false);
  }

  /// sums[i, j] += A[i] * B[j], these bytes further on, in some lanes of each vector.
  void rimProduct(const Reg64& a, const Reg64& b, int64_t furtherA, int64_t furtherB,
                  const std::vector<uint32_t>& lanes) {
    const int height = narrow(t_.height), width = narrow(t_.width);
    const int row = height * width, x = row + width;
    // What is met is a range of columns: two vectors at most are met in part.
    int other = kAnyMask;
    std::vector<int> masks;
    for (const uint32_t some : lanes) {
      masks.push_back(some == 0 || some == allLanes() ? 0 : maskOf(some, other));
      if (masks.back() == other) ++other;
    }
    for (int j = 0; j < width; ++j) {
      const auto n = static_cast<size_t>(j);
      const Address from = at(b, furtherB + t_.columnsOfB[n]);
      if (lanes[n] == 0) continue;
      masks[n] != 0 ? loadMasked(row + j, from, masks[n]) : load(row + j, from);
    }
    for (int j = 0; t_.prefetchB && j < width; ++j)
      prefetcht0(at(b, furtherB + *t_.prefetchB + t_.columnsOfB[static_cast<size_t>(j)]));
    for (int i = 0; i < height; ++i) {
      broadcast(x, at(a, furtherA + i * t_.rowOfA));
      for (int j = 0; j < width; ++j) {
        const auto n = static_cast<size_t>(j);
        if (lanes[n] != 0) multiplyAdd(i * width + j, row + j, vec(x), masks[n]);
      }
    }
  }

  /// Trips of loop `level`, whose addresses stand where its first trip begins.
  void loop(size_t level) {
    if (isLast(level) && rim_ != nullptr) return rimTrips();
    const TileCode::Loop& loop = t_.loops[level];
    Level& l = levels_[level];
    if (l.trips)
      copy(l.count, *l.trips, std::nullopt);
    else if (loop.trips != 1)
      std::visit([&](const auto& place) { mov(place, static_cast<uint64_t>(loop.trips)); }, l.count);
    if (level == 0 && l.offsetA) {
      copy(l.a, l.a, l.offsetA);
      copy(l.b, l.b, l.offsetB);
    }
    if (isLast(level) && t_.places) copy(met_, firstMet_, std::nullopt);
    Label head, done;
    if (loop.mayBeNone) {
      std::visit([&](const auto& place) { cmp(place, 0); }, l.count);
      jle(done);
    }
    const bool repeats = l.trips.has_value() || loop.trips != 1;
    if (repeats && isLast(level)) align(32);
    if (repeats) L(head);
    if (isLast(level)) {
      outerProduct(get(l.a), std::get<Reg64>(l.b));
    } else {
      copy(levels_[level + 1].a, l.a, levels_[level + 1].offsetA);
      copy(levels_[level + 1].b, l.b, levels_[level + 1].offsetB);
      this->loop(level + 1);
    }
    if (repeats) {
      step(l.a, loop.stepA);
      step(l.b, loop.stepB);
      if (isLast(level) && t_.places) step(met_, t_.places->dilation);
      std::visit([&](const auto& place) { dec(place); }, l.count);
      jnz(head);
    }
    if (loop.mayBeNone) L(done);
  }

  /// sums[i, j] += A[i] * B[j].
  void outerProduct(const Reg64& a, const Reg64& b) {
    const int height = narrow(t_.height), width = narrow(t_.width);
    const int row = height * width, x = row + width;
    for (int j = 0; j < width; ++j) {
      const Address from = at(b, t_.columnsOfB[static_cast<size_t>(j)]);
      if (t_.masksB && j + 1 == width)
        loadSelected(row + j, from);
      else
        load(row + j, from);
    }
    for (int j = 0; t_.prefetchB && j < width; ++j)
      prefetcht0(at(b, *t_.prefetchB + t_.columnsOfB[static_cast<size_t>(j)]));
    // One vector of B is multiplied by elements of A in memory, where instructions can.
    const bool fromMemory = width == 1 && hasMasks();
    for (int i = 0; i < height; ++i) {
      Label next;
      const bool mayMiss = t_.places && t_.places->mayMiss[static_cast<size_t>(i)];
      if (mayMiss) {
        const int64_t further = i * t_.places->stride;
        const Reg64 first = get(met_);
        if (further != 0) lea(kScratch, at(first, further));
        cmp(further != 0 ? kScratch : first, narrow(t_.places->extent));
        jae(next);
      }
      const int64_t element = i * t_.rowOfA;
      if (fromMemory) {
        multiplyAdd(i, row, ptr_b[a + static_cast<size_t>(element)]);
      } else {
        broadcast(x, at(a, element));
        for (int j = 0; j < width; ++j) multiplyAdd(i * width + j, row + j, vec(x));
      }
      if (mayMiss) L(next);
    }
  }

  void storeSums() {
    const int sums = narrow(t_.height * t_.width);
    const auto masked = [&](int n) { return t_.masksC && (n + 1) % t_.width == 0; };
    for (int n = 0; n < sums; ++n)
      if (!masked(n)) store(sumAt(n), n);
    if (!t_.masksC) return;
    selectLanes(t_.tail, sums);
    for (int n = 0; n < sums; ++n)
      if (masked(n)) storeSelected(sumAt(n), n);
  }
};

}  // namespace

bool isAssembled(const TileCode& t) {
  constexpr int64_t kFarthest = 1 << 29;  // a sum of three of them is a distance, too
  const int registers = t.form.registerBytes == 64 ? 32 : 16;
  if (!t.rims.empty() && t.form.registerBytes < 64) return false;
  const bool empty = std::any_of(t.loops.begin(), t.loops.end(), [](const auto& l) { return !l.first && l.trips < 1; });
  if (empty || TileAssembler::registersFor(t) > registers) return false;
  std::vector<int64_t> distances = {t.height * t.rowOfA, t.height * t.rowOfC, t.prefetchB.value_or(0)};
  distances.insert(distances.end(), t.columnsOfB.begin(), t.columnsOfB.end());
  for (const TileCode::Loop& l : t.loops) distances.insert(distances.end(), {l.trips, l.stepA, l.stepB});
  for (const TileCode::Rim& rim : t.rims) {
    const TileCode::Loop& l = t.loops.back();
    distances.insert(distances.end(), {rim.place, l.trips * l.stepA, l.trips * l.stepB});
  }
  if (t.places) {
    distances.insert(distances.end(),
                     {t.places->stride * t.height, t.places->lo, t.places->dilation, t.places->extent});
  }
  return std::all_of(distances.begin(), distances.end(), [](int64_t d) { return -kFarthest < d && d < kFarthest; });
}

MachineCode assembledTile(const TileCode& tile, std::string_view listed) { return TileAssembler(tile, listed).run(); }

}  // namespace tenc::codegen::cpu
