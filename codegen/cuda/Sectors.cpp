#include "codegen/cuda/Sectors.h"

#include <algorithm>
#include <vector>

#include "codegen/KernelShape.h"

namespace tenc::codegen::cuda {
namespace {

constexpr int64_t kWarp = 32;
constexpr double kTurned = 1.25;  // what going through shared memory costs besides

/// The first `outer` outer points by the first `inner` inner points of a stage.
class Neighbours {
 public:
  Neighbours(const Kernel& k, const Stage& s, int64_t outer, int64_t inner) : kernel_(k) {
    std::vector<int64_t> extents;
    for (size_t i = 0; i < s.innerLo.size(); ++i) extents.push_back(s.innerHi[i] - s.innerLo[i]);
    const std::vector<std::vector<int64_t>> points = decoded(k.outer, outer), within = decoded(extents, inner);
    for (const auto& o : points)
      for (const auto& i : within) {
        places_.push_back(o);
        places_.back().insert(places_.back().end(), i.begin(), i.end());
      }
    for (size_t v = 0; v < k.outer.size() + extents.size(); ++v) varies_.push_back(varying(s, v));
  }

  /// Sectors that they ask for, for each 32 of them.
  double sectors(const Access& a) const {
    const auto bytes = static_cast<int64_t>(ir::byteSize(kernel_.buffers[a.buffer].dtype));
    std::vector<int64_t> touched;
    for (const std::vector<int64_t>& at : places_) {
      int64_t element = a.offset;
      for (size_t v = 0; v < at.size(); ++v) element += strideOf(a, v) * at[v];
      touched.push_back(element * bytes / kSectorBytes);
    }
    std::sort(touched.begin(), touched.end());
    const auto distinct = std::unique(touched.begin(), touched.end()) - touched.begin();
    return static_cast<double>(isGathered(a) ? touched.size() : static_cast<size_t>(distinct)) * kWarp /
           static_cast<double>(places_.size());
  }

 private:
  static std::vector<std::vector<int64_t>> decoded(const std::vector<int64_t>& extents, int64_t most) {
    int64_t all = 1;
    for (int64_t n : extents) all *= n;
    std::vector<std::vector<int64_t>> points;
    for (int64_t p = 0; p < std::min(all, most); ++p) {
      std::vector<int64_t> at(extents.size());
      int64_t rest = p;
      for (size_t v = extents.size(); v-- > 0; rest /= extents[v]) at[v] = rest % extents[v];
      points.push_back(std::move(at));
    }
    return points;
  }

  bool moves(size_t variable) const {
    return std::any_of(places_.begin(), places_.end(), [&](const auto& at) { return at[variable] != 0; });
  }
  bool isGathered(const Access& a) const {
    for (const Access::Term& t : a.terms)
      for (size_t v = 0; v < varies_.size(); ++v)
        if (varies_[v][t.index] && moves(v)) return true;
    return false;
  }

  const Kernel& kernel_;
  std::vector<std::vector<int64_t>> places_;
  std::vector<std::vector<bool>> varies_;  ///< by loop variable
};

bool isLoop(const Kernel& k, const Stage& s) {
  return !isSerial(k, s) && !s.innerLo.empty() && trips(s.innerLo, s.innerHi) > 0;
}

}  // namespace

double sectorsOf(const Kernel& k, const Schedule& schedule) {
  const bool rows = schedule.family == Schedule::Family::Rows;
  const int64_t lanes = rows ? std::min<int64_t>(schedule.team, kWarp) : 1, inner = rows ? lanes * schedule.vector : 1;
  double all = 0;
  std::vector<const Access*> kept;
  for (const Stage& s : k.stages) {
    if (!isLoop(k, s)) continue;
    const Neighbours warp(k, s, kWarp / lanes, inner);
    double sectors = 0;
    for (const Store& st : s.stores) sectors += warp.sectors(st.access);
    for (const Expr& e : s.exprs) {
      if (e.kind != Expr::Kind::Load) continue;
      const bool again = std::any_of(kept.begin(), kept.end(), [&](const Access* a) {
        return a->buffer == e.access.buffer && a->offset == e.access.offset && a->strides == e.access.strides;
      });
      if (again) continue;
      if (schedule.unrolled && e.access.terms.empty()) kept.push_back(&e.access);
      const auto bytes = static_cast<double>(ir::byteSize(k.buffers[e.access.buffer].dtype));
      sectors += schedule.beside > 0 && isAcrossRows(k, s, e.access) ? kTurned * bytes : warp.sectors(e.access);
    }
    all += sectors * static_cast<double>(trips(s.innerLo, s.innerHi));
  }
  return all;
}

int64_t rowsOfSector(const Kernel& k) {
  int64_t rows = 1;
  for (const Stage& s : k.stages) {
    if (!isLoop(k, s)) continue;
    for (const Expr& e : s.exprs)
      if (e.kind == Expr::Kind::Load && isAcrossRows(k, s, e.access))
        rows = std::max(rows, kSectorBytes / static_cast<int64_t>(ir::byteSize(k.buffers[e.access.buffer].dtype)));
  }
  return rows;
}

}  // namespace tenc::codegen::cuda
