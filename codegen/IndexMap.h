// Index maps: where an element of a value is found, as affine functions of loop variables (plus run-time terms). One
// function a structural op.
#pragma once
#include <functional>
#include <optional>

#include "codegen/Kernel.h"

namespace tenc::codegen {

/// offset + sum(coef[v] * loopVar[v]) + sum(term.stride * index(term)). `coef` may be shorter than the loop nest.
struct Affine {
  int64_t offset = 0;
  std::vector<int64_t> coef;
  std::vector<Access::Term> terms;

  static Affine constant(int64_t c) { return {c, {}, {}}; }
  static Affine variable(size_t v, int64_t times = 1);
  bool isConstant() const;
  int64_t coefOf(size_t v) const { return v < coef.size() ? coef[v] : 0; }
  Affine& add(const Affine& o, int64_t times = 1);
  Affine scaled(int64_t times) const;
  bool operator==(const Affine& o) const;
};

/// The position of an element of a value: one affine a dim, or (after a reshape) the row-major position as a whole.
struct Index {
  std::vector<Affine> dims;
  std::optional<Affine> flat;
  bool operator==(const Index& o) const = default;
};

/// Values that a loop variable takes in the box at hand, lo <= v < hi, and its whole extent.
struct VarRange {
  int64_t lo = 0, hi = 0, extent = 0;
};

/// A wish to replace loop variable `var` by two, (extent / inner, inner), which makes an index affine.
struct Refinement {
  size_t var = 0;
  int64_t inner = 1;
};

/// The row-major position in a tensor of this shape.
Affine linearise(const Index& index, std::span<const int64_t> shape);

/// The inverse. Where the split is not affine: `wish`, when given, is set when a refined loop variable would make it
/// so; otherwise `divide(a, n, remainder)` is asked for an i64 expression of a / n or a % n (a is not negative).
using Divide = std::function<Affine(const Affine& a, int64_t n, bool remainder)>;
std::vector<Affine> delinearise(const Affine& flat, std::span<const int64_t> shape, std::span<const VarRange> vars,
                                std::optional<Refinement>* wish, const Divide& divide);

/// The operand's index that element `index` of the structural op's result comes from: permute, broadcast, slice, flip
/// (`index` by dims) and reshape (either form). Pad and concat are piecewise and not handled here.
Index throughStructural(const ir::Op& op, const Index& index);

/// Least and largest value of the affine part over the ranges; terms count as 0.
std::pair<int64_t, int64_t> bounds(const Affine& a, std::span<const VarRange> vars);

}  // namespace tenc::codegen
