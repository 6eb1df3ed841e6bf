// What attention and its gradient share as text: where operands of a block's head begin, scores, stores.
#pragma once
#include <string>
#include <vector>

#include "codegen/cuda/AttentionSchedule.h"
#include "codegen/cuda/KernelWriters.h"

namespace tenc::codegen::cuda {

class AttentionParts {
 public:
  AttentionParts(const Kernel& kernel, Module& module, const KernelNames& names)
      : kernel_(kernel), a_(kernel.attention), out_(module.text), scalars_(module.text, module.tables), names_(names) {}

  /// Names the dims of the batch that `number` counts in row-major order.
  void decodeBatch(std::string number);
  /// A matrix of the block's head. `width` elements of a row can be loaded together.
  void matrix(const std::string& name, const MatrixView& m, int64_t rows, int64_t columns, int width);
  /// The lambda `score`: what becomes of the product of a query and a key.
  void score();
  /// A lambda that takes some elements of a row and does the epilogue on them.
  void store(const std::string& name, const Stage& epilogue, int vector);
  /// The lambda `save`, which stores what a query's weights come to for its gradient, or does nothing.
  void save();
  /// An expression of a stage whose loop variables are those of the batch.
  std::string value(const Stage& stage, ExprId id);
  CudaText& out() { return out_; }
  const std::string& missing() const { return scalars_.missing(); }

 private:
  /// A pointer to where the block's head begins.
  std::string from(const MatrixView& m) const;
  std::string positionOf(const MatrixView& m) const;

  const Kernel& kernel_;
  const Attention& a_;
  CudaText& out_;
  CudaScalars scalars_;
  KernelNames names_;
  std::vector<std::string> batch_;  ///< names of the batch dims' variables
};

}  // namespace tenc::codegen::cuda
