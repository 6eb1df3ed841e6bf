// What the ways to write a product share: where elements of its operands are, its epilogue at a point, and elements
// that are summed term by term.
#pragma once
#include <string>
#include <vector>

#include "codegen/cuda/KernelWriters.h"
#include "codegen/cuda/ProductSchedule.h"

namespace tenc::codegen::cuda {

/// One of the operands: A, whose lines are rows of the result, or B, whose lines are columns.
struct ProductSide {
  const MatrixView& view;
  bool isLeft;
  std::string name;                              ///< "a" or "b"; names of the side's variables begin with it
  const std::vector<size_t>& variables;          ///< that number its lines
  int64_t total;                                 ///< lines
  int lines;                                     ///< of a tile
  std::string start;                             ///< of the tile's lines
  std::vector<const Product::Edge*> edges = {};  ///< of the window, that its lines or its matrix are at
};

class ProductParts {
 public:
  using Names = std::vector<std::string>;

  ProductParts(const Kernel& kernel, const Schedule& schedule, Module& module, KernelNames names);

  /// Which tile a block computes: `tileRow`, `tileColumn`, and its matrix.
  void tileStart();
  /// Both sides, A first.
  ProductSide side(bool isLeft) const;

  /// Names the variables that a number from one in row-major order stands for.
  void decodeVariables(const std::string& number, const std::vector<size_t>& variables);
  /// The same for any list of extents.
  Names decode(const std::string& number, const std::vector<int64_t>& extents);
  const std::string& variable(size_t v) const { return vars_[v]; }
  /// The sum of variable * stride, from where an operand begins.
  std::string atVariables(const ProductSide& s, const std::vector<size_t>& variables) const;
  /// The position of a term whose trips have names.
  std::string atTrips(const ProductSide& s, const Names& trips) const;
  std::string scaled(const std::string& what, int64_t by, bool narrow) const;
  /// Trips of each sum, k last.
  const std::vector<int64_t>& sums() const { return sums_; }
  int64_t depth() const { return depth_; }
  bool isNarrow(const MatrixView& view) const { return kernel_.buffers[view.buffer].elements < int64_t{1} << 31; }
  std::string_view positionType(const MatrixView& view) const { return isNarrow(view) ? "int" : "long long"; }
  /// Of what numbers rows, columns and terms: 64 bits where 32 could overflow, also in a tile that is not full.
  std::string_view rowType() const { return numberType(dims_.m); }
  std::string_view columnType() const { return numberType(dims_.n); }
  std::string_view termType() const { return numberType(depth_); }
  /// What a thread knows of `count` lines of a side, the r-th at `line`: where they begin, and what `inside` asks.
  void declareLines(const ProductSide& s, int count, const std::string& line);
  /// A condition that `term`, with these trips, and line `r` of a thread meet an element; empty where they always do.
  std::string inside(const ProductSide& s, const Names& trips, const std::string& r = "r") const;

  /// Of these conditions that of one of the side's edges.
  std::string meets(const ProductSide& s, size_t edge, const std::string& trip, const std::string& r) const;

  /// An element of an operand, in a register.
  Scalar element(const MatrixView& view, const std::string& at);
  /// The epilogue at the point that the variables name, or `vector` of them side by side from there.
  void store(const std::string& sum, int vector);
  /// Padding adds nothing, not even where a weight is infinite: a tile where something is not a number, so `isNaN`
  /// says, is computed again, without the terms that meet padding.
  void paddedAgain(const std::string& isNaN);
  /// The element at the point that the variables name, term by term.
  void oneByOne();
  /// A thread for each element.
  void direct();

  const ProductDims& dims() const { return dims_; }
  const Product& product() const { return p_; }
  CudaText& out() { return out_; }
  Repr repr() const { return repr_; }
  const std::string& type() const { return type_; }
  const std::string& buffer(const MatrixView& view) const { return names_.buffers[view.buffer]; }
  /// What has no CUDA form.
  const std::string& missing() const { return scalars_.missing(); }

 private:
  void trip(size_t number, Names& trips);
  static std::string_view numberType(int64_t n) { return n < kNarrowRow ? "int" : "long long"; }

  const Kernel& kernel_;
  const Product& p_;
  const ProductDims dims_;
  const Schedule& schedule_;
  CudaText& out_;
  CudaScalars scalars_;
  KernelNames names_;
  const Repr repr_;
  const std::string type_;
  Names vars_;  ///< of the loop variables, batch..., m, n, where the text stands
  std::vector<int64_t> sums_;
  const int64_t depth_;
};

/// The epilogue of a product, or of what is rounded like one, at the point that `variables` name, or for `vector` of
/// them side by side from there along the last variable. `sum`, of dtype `sums`, is the result there, before it is
/// rounded.
void writeEpilogue(CudaText& out, CudaScalars& scalars, const Kernel& kernel, const Stage& epilogue, KernelNames names,
                   const std::vector<std::string>& variables, Scalar sum, ir::DType sums, int vector);

/// Products by mma.sync.
std::string writeTensorProduct(const Kernel& kernel, const Schedule& schedule, Module& module,
                               const KernelNames& names);

}  // namespace tenc::codegen::cuda
