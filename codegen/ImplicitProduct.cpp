#include "codegen/ImplicitProduct.h"

#include <cstdlib>

#include "codegen/KernelShape.h"

namespace tenc::codegen {
namespace {

/// Whether every stage covers all outer points, and those after the first neither loop nor reduce.
bool restUsesResults(const Kernel& kernel) {
  for (size_t i = 0; i < kernel.stages.size(); ++i) {
    const Stage& s = kernel.stages[i];
    for (size_t d = 0; d < kernel.outer.size(); ++d)
      if (!coversAll(kernel, s, d)) return false;
    if (i > 0 && (!s.innerLo.empty() || !s.reductions.empty())) return false;
  }
  return true;
}

}  // namespace

bool isPlainReduction(const Kernel& kernel) {
  const Stage& first = kernel.stages[0];
  if (first.innerLo.size() != 1 || first.reductions.empty() || !first.stores.empty() || first.ordered) return false;
  if (first.innerHi[0] <= first.innerLo[0]) return false;
  for (uint32_t r : first.reductions) {
    const Reduction::Kind kind = kernel.reductions[r].kind;
    if (kernel.reductions[r].running) return false;
    if (kind != Reduction::Kind::Sum && kind != Reduction::Kind::Prod && kind != Reduction::Kind::Max &&
        kind != Reduction::Kind::Min)
      return false;
  }
  for (const Expr& e : first.exprs) {
    if (e.kind == Expr::Kind::Load && !e.access.terms.empty()) return false;
    if (e.kind == Expr::Kind::Random || e.kind == Expr::Kind::Reduced) return false;
  }
  return restUsesResults(kernel);
}

std::optional<ImplicitProduct> implicitProductOf(const Kernel& kernel, size_t row, size_t column) {
  const Stage& first = kernel.stages[0];
  const size_t inner = kernel.outer.size();
  ImplicitProduct product{row, column};
  bool ofRows = false, ofColumns = false;
  for (const Expr& e : first.exprs) {
    if (e.kind != Expr::Kind::Load) continue;
    const int64_t alongRows = strideOf(e.access, row), alongColumns = strideOf(e.access, column);
    if (alongColumns == 0) {
      ofRows = ofRows || alongRows != 0;
      continue;
    }
    ofColumns = ofColumns || alongRows == 0;
    if (alongColumns == 1) continue;
    // What is turned must not change with the row.
    if (strideOf(e.access, inner) != 1 || alongRows != 0 || std::abs(alongColumns) <= 1) return std::nullopt;
    product.turned = true;
  }
  for (size_t i = 1; i < kernel.stages.size(); ++i)
    for (const Store& st : kernel.stages[i].stores)
      if (strideOf(st.access, column) != 1 || !st.access.terms.empty()) return std::nullopt;
  if (!ofRows || !ofColumns) return std::nullopt;
  return product;
}

}  // namespace tenc::codegen
