// What an index expression does, once its subscripts are read.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/expressions/Subscripts.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

/// What an index expression does, in the order in which it is done: one strided slice, windows, one gather, a reshape.
class IndexPlan {
 public:
  IndexPlan(Context& context, const ir::Type& base, std::vector<Step> steps)
      : context_(context), c_(context.b()), base_(base), steps_(std::move(steps)) {}

  /// Index operands of one dtype and shape; false when they do not broadcast.
  bool prepare(Span span);
  /// Of the indexed part; after `prepare`.
  const ir::Dims& resultShape() const { return result_; }

  /// The indexed part.
  ir::Value* read(ir::Value* base);
  /// `base` with the indexed part replaced by `value` (of resultShape), or combined with it by a scatter's `mode`.
  ir::Value* write(ir::Value* base, ir::Value* value, const std::string& mode);
  /// Whether a write is a scatter, whose places may be listed more than once.
  bool usesScatter() const { return dynamic_ && (arrays_ || axes_.size() == base_.shape.size()); }

 private:
  bool isWhole(const Step& s) const { return s.start == 0 && s.step == 1 && s.size == base_.shape[s.dim]; }

  /// Single compile-time indices join the run-time ones, so that an element is one gather.
  bool gathered(const Step& s) const;
  /// The result's dims in order, and where the gathered ones go: first when something stands between (NumPy's rule).
  void layOut();
  ir::Value* readSlice(ir::Value* base);
  void sliceAttrs(ir::Dims& starts, ir::Dims& sizes, ir::Dims& steps);
  ir::Dims slicedShape();
  ir::Value* readWindows(ir::Value* v);
  ir::Value* putWindows(ir::Value* whole, ir::Value* part);
  /// An index in `t`, which is its own dtype or i64: a u64 beyond i64 stays out of range.
  ir::Value* inDType(ir::Value* v, ir::DType t);
  std::vector<ir::Value*> sameDType(std::vector<ir::Value*> operands, size_t from = 1);
  ir::Value* putSlice(ir::Value* base, ir::Value* part);
  ir::Value* writeBlock(ir::Value* base, ir::Value* value);
  ir::Value* scatter(ir::Value* base, ir::Value* value, const std::string& mode);
  Context& context_;
  ir::Compose c_;
  const ir::Type base_;
  std::vector<Step> steps_;
  bool dynamic_ = false, arrays_ = false, windows_ = false;
  ir::Dims shape_, axes_, result_;
  std::vector<ir::Value*> indices_;
  int64_t at_ = 0;
};

}  // namespace tenc::frontend
