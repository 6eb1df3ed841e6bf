#include "codegen/cuda/Schedule.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

#include "codegen/KernelShape.h"
#include "codegen/NativeTrips.h"
#include "codegen/ScalarBodies.h"
#include "codegen/cuda/AttentionSchedule.h"
#include "codegen/cuda/CudaText.h"
#include "codegen/cuda/FlatPlan.h"
#include "codegen/cuda/OnlineSums.h"
#include "codegen/cuda/ProductSchedule.h"
#include "codegen/cuda/RowShift.h"
#include "codegen/cuda/ScanSchedule.h"
#include "codegen/cuda/Sectors.h"
#include "ir/Loops.h"

namespace tenc::codegen::cuda {
namespace {

constexpr int kWidest = kVectorBytes;  // elements of a vector
constexpr int64_t kWarp = 32, kThreads = 256, kMostThreads = 1024, kMostOfBlock = 512, kMostBlocks = 65536;
constexpr int64_t kLeastRow = 8;           // inner points that are worth a team
constexpr int64_t kFewPoints = 32768;      // outer points that are too few to give each thread one
constexpr int64_t kManyToReduce = 64;      // inner points that are worth it then
constexpr int64_t kFewest = 4096;          // outer points of which each is worth some threads,
constexpr int64_t kSomeToReduce = 8;       // where it has so many inner ones
constexpr int64_t kWarpRow = 1024;         // elements of a row that one warp takes
constexpr int64_t kHeld = 32;              // elements of a row that a thread keeps in registers
constexpr int64_t kRegisters = 64;         // that all it keeps may take
constexpr int64_t kRegistersOfWhole = 40;  // where a block has as many threads as there can be, which have 64 each
constexpr int64_t kMostCode = 6000;        // of unrolled loops, in units of elementwiseCost
constexpr int64_t kMuchWider = 4, kLeastShifted = 16;
constexpr int64_t kGroups = 4, kElements = 16,
                  kMoreElements = 8;  // vectors of a thread, and elements, that keep memory busy

template <class F>
bool allAccesses(const Stage& s, F good) {
  return std::all_of(s.exprs.begin(), s.exprs.end(),
                     [&](const Expr& e) { return e.kind != Expr::Kind::Load || good(e.access); }) &&
         std::all_of(s.stores.begin(), s.stores.end(), [&](const Store& st) { return good(st.access); });
}

int vectorOfPoints(const Kernel& k) {
  if (k.outer.empty()) return 1;
  const size_t last = k.outer.size() - 1;
  int64_t width = kWidest, cost = 0;
  for (const Stage& s : k.stages) {
    const bool boxed = !s.outerLo.empty();
    const int of = vectorWidth(k, s, last, {k.outer[last], boxed ? s.outerLo[last] : 0, boxed ? s.outerHi[last] : 0});
    const bool indifferent =
        s.stores.empty() && allAccesses(s, [&](const Access& a) { return strideOf(a, last) == 0; });
    if (!indifferent) width = std::min<int64_t>(width, of);
    cost += costOf(s);
  }
  while (width > 1 && width * cost > kMostCode / 4) width /= 2;
  return static_cast<int>(width);
}

/// Where instructions take longer than memory, accesses of 8 bytes are as good, and half the code; not of random
/// numbers, four of which come from one block.
int vectorOfCode(const Kernel& k, int width) {
  constexpr int64_t kHeavy = 190, kEnoughBytes = 8;
  int64_t cost = 0, bytes = static_cast<int64_t>(kVectorBytes);
  for (const Stage& s : k.stages) {
    cost += costOf(s);
    for (const Expr& e : s.exprs)
      if (e.kind == Expr::Kind::Random) return width;
  }
  for (const Buffer& b : k.buffers) bytes = std::min(bytes, static_cast<int64_t>(ir::byteSize(b.dtype)));
  while (width > 1 && width * bytes > kEnoughBytes && width * cost > kHeavy) width /= 2;
  return width;
}

bool isLoop(const Kernel& k, const Stage& s) { return !isSerial(k, s) && trips(s.innerLo, s.innerHi) > 1; }

int vectorOfRows(const Kernel& k) {
  int width = kWidest;
  bool any = false;
  for (const Stage& s : k.stages) {
    if (!isLoop(k, s)) continue;
    const size_t variable = k.outer.size() + s.innerLo.size() - 1;
    width = std::min(width, vectorWidth(k, s, variable, {s.innerLo.back(), s.innerHi.back()}));
    any = true;
  }
  return any ? width : 1;
}

/// Registers for what is kept of a row, when a thread has `held` elements of it.
int64_t registersOf(const Kernel& k, int64_t held) {
  std::vector<bool> counted(k.buffers.size());
  int64_t bytes = 0;
  for (const Stage& s : k.stages)
    for (const Expr& e : s.exprs) {
      if (e.kind != Expr::Kind::Load || counted[e.access.buffer] || s.innerLo.empty()) continue;
      if (strideOf(e.access, k.outer.size() + s.innerLo.size() - 1) == 0) continue;
      counted[e.access.buffer] = true;
      bytes += std::max<int64_t>(4, static_cast<int64_t>(ir::byteSize(k.buffers[e.access.buffer].dtype))) * held;
    }
  return bytes / 4;
}

uint32_t clampedBlocks(int64_t n) { return static_cast<uint32_t>(std::clamp<int64_t>(n, 1, kMostBlocks)); }

/// Of Rows: how many threads share one, and how many are in a block.
class RowChoice {
 public:
  RowChoice(const Kernel& kernel, int64_t points, int64_t inner) : kernel_(kernel), points_(points), inner_(inner) {
    schedule_.family = Schedule::Family::Rows;
    schedule_.vector = vectorOfRows(kernel);
    groups_ = (inner + schedule_.vector - 1) / schedule_.vector;
    // Narrow ones are not worth the bounds of the first and last vector.
    if (const std::optional<RowShift> shift = rowShift(kernel, kWidest);
        shift && shift->width >= kMuchWider * schedule_.vector && shift->extent >= kLeastShifted) {
      widest_ = shift->width;
      shiftBy(shift->word);
    }
    for (const Stage& stage : kernel.stages) cost_ += isLoop(kernel, stage) ? costOf(stage) : 0;
    for (const Buffer& b : kernel.buffers) bytes_ = std::min(bytes_, static_cast<int64_t>(ir::byteSize(b.dtype)));
    const std::vector<bool> own = threadsOwn(kernel);
    for (size_t b = 0; b < own.size(); ++b)
      shared_ = shared_ || (kernel.buffers[b].role == Buffer::Role::Scratch && !own[b]);
  }

  Schedule choose() {
    if (!shared_ && sideBySide()) return schedule_;
    if (!shared_ && isShort()) {
      set(1, 128, true);
      return schedule_;
    }
    const int64_t warp = lanes(), block = warps(kMostOfBlock), whole = warps(kMostThreads);
    if (inner_ <= kWarpRow && fits(warp) && !isLong(warp) && !shared_)
      set(warp, 128, true);
    else if (const std::optional<OnlineSum> online = onlineSum(kernel_); online && online->alone && !shared_)
      onlineRows();
    else if (fits(block) && !shared_)
      set(block, block, true);
    else if (fits(whole) && registersOf(kernel_, held(whole)) <= kRegistersOfWhole && !shared_)
      set(whole, whole, true);
    else
      longRows();
    return schedule_;
  }

 private:
  /// Vectors that lie where memory has them. A warp loads four bytes a lane as fast as more; those are fewer elements
  /// that need bounds.
  void shiftBy(int width) {
    if (width <= schedule_.vector) return;
    schedule_.shifted = true;
    const std::optional<RowShift> shift = rowShift(kernel_, width);
    schedule_.vector = shift->width;
    groups_ = shift->groups();
  }

  /// Of a warp: as many as there are vectors, fewer where that is less work. Those ask for whole sectors together,
  /// unless many would be idle, and keep memory busy.
  int64_t lanes() const {
    constexpr double kLess = 0.95, kMuchLess = 0.8;
    constexpr int64_t kTogether = 64, kMany = kMultiprocessors * 512;
    int64_t best = std::clamp<int64_t>(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(groups_))), 4, kWarp);
    const auto share = [](int64_t some, int64_t all) { return static_cast<double>(some) / static_cast<double>(all); };
    for (int64_t team = best / 2; team >= 4 && groupsOf(team) <= atOnce(); team /= 2) {
      const int64_t together = team * schedule_.vector * bytes_;
      const bool idle = share(groupsOf(team) * team, groupsOf(best) * best) < kMuchLess;
      const bool suits = together >= kTogether / 2 && points_ * team >= kMany;
      const double less = together >= kTogether ? kLess : kMuchLess;
      if (idle || (suits && share(workOf(team), workOf(best)) < less)) best = team;
    }
    return best;
  }
  /// Whole warps of a block, of whose threads each has some vectors.
  int64_t warps(int64_t most) const {
    const int64_t some = std::clamp<int64_t>(kLongCode / (schedule_.vector * std::max<int64_t>(cost_, 1)), 1, atOnce());
    const int64_t least = std::max(some, (groups_ + most - 1) / most);
    int64_t best = 0;
    const int64_t more = std::max<int64_t>(2, kMoreElements / schedule_.vector);
    for (int64_t each = least; each <= least + more; ++each) {
      const int64_t team = wholeWarps((groups_ + each - 1) / each, most);
      if (best == 0 || (fits(team) && workOf(team) < workOf(best))) best = team;
    }
    return best;
  }
  /// Vectors of a thread, loaded at once, that keep memory busy.
  int64_t atOnce() const { return std::max<int64_t>(kGroups, kElements / schedule_.vector); }
  /// Of threads that share a row, in units of elementwiseCost: idle ones count, and what goes from one to others.
  int64_t workOf(int64_t team) const {
    constexpr int64_t kStep = 2, kOfWarps = 4, kPoint = 24;
    const int64_t lanes = std::min(team, kWarp),
                  steps = std::bit_width(static_cast<uint64_t>(lanes)) - 1 + (team > kWarp ? kOfWarps : 0);
    return team * (kPoint + held(team) * std::max<int64_t>(cost_, 1) +
                   kStep * steps * static_cast<int64_t>(kernel_.reductions.size()));
  }
  static int64_t wholeWarps(int64_t threads, int64_t most) {
    return std::clamp<int64_t>((threads + kWarp - 1) / kWarp * kWarp, kWarp, most);
  }
  int64_t groupsOf(int64_t team) const { return (groups_ + team - 1) / team; }
  int64_t held(int64_t team) const { return groupsOf(team) * schedule_.vector; }
  bool fits(int64_t team) const {
    return held(team) <= kHeld && registersOf(kernel_, held(team)) <= kRegisters && held(team) * cost_ <= kMostCode;
  }
  bool isLong(int64_t team) const { return groupsOf(team) > atOnce() && held(team) * cost_ > kLongCode; }

  void set(int64_t team, int64_t threads, bool unrolled) {
    schedule_.team = static_cast<int>(team);
    schedule_.threads = static_cast<uint32_t>(threads);
    schedule_.unrolled = unrolled;
    schedule_.blocks = clampedBlocks((points_ * team + threads - 1) / threads);
  }

  /// A few elements that several loops read, which are no vectors: a thread keeps them.
  bool isShort() const {
    constexpr int64_t kShort = 16;
    const auto loops = std::count_if(kernel_.stages.begin(), kernel_.stages.end(),
                                     [&](const Stage& s) { return isLoop(kernel_, s) && s.innerLo.size() == 1; });
    return loops > 1 && inner_ <= kShort && schedule_.vector < 4 && fits(1);
  }

  /// What is read across rows: as many of them a block as share a sector. All of a block's have to be there, as its
  /// threads wait for each other.
  bool sideBySide() {
    const int64_t rows = rowsOfSector(kernel_);
    if (rows == 1 || kernel_.outer.back() % rows != 0) return false;
    for (int64_t team = kWarp; team * rows <= kMostThreads; team *= 2) {
      if (!fits(team) || isLong(team)) continue;
      set(team, team * rows, true);
      schedule_.beside = static_cast<int>(rows);
      return true;
    }
    return false;
  }

  /// Rows that are read once and not kept: where there are enough, blocks are small, so that some load while others
  /// compute.
  void onlineRows() {
    constexpr int64_t kVectors = 8, kLeast = 128, kMost = 256, kEnough = 4 * kMultiprocessors;
    const int64_t most = points_ < kEnough ? kMostOfBlock : kMost;
    shiftBy(widest_);
    const int64_t team = std::max(kLeast, wholeWarps(groups_ / kVectors, most));
    set(team, team, false);
  }

  void longRows() {
    shiftBy(widest_);
    const int64_t team = wholeWarps(groups_, kMostOfBlock);
    set(team, team, false);
  }

  const Kernel& kernel_;
  const int64_t points_, inner_;
  int64_t groups_ = 1;  ///< vectors of a row
  int64_t cost_ = 0;    ///< of an element
  int64_t bytes_ = 8;   ///< of the smallest elements
  int widest_ = 1;      ///< of vectors that lie where memory has them; 1: they need not
  bool shared_ = false;
  Schedule schedule_;
};

/// Fewer columns a block, and more threads a column, while multiprocessors have nothing to do. The order of a sum is
/// that of the team, which follows from the shape alone.
Schedule columnSchedule(int64_t points, int64_t inner, int vector) {
  constexpr int64_t kLeastOfThread = 8, kMostTeam = 32;
  Schedule s;
  s.family = Schedule::Family::Columns;
  s.vector = vector;
  const auto blocks = [&] { return (points / s.vector + kWarp - 1) / kWarp; };
  while (s.vector > 1 && blocks() < kMultiprocessors) s.vector /= 2;
  s.team = 8;
  while (s.team < kMostTeam && points * s.team < kMultiprocessors * 1024 && inner / s.team >= 2 * kLeastOfThread)
    s.team *= 2;
  s.threads = static_cast<uint32_t>(kWarp * s.team);
  s.blocks = clampedBlocks(blocks());
  return s;
}

/// Trips may take very different times, so that few of them share a block while that keeps multiprocessors busy.
Schedule nativeSchedule(const Kernel& k) {
  constexpr int64_t kMostTrips = 128, kUnknown = 65536;
  Schedule s;
  s.family = Schedule::Family::Alone;
  const ir::Op* loop = loopOfApartTrips(k);
  if (loop == nullptr) return s;
  s.family = Schedule::Family::Trips;
  const int64_t trips = ir::tripCount(*loop).value_or(kUnknown);
  int64_t threads = kWarp;
  while (threads < kMostTrips && threads * kMultiprocessors < trips) threads *= 2;
  s.threads = static_cast<uint32_t>(threads);
  s.blocks = clampedBlocks((trips + threads - 1) / threads);
  return s;
}

/// The outer variable along which an elementwise kernel reads where it writes along the last one.
std::optional<size_t> turnedVariable(const Kernel& k) {
  constexpr int64_t kLeastSide = 16;
  constexpr size_t kMostTiles = 5;  // of 8 KiB
  if (k.outer.size() < 2 || k.outer.back() < kLeastSide) return std::nullopt;
  if (std::any_of(k.outer.begin(), k.outer.end(), [](int64_t n) { return n >= kNarrowRow; })) return std::nullopt;
  for (const Stage& s : k.stages)
    if (s.ordered || !s.reductions.empty() || trips(s.innerLo, s.innerHi) != 1) return std::nullopt;
  for (size_t v = 0; v + 1 < k.outer.size(); ++v) {
    size_t turned = 0;
    for (const Stage& s : k.stages)
      turned += static_cast<size_t>(std::count_if(s.exprs.begin(), s.exprs.end(), [&](const Expr& e) {
        return e.kind == Expr::Kind::Load && isTurned(k, e.access, v);
      }));
    if (turned > 0 && turned <= kMostTiles && k.outer[v] >= kLeastSide) return v;
  }
  return std::nullopt;
}

/// Neighbouring threads have neighbouring outer points.
Schedule pointSchedule(const Kernel& k, int64_t points, int64_t inner) {
  Schedule s;
  if (const std::optional<size_t> turned = turnedVariable(k)) {
    s.family = Schedule::Family::Turned;
    s.turned = *turned;
    s.threads = kThreads;
    int64_t tiles = 1;
    for (size_t v = 0; v < k.outer.size(); ++v)
      tiles *= v == *turned || v + 1 == k.outer.size() ? (k.outer[v] + kWarp - 1) / kWarp : k.outer[v];
    s.blocks = clampedBlocks(tiles);
    return s;
  }
  s.vector = vectorOfPoints(k);
  if (const int flat = flatWidth(k); flat > s.vector) {
    s.family = Schedule::Family::Flat;
    s.vector = flat;
  }
  s.vector = vectorOfCode(k, s.vector);
  if ((inner >= kManyToReduce && points < kFewPoints) || (inner >= kSomeToReduce && points < kFewest))
    return columnSchedule(points, inner, s.vector);
  // Few threads with a loop each: rather more of them.
  while (s.vector > 1 && inner > 1 && points / s.vector < kFewPoints) s.vector /= 2;
  const int64_t groups = (points + s.vector - 1) / s.vector;
  s.threads = static_cast<uint32_t>(std::clamp((groups + kWarp - 1) / kWarp * kWarp, kWarp, kThreads));
  s.blocks = clampedBlocks((groups + s.threads - 1) / s.threads);
  return s;
}

}  // namespace

std::vector<bool> varying(const Stage& s, size_t variable) {
  std::vector<bool> varies(s.exprs.size());
  for (size_t i = 0; i < s.exprs.size(); ++i) {
    const Expr& e = s.exprs[i];
    bool v = (e.kind == Expr::Kind::LoopVar && e.index == variable) || e.kind == Expr::Kind::Running ||
             e.kind == Expr::Kind::Reduced;
    for (ExprId a : e.args) v = v || varies[a];
    if (e.kind == Expr::Kind::Load) {
      v = strideOf(e.access, variable) != 0;
      for (const Access::Term& t : e.access.terms) v = v || varies[t.index];
    }
    varies[i] = v;
  }
  return varies;
}

int64_t costOf(const Expr& e) {
  constexpr int64_t kErf = 16, kRandom = 100;  // erf of f32 is two short polynomials
  if (e.kind == Expr::Kind::Random) return kRandom;
  if (e.kind != Expr::Kind::Op) return 1;
  return e.op == ir::OpKind::Erf && e.dtype != ir::DType::F64 ? kErf : elementwiseCost(e.op, e.dtype);
}

int64_t costOf(const Stage& s) {
  int64_t cost = 0;
  for (const Expr& e : s.exprs) cost += costOf(e);
  return cost;
}

bool isTurned(const Kernel& k, const Access& a, size_t variable) {
  return k.buffers[a.buffer].role == Buffer::Role::Input && a.terms.empty() && strideOf(a, variable) == 1 &&
         std::abs(strideOf(a, k.outer.size() - 1)) > 1;
}

bool isAcrossRows(const Kernel& k, const Stage& s, const Access& a) {
  if (k.outer.empty() || s.innerLo.empty() || !a.terms.empty() || k.buffers[a.buffer].role != Buffer::Role::Input)
    return false;
  for (size_t v = 0; v < k.outer.size(); ++v)
    if (!coversAll(k, s, v)) return false;
  return strideOf(a, k.outer.size() - 1) == 1 && std::abs(strideOf(a, k.outer.size() + s.innerLo.size() - 1)) > 1;
}

int vectorWidth(const Kernel& k, const Stage& s, size_t variable, std::initializer_list<int64_t> multiples) {
  if (s.ordered) return 1;
  const std::vector<bool> varies = varying(s, variable);
  int64_t width = kWidest;
  bool any = false;
  for (int64_t m : multiples) width = std::min(width, m == 0 ? width : m & -m);
  const auto suits = [&](const Access& a) {
    if (strideOf(a, variable) == 0) return true;
    for (const Access::Term& t : a.terms)
      if (varies[t.index]) return true;  // gathered one by one
    any = true;
    while (width > 1 && !isVector(k, s, a, variable, static_cast<int>(width))) width /= 2;
    return width > 1;
  };
  const bool all = allAccesses(s, suits) && std::all_of(s.stores.begin(), s.stores.end(), [&](const Store& st) {
                     return st.access.terms.empty() && strideOf(st.access, variable) == 1;
                   });
  return all && any ? static_cast<int>(width) : 1;
}

std::string Schedule::text() const {
  if (family == Family::Alone) return "one thread";
  std::string s = decimal(blocks) + " blocks of " + decimal(threads) + " threads, ";
  if (family == Family::Points) s += vector == 1 ? "a point a thread" : decimal(vector) + " points a thread";
  if (family == Family::Flat) s += decimal(vector) + " points a thread, also across the ends of rows";
  if (family == Family::Rows)
    s += decimal(team) + " of them a row" +
         (vector == 1 ? "" : " by vectors of " + decimal(vector) + (shifted ? " where memory has them" : "")) +
         (unrolled ? ", in registers" : "") +
         (beside > 0 ? ", " + decimal(beside) + " read together by way of shared memory" : "");
  if (family == Family::Turned) s += "tiles of 32 x 32, turned in shared memory";
  if (family == Family::Tiles)
    s += "tiles of " + decimal(tile.rows) + " x " + decimal(tile.columns) + ", " +
         (tile.onTensorCores()
              ? (groups > 0 ? "64 rows of them a warpgroup, "
                            : decimal(tile.warpRows) + " x " + decimal(tile.warpColumns) +
                                  " of them a warp on tensor cores, ") +
                    decimal(stages) + " stages of " + decimal(tile.depth) + " terms"
              : decimal(tile.threadRows) + " x " + decimal(tile.threadColumns) + " of them a thread" +
                    (tile.parts > 1 ? ", " + decimal(tile.parts) + " parts of the terms side by side" : ""));
  if (family == Family::Attention)
    s += decimal(tile.rows) + " queries a block by " + decimal(tile.columns) + " keys at a time" +
         (tile.onTensorCores() ? groups > 0 ? ", by warpgroups" : ", on tensor cores" : "");
  if (family == Family::Trips) s += "a trip a thread";
  if (family == Family::Columns) s += "tiles of " + decimal(32 * vector) + " columns";
  if (scan) s += ", running";
  return s;
}

bool isSerial(const Kernel& k, const Stage& s) {
  return s.ordered ||
         std::any_of(s.reductions.begin(), s.reductions.end(), [&](uint32_t r) { return k.reductions[r].running; });
}

bool isVector(const Kernel& k, const Stage& s, const Access& a, size_t variable, int width) {
  if (width <= 1 || strideOf(a, variable) != 1 || a.offset % width != 0) return false;
  if (static_cast<uint64_t>(width) * static_cast<uint64_t>(ir::byteSize(k.buffers[a.buffer].dtype)) > kVectorBytes)
    return false;
  for (size_t v = 0; v < a.strides.size(); ++v)
    if (v != variable && a.strides[v] % width != 0) return false;
  if (a.terms.empty()) return true;
  const std::vector<bool> varies = varying(s, variable);
  return std::all_of(a.terms.begin(), a.terms.end(),
                     [&](const Access::Term& t) { return t.stride % width == 0 && t.extent != 0 && !varies[t.index]; });
}

size_t vectorVariable(const Kernel& k, const Schedule& schedule, const Stage& s) {
  return schedule.family == Schedule::Family::Rows ? k.outer.size() + s.innerLo.size() - 1 : k.outer.size() - 1;
}

std::vector<bool> threadsOwn(const Kernel& k) {
  std::vector<bool> own(k.buffers.size());
  std::vector<const Access*> first(k.buffers.size());
  std::vector<const Stage*> stages(k.buffers.size());
  for (size_t b = 0; b < k.buffers.size(); ++b) own[b] = k.buffers[b].role == Buffer::Role::Scratch;
  for (const Stage& s : k.stages) {
    bool whole = isLoop(k, s);
    for (size_t v = 0; v < k.outer.size(); ++v) whole = whole && coversAll(k, s, v);
    allAccesses(s, [&](const Access& a) {
      const uint32_t b = a.buffer;
      if (first[b] == nullptr) first[b] = &a, stages[b] = &s;
      const bool same = whole && a.terms.empty() && a.offset == first[b]->offset && a.strides == first[b]->strides &&
                        s.innerLo == stages[b]->innerLo && s.innerHi == stages[b]->innerHi;
      // Each inner point has an element of its own.
      int64_t size = 1;
      bool dense = true;
      for (size_t i = s.innerLo.size(); i-- > 0; size *= s.innerHi[i] - s.innerLo[i])
        dense = dense && strideOf(a, k.outer.size() + i) == size;
      own[b] = own[b] && same && dense;
      return true;
    });
  }
  return own;
}

Schedule schedule(const Kernel& k, const Features& features) {
  if (k.kind == Kernel::Kind::Native) return nativeSchedule(k);
  if (k.kind == Kernel::Kind::Product) {
    const std::optional<Kernel> loops = asLoops(k);
    return loops ? schedule(*loops, features) : productSchedule(k, features);
  }
  if (k.kind == Kernel::Kind::Attention || k.kind == Kernel::Kind::AttentionGradient)
    return attentionSchedule(k, features);
  if (const std::optional<Schedule> scan = scanSchedule(k)) return *scan;
  int64_t points = 1, inner = 1;
  for (int64_t n : k.outer) points *= n;
  bool shares = false;
  for (const Stage& stage : k.stages) {
    if (isSerial(k, stage)) continue;
    inner = std::max(inner, trips(stage.innerLo, stage.innerHi));
  }
  for (const Buffer& b : k.buffers) shares = shares || b.role == Buffer::Role::Scratch;
  const Schedule rows = RowChoice(k, points, inner).choose();
  if (shares || (inner >= kManyToReduce && points < kFewPoints && k.outer.empty())) return rows;
  const Schedule across = pointSchedule(k, points, inner);
  const bool suits = inner >= kLeastRow || (inner > 1 && rows.team == 1 && across.vector == 1);
  return suits && sectorsOf(k, rows) <= sectorsOf(k, across) ? rows : across;
}

}  // namespace tenc::codegen::cuda
