// Values made into tensors.
#pragma once
#include <optional>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class PlacingOps;

/// Makes literals, arrays and numbers into tensors, once a dtype is known.
class Tensors {
 public:
  Tensors(Context& context, PlacingOps& placing) : context_(context), placing_(placing) {}

  /// The value as a tensor: numbers become rank-0 constants (of `hint` when they adopt and it is given), arrays are
  /// stacked. Null after poison or an error (E0203).
  ir::Value* tensorOf(const Val& v, std::optional<ir::DType> hint = {});
  /// Literals, arrays of them and bools made into what a binding holds: Array -> tensor or list; numbers stay
  /// compile-time but adopt no longer.
  Val settle(Val v, const Ty* expected = nullptr);
  /// The same under a `let`, where numbers that are known go on adopting.
  Val settleBound(Val v, const Ty* expected = nullptr);
  /// Numbers and bools inside become tensors: what a `var` holds.
  Val materialise(const Val& v, const Ty* expected = nullptr);
  /// Operands that are all literals, at least one of them an array or `always`: the first becomes a tensor of the dtype
  /// that is declared for their result, so that the others adopt it. Anything else stays as it is.
  void adoptDeclared(std::vector<Val>& operands, const Ty* expected, bool always = false);
  /// Whether so many tensors can be joined into one; reports E0208.
  bool checkParts(size_t count, Span span);
  /// A tensor of zeros.
  ir::Value* zerosOf(ir::DType t, const ir::Dims& shape);

 private:
  Val settled(Val v, const Ty* expected, Elements::Fact how);
  ir::Value* tensorHere(const Val& v, std::optional<ir::DType> hint);
  ir::Value* constantTensor(const Val& array, ir::DType t, const ir::Dims& shape);
  bool arrayShape(const Val& v, ir::Dims& shape, std::optional<ir::DType>& dtype, bool& allStatic, bool& anyTree);

  Context& context_;
  PlacingOps& placing_;
};

}  // namespace tenc::frontend
