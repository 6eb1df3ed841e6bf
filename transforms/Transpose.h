// Transposes of linear ops: from the cotangent of an op's result, those of the operands that it is linear in.
#pragma once
#include <functional>
#include <vector>

#include "ir/build/Compose.h"

namespace tenc::transforms {

/// What the transpose of one linear op sees.
struct TransposeCall {
  using V = ir::Value*;
  const ir::Op& op;   ///< of the linear function
  ir::Compose& c;     ///< makes the ops of the transpose
  std::vector<V> in;  ///< operands that are no tangents, as values of the transpose; null for the others
  V ct = nullptr;     ///< the cotangent of the result
  /// Adds a part to the cotangent of operand k.
  std::function<void(size_t k, V part)> give;
  /// The cotangent of operand k so far; null: zero.
  std::function<V(size_t k)> sum;
  /// Sets it, to that with a part added in some places.
  std::function<void(size_t k, V sum)> set;
  bool repeated = false;  ///< the op is in a loop

  bool linear(size_t k) const { return in[k] == nullptr; }
  const ir::Type& type(size_t k) const { return op.operand(k)->type; }
  V sumOrZeros(size_t k) const {
    V so = sum(k);
    return so != nullptr ? so : zerosOf(k);
  }
  V zerosOf(size_t k) const { return c.fillOn(ct, type(k).shape, c.literal(ct, 0)); }
};

using TransposeRule = void (*)(TransposeCall&);

/// Null for ops that no rule of Tangents.h makes of tangents, and for those with regions and calls.
TransposeRule transposeRule(ir::OpKind kind);

}  // namespace tenc::transforms
