#include "codegen/cuda/FlatPlan.h"

#include <algorithm>

#include "codegen/KernelShape.h"
#include "codegen/cuda/Schedule.h"
#include "ir/Ops.h"

namespace tenc::codegen::cuda {
namespace {

constexpr int64_t kMostCode = 1500;  // of a thread's points, in units of elementwiseCost
constexpr size_t kMostStages = 32;
constexpr int64_t kLittle = 64;  // what a point may cost where its result is not wanted

bool isRowMajor(const Kernel& k, const Access& a) {
  if (!a.terms.empty() || a.offset < 0) return false;
  int64_t stride = 1;
  for (size_t v = k.outer.size(); v-- > 0; stride *= k.outer[v])
    if (k.outer[v] > 1 && strideOf(a, v) != stride) return false;
  return k.outer.back() > 1;
}

bool areApart(const Stage& a, const Stage& b) {
  for (size_t v = 0; v < a.outerLo.size(); ++v)
    if (a.outerHi[v] <= b.outerLo[v] || b.outerHi[v] <= a.outerLo[v]) return true;
  return false;
}

/// Whether each point stores an element of the buffer, once and in one place of order, and only what it stored before
/// is read.
bool isStoredOnce(const Kernel& k, uint32_t buffer) {
  std::vector<const Stage*> storing;
  const Access* to = nullptr;
  int64_t stored = 0, points = 1;
  for (int64_t n : k.outer) points *= n;
  for (const Stage& s : k.stages) {
    for (const Expr& e : s.exprs) {
      if (e.kind != Expr::Kind::Load || e.access.buffer != buffer) continue;
      if (!storing.empty()) return false;
    }
    for (const Store& st : s.stores) {
      if (st.access.buffer != buffer) continue;
      if (!isRowMajor(k, st.access) || (to != nullptr && to->offset != st.access.offset)) return false;
      for (const Stage* other : storing)
        if (other == &s || coversAll(k, s) || coversAll(k, *other) || !areApart(s, *other)) return false;
      to = &st.access;
      storing.push_back(&s);
      stored += coversAll(k, s) ? points : trips(s.outerLo, s.outerHi);
    }
  }
  return stored == points;
}

}  // namespace

bool coversAll(const Kernel& k, const Stage& s) {
  for (size_t v = 0; v < k.outer.size(); ++v)
    if (!codegen::coversAll(k, s, v)) return false;
  return true;
}

bool isFlat(const Kernel& k, const Access& a, int width) {
  return isRowMajor(k, a) && a.offset % width == 0 &&
         static_cast<uint64_t>(width) * static_cast<uint64_t>(ir::byteSize(k.buffers[a.buffer].dtype)) <= kVectorBytes;
}

bool mayFault(const Stage& s) {
  const auto isChecked = [](const Access& a) {
    return std::any_of(a.terms.begin(), a.terms.end(), [](const Access::Term& t) { return t.extent >= 0; });
  };
  return std::any_of(s.exprs.begin(), s.exprs.end(),
                     [&](const Expr& e) {
                       return e.kind == Expr::Kind::Load
                                  ? isChecked(e.access)
                                  : e.kind == Expr::Kind::Op && ir::opInfo(e.op).has(ir::Trait::CanFault);
                     }) ||
         std::any_of(s.stores.begin(), s.stores.end(), [&](const Store& st) { return isChecked(st.access); });
}

bool isHarmless(const Stage& s) {
  return !mayFault(s) && costOf(s) <= kLittle &&
         std::none_of(s.exprs.begin(), s.exprs.end(), [](const Expr& e) { return e.kind == Expr::Kind::Random; });
}

const Expr* constantOf(const Stage& s) {
  const auto isConstant = [&](const Store& st) { return s.exprs[st.value].kind == Expr::Kind::Constant; };
  return s.stores.size() == 1 && isConstant(s.stores[0]) ? &s.exprs[s.stores[0].value] : nullptr;
}

int flatWidth(const Kernel& k) {
  int64_t points = 1, width = kVectorBytes, cost = 0;
  for (int64_t n : k.outer) points *= n;
  if (k.outer.empty() || k.stages.size() > kMostStages) return 1;
  for (const Stage& s : k.stages) {
    if (s.ordered || !s.reductions.empty() || trips(s.innerLo, s.innerHi) != 1) return 1;
    cost += costOf(s);
    for (const Expr& e : s.exprs)
      if (e.kind == Expr::Kind::Load && isRowMajor(k, e.access))
        width = std::min<int64_t>(width, static_cast<int64_t>(kVectorBytes) /
                                             static_cast<int64_t>(ir::byteSize(k.buffers[e.access.buffer].dtype)));
    for (const Store& st : s.stores) {
      if (!isStoredOnce(k, st.access.buffer)) return 1;
      while (width > 1 && !isFlat(k, st.access, static_cast<int>(width))) width /= 2;
    }
  }
  while (width > 1 && (width > points || width * cost > kMostCode)) width /= 2;
  return static_cast<int>(width);
}

}  // namespace tenc::codegen::cuda
