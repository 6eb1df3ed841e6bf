// Shape rules of the ops, one function a family; Infer.cpp chooses by ShapeRule. Internal to ir/.
#pragma once
#include <span>
#include <string>

#include "ir/Ir.h"

namespace tenc::ir {

/// What a shape rule sees: the op, its operand types, its attributes. Attributes of a missing or wrong kind are found
/// before (Infer.cpp), so the accessors return values.
class InferContext {
 public:
  InferContext(OpKind kind, std::span<const Type* const> operands, const AttrLookup& attr)
      : kind(kind), operands(operands), attr_(attr) {}
  const OpKind kind;
  const std::span<const Type* const> operands;

  const Type& operand(size_t i) const { return *operands[i]; }
  const Dims& ints(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const std::string& string(std::string_view name) const;
  bool has(std::string_view name) const { return attr_(name) != nullptr; }
  const Attr* attr(std::string_view name) const { return attr_(name); }
  /// "`matmul`"
  std::string op() const { return "`" + std::string(opInfo(kind).mnemonic) + "`"; }

  Inferred fail(const std::string& rest) const { return {{}, op() + " " + rest, false}; }
  /// A result of a size that no tensor can have.
  Inferred tooLarge(DType t, Dims shape, const std::string& what) const;
  /// One result of dtype and shape; its placement follows from the operands'.
  Inferred result(DType t, Dims shape) const;

 private:
  const AttrLookup& attr_;
};

/// "" when `axes` are different axes of a tensor of rank `rank`, else what is wrong: "... has axis 3, ...".
std::string checkAxes(std::span<const int64_t> axes, int64_t rank);
/// "" when `t` is rank 0 (or of any rank) and of an integer dtype.
std::string checkIndex(const Type& t, bool rank0);

Inferred inferReduce(const InferContext& c, ShapeRule rule);
Inferred inferScan(const InferContext& c);
Inferred inferMatmul(const InferContext& c);
Inferred inferConv(const InferContext& c);
Inferred inferAttention(const InferContext& c);
Inferred inferAttentionSaved(const InferContext& c);
Inferred inferAttentionGrad(const InferContext& c);
Inferred inferReshape(const InferContext& c);
Inferred inferPermute(const InferContext& c);
Inferred inferBroadcast(const InferContext& c);
Inferred inferSlice(const InferContext& c);
Inferred inferPad(const InferContext& c);
Inferred inferConcat(const InferContext& c);
Inferred inferFlip(const InferContext& c);

Inferred inferGather(const InferContext& c);
Inferred inferRows(const InferContext& c);
Inferred inferDynamicSlice(const InferContext& c);
Inferred inferUpdateSlice(const InferContext& c);
Inferred inferDynamicUpdate(const InferContext& c);
Inferred inferScatter(const InferContext& c);
Inferred inferLibrary(const InferContext& c);

}  // namespace tenc::ir
