#include "codegen/cuda/ScanSchedule.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "codegen/KernelShape.h"

namespace tenc::codegen::cuda {
namespace {

constexpr int64_t kWarp = 32, kWarpsThreads = 128, kMostTeam = 256, kMostBlocks = 65536;
constexpr int64_t kLeastRow = 8;             // elements that are worth a team
constexpr int64_t kLeastColumn = 32;         // the same of a column
constexpr int64_t kManyThreads = 132 * 512;  // that have enough loads under way, some more than which is no better
constexpr int64_t kManyColumns = 4 * kManyThreads;  // that need no teams
constexpr int64_t kElements = 8;                    // of a row that a thread has at a time
constexpr int64_t kRows = 16;                       // the same of a column
constexpr int64_t kMostCode = 3000;                 // of what is unrolled, in units of elementwiseCost

/// Of stages that scan or come after it.
bool suits(const Kernel& k, const Stage& s) {
  if (s.ordered) return false;
  if (s.innerLo.empty()) return s.reductions.empty();
  return isScan(s) && s.reductions.size() == 1 && k.reductions[s.reductions[0]].running;
}

int64_t lengthOf(const Stage& s) { return std::max<int64_t>(0, s.innerHi[0] - s.innerLo[0]); }

template <class F>
void eachAccess(const Stage& s, F f) {
  for (const Expr& e : s.exprs)
    if (e.kind == Expr::Kind::Load) f(e.access);
  for (const Store& st : s.stores) f(st.access);
}

}  // namespace

std::optional<Stage> turnedAround(const Kernel& k, const Stage& s) {
  const size_t inner = k.outer.size();
  bool backward = false;
  eachAccess(s, [&](const Access& a) { backward = backward || strideOf(a, inner) == -1; });
  const bool counts = std::any_of(s.exprs.begin(), s.exprs.end(),
                                  [&](const Expr& e) { return e.kind == Expr::Kind::LoopVar && e.index == inner; });
  if (!backward || counts) return std::nullopt;
  Stage t = s;
  const int64_t ends = s.innerLo[0] + s.innerHi[0] - 1;
  const auto turn = [&](Access& a) {
    if (inner >= a.strides.size()) return;
    a.offset += a.strides[inner] * ends;
    a.strides[inner] = -a.strides[inner];
  };
  for (Expr& e : t.exprs)
    if (e.kind == Expr::Kind::Load) turn(e.access);
  for (Store& st : t.stores) turn(st.access);
  return t;
}

std::optional<Schedule> scanSchedule(const Kernel& k) {
  if (k.kind != Kernel::Kind::Loop || k.reductions.empty() ||
      !std::all_of(k.stages.begin(), k.stages.end(), [&](const Stage& s) { return suits(k, s); }) ||
      std::any_of(k.buffers.begin(), k.buffers.end(), [](const Buffer& b) { return b.role == Buffer::Role::Scratch; }))
    return std::nullopt;
  const size_t inner = k.outer.size();
  int64_t points = 1, length = 0, along = 0, across = 0, width = kElements, cost = 1;
  for (const int64_t n : k.outer) points *= n;
  const bool ordered = k.reductions[0].ordered;  // one thread goes through what the others load
  if (ordered) width = 1;
  for (const Stage& s : k.stages) {
    if (!isScan(s)) continue;
    length = std::max(length, lengthOf(s));
    cost = std::max(cost, costOf(s));
    eachAccess(s, [&](const Access& a) {
      along += std::abs(strideOf(a, inner)) == 1;
      across += inner > 0 && std::abs(strideOf(a, inner - 1)) == 1;
    });
    const std::optional<Stage> turned = turnedAround(k, s);
    width = std::min<int64_t>(width,
                              vectorWidth(k, turned ? *turned : s, inner, {s.innerLo[0] == 0 ? 0 : 1, s.innerHi[0]}));
  }
  Schedule s;
  s.scan = true;
  const auto ahead = [&](int64_t vectors, int64_t vector) {
    return static_cast<int>(std::clamp<int64_t>(kMostCode / (cost * vector), 1, std::max<int64_t>(1, vectors)));
  };
  if (along >= across) {
    if (length < kLeastRow) return std::nullopt;
    s.family = Schedule::Family::Rows;
    s.vector = static_cast<int>(width);
    const int64_t groups = (length + width - 1) / width;
    const auto ceiling = [](int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))); };
    int64_t team = std::clamp<int64_t>(ceiling(groups), 4, kWarp);
    while (team >= kWarp && team < kMostTeam && team < groups && points * team < kManyThreads) team *= 2;
    s.team = static_cast<int>(team);
    s.threads = static_cast<uint32_t>(std::max(team, kWarpsThreads));
    if (team > kWarp) s.threads = static_cast<uint32_t>(team);
    s.ahead = ahead(std::min(kElements / width, (groups + team - 1) / team), width);
    s.blocks = static_cast<uint32_t>(std::clamp<int64_t>((points * team + s.threads - 1) / s.threads, 1, kMostBlocks));
    return s;
  }
  if (ordered || length < kLeastColumn || points >= kManyColumns) return std::nullopt;
  s.family = Schedule::Family::Columns;
  s.team = 8;
  // Of 1,024 threads each has 64 registers, too few for the loops of several stages.
  const auto scans = std::count_if(k.stages.begin(), k.stages.end(), isScan);
  const int64_t most = cost > kLongCode / kRows ? s.team : scans > 1 ? kWarp / 2 : kWarp;
  while (s.team < most && points * s.team < kManyThreads && length > kRows * s.team) s.team *= 2;
  s.threads = static_cast<uint32_t>(kWarp * s.team);
  s.ahead = ahead(std::min<int64_t>(kRows, (length + s.team - 1) / s.team), 1);
  s.blocks = static_cast<uint32_t>(std::clamp<int64_t>((points + kWarp - 1) / kWarp, 1, kMostBlocks));
  return s;
}

}  // namespace tenc::codegen::cuda
