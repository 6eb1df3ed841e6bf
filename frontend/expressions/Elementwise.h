// Elementwise ops: broadcasting, and trees leaf by leaf.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Tensors;

using LeafFn = std::function<Val(const std::vector<ir::Value*>&)>;

/// Elementwise ops on tensors, numbers and trees.
class Elementwise {
 public:
  Elementwise(Context& context, Tensors& tensors) : context_(context), tensors_(tensors) {}

  /// An elementwise op on values or trees (leaf by leaf; a rank-0 operand goes to every leaf; float leaves only, the
  /// others from the first tree; E0203 where there are only others, none of them `state`). Checks traits (FloatOnly,
  /// IntOnly, ...) with E0201.
  Val elementwise(ir::OpKind kind, const std::vector<Val>& operands, Span span, std::string_view opName);
  Val elementwiseBy(const std::vector<Val>& operands, Span span, std::string_view opName, const LeafFn& f);
  /// An op with checked operands: inference failures are E0202 at `span`.
  Val make(ir::OpKind kind, std::vector<ir::Value*> operands, std::vector<ir::Builder::NamedAttr> attrs, Span span);

 private:
  /// Operands made into tensors of one dtype and one shape; empty after an error (E0201, E0202).
  std::vector<ir::Value*> together(const std::vector<Val>& operands, Span span, std::string_view opName);
  std::vector<ir::Value*> broadcastAll(const std::vector<Val>& operands, ir::DType dtype, Span span,
                                       std::string_view opName);
  Val overTrees(const std::vector<Val>& operands, Span span, std::string_view opName,
                const std::function<Val(const std::vector<Val>&)>& leaf);

  /// E0203: an op on trees none of whose leaves it works on.
  Val refuseUntouched(const std::vector<Val>& operands, Span span, std::string_view opName);

  Context& context_;
  Tensors& tensors_;
};

}  // namespace tenc::frontend
