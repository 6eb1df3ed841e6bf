// Rows of few elements that lanes run across: which accesses of a kernel are such rows, or columns of them. They are
// transposed in registers (ShortRows.h), and so cheap that they decide which loop is vectorised (Cost.h). All follows
// from shapes and strides.
#pragma once
#include <vector>

#include "codegen/Kernel.h"

namespace tenc::codegen::cpu {

/// Whether lanes of outer variable `var` are rows of the access, which lie along the stage's only inner variable and
/// are few elements long.
bool isShortRow(const Kernel& kernel, const Stage& stage, const Access& access, size_t var);
/// Whether every lane may have scratch rows of its own, as they are few elements long.
bool hasShortScratch(const Kernel& kernel);

/// So many elements of each row, from that of the access on. Columns are the values of the stage's inner variable; of
/// a stage without one, they are offsets of accesses to the same rows.
struct RowWindow {
  const Stage* stage;
  Access access;
  int64_t columns;
  bool stored, scratch;
};
/// The windows of a kernel, scratch rows too.
std::vector<RowWindow> rowWindows(const Kernel& kernel, size_t var);
/// The window of them that has the access, if one does.
const RowWindow* findWindow(const std::vector<RowWindow>& windows, const Kernel& kernel, const Stage& stage,
                            const Access& access);
/// What a vector of lanes takes of all of them.
int64_t bytesOf(const std::vector<RowWindow>& windows, const Kernel& kernel);

}  // namespace tenc::codegen::cpu
