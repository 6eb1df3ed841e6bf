#include "codegen/cpu/RowWindows.h"

#include <algorithm>

#include "codegen/KernelShape.h"
#include "codegen/cpu/Cost.h"
#include "codegen/cpu/LoopSchedule.h"

namespace tenc::codegen::cpu {
namespace {

constexpr int64_t kMostShortRow = 32;  // elements
constexpr size_t kLeastColumns = 3;    // of a stage without a loop: fewer are gathered

bool isScratch(const Kernel& kernel, const Access& a) { return kernel.buffers[a.buffer].role == Buffer::Role::Scratch; }

bool coversAll(const Kernel& kernel, const Stage& stage) {
  for (size_t v = 0; v < kernel.outer.size(); ++v)
    if (!codegen::coversAll(kernel, stage, v)) return false;
  return true;
}

std::vector<RowWindow>::iterator sameRows(std::vector<RowWindow>& windows, const Stage& stage, const Access& a) {
  return std::find_if(windows.begin(), windows.end(), [&](const RowWindow& w) {
    return w.stage == &stage && w.access.buffer == a.buffer && w.access.strides == a.strides;
  });
}

/// Columns that a stage without a loop loads, each at an offset of its own.
void addColumns(std::vector<RowWindow>& all, const Kernel& kernel, const Stage& stage, size_t var) {
  if (!stage.innerLo.empty() || stage.ordered || kernel.outer[var] < kLanes || !coversAll(kernel, stage)) return;
  std::vector<RowWindow> found;
  std::vector<std::vector<int64_t>> offsets;
  for (const Expr& e : stage.exprs) {
    if (e.kind != Expr::Kind::Load || !e.access.terms.empty()) continue;
    if (kernel.buffers[e.access.buffer].role != Buffer::Role::Input) continue;
    if (strideOf(e.access, var) <= kMostStride || strideOf(e.access, var) > kMostShortRow) continue;
    auto at = sameRows(found, stage, e.access);
    if (at == found.end()) {
      found.push_back({&stage, e.access, 0, false, false});
      offsets.emplace_back();
      at = std::prev(found.end());
    }
    offsets[static_cast<size_t>(at - found.begin())].push_back(e.access.offset);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    std::sort(offsets[i].begin(), offsets[i].end());
    offsets[i].erase(std::unique(offsets[i].begin(), offsets[i].end()), offsets[i].end());
    found[i].access.offset = offsets[i].front();
    found[i].columns = offsets[i].back() - offsets[i].front() + 1;
    // What is loaded is a good part of what is read.
    const auto wanted = static_cast<int64_t>(offsets[i].size());
    if (offsets[i].size() >= kLeastColumns && found[i].columns <= 2 * wanted &&
        found[i].columns <= strideOf(found[i].access, var))
      all.push_back(std::move(found[i]));
  }
}

}  // namespace

bool isShortRow(const Kernel& kernel, const Stage& stage, const Access& access, size_t var) {
  if (var >= kernel.outer.size() || kernel.outer[var] < kLanes) return false;
  if (stage.innerLo.size() != 1 || stage.ordered || !access.terms.empty() || !coversAll(kernel, stage)) return false;
  const int64_t length = stage.innerHi[0];
  if (stage.innerLo[0] != 0 || length < 2 || length > kMostShortRow) return false;
  if (strideOf(access, kernel.outer.size()) != 1 || strideOf(access, var) < length) return false;
  const Buffer::Role role = kernel.buffers[access.buffer].role;
  // Elements that are very near are picked from whole vectors.
  return role == Buffer::Role::Output || (role == Buffer::Role::Input && strideOf(access, var) > kMostStride);
}

bool hasShortScratch(const Kernel& kernel) {
  return std::all_of(kernel.stages.begin(), kernel.stages.end(), [&](const Stage& stage) {
    const bool uses = std::any_of(stage.stores.begin(), stage.stores.end(),
                                  [&](const Store& s) { return isScratch(kernel, s.access); }) ||
                      std::any_of(stage.exprs.begin(), stage.exprs.end(), [&](const Expr& e) {
                        return e.kind == Expr::Kind::Load && isScratch(kernel, e.access);
                      });
    return !uses || (stage.innerLo.size() == 1 && stage.innerHi[0] <= kMostShortRow);
  });
}

std::vector<RowWindow> rowWindows(const Kernel& kernel, size_t var) {
  std::vector<RowWindow> all;
  auto add = [&](const Stage& stage, const Access& a, bool stored) {
    if (findWindow(all, kernel, stage, a) != nullptr) return;
    if (isScratch(kernel, a)) {
      all.push_back({&stage, a, kernel.buffers[a.buffer].elements, stored, true});
    } else if (isShortRow(kernel, stage, a, var) && stored == (kernel.buffers[a.buffer].role == Buffer::Role::Output)) {
      all.push_back({&stage, a, stage.innerHi[0], stored, false});
    }
  };
  for (const Stage& stage : kernel.stages) {
    for (const Expr& e : stage.exprs)
      if (e.kind == Expr::Kind::Load) add(stage, e.access, false);
    for (const Store& s : stage.stores) add(stage, s.access, true);
    addColumns(all, kernel, stage, var);
  }
  return all;
}

const RowWindow* findWindow(const std::vector<RowWindow>& windows, const Kernel& kernel, const Stage& stage,
                            const Access& access) {
  const size_t outer = kernel.outer.size();
  const auto found = std::find_if(windows.begin(), windows.end(), [&](const RowWindow& w) {
    if (w.access.buffer != access.buffer) return false;
    if (w.scratch) return true;
    if (!access.terms.empty() || w.access.strides != access.strides) return false;
    // Input rows that several stages loop over are read once.
    if (strideOf(access, outer) == 1) {
      const bool within = stage.innerLo.size() == 1 && stage.innerLo[0] == 0 && stage.innerHi[0] <= w.columns;
      return within && w.access.offset == access.offset && (!w.stored || w.stage == &stage);
    }
    const int64_t column = access.offset - w.access.offset;
    return w.stage == &stage && column >= 0 && column < w.columns;
  });
  return found == windows.end() ? nullptr : &*found;
}

int64_t bytesOf(const std::vector<RowWindow>& windows, const Kernel& kernel) {
  int64_t bytes = 0;
  for (const RowWindow& w : windows) bytes += w.columns * kLanes * ir::byteSize(kernel.buffers[w.access.buffer].dtype);
  return bytes;
}

}  // namespace tenc::codegen::cpu
