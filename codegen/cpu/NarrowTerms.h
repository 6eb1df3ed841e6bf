// Products of f16, bf16 and narrow integers: how their elements become terms of f32 or i32 sums.
#pragma once
#include "codegen/cpu/IrBuilder.h"
#include "codegen/cpu/Loops.h"
#include "codegen/cpu/ProductSchedule.h"

namespace tenc::codegen::cpu {

/// Emits the terms of `stepsOf(terms)` steps of k at a time, which are added part by part. A row of B is a vector of
/// `lanes` elements of the sums' dtype, or what stands for them, for each part; so it is packed.
class NarrowTerms {
 public:
  using Val = llvm::Value*;
  NarrowTerms(IrBuilder& b, const Product& product, Terms terms, int64_t lanes);

  int64_t steps() const { return stepsOf(terms_); }
  size_t parts() const { return static_cast<size_t>(partsOf(terms_)); }
  /// Part `part` of the elements of A at `p`, of which `present` are there, in every lane. Null where the term is 0.
  Val ofA(size_t part, Val p, int64_t present);
  /// The same as one element, to be stored.
  Val termOfA(size_t part, Val p, int64_t present);
  bool isZero(size_t part, int64_t present) const { return terms_ == Terms::WidenedPairs && part == 0 && present < 2; }
  /// The parts of the rows of B of one step, vectors (or single elements) of the operands' bits; those that are not
  /// there count as zeros.
  Values ofB(const Values& rows);
  /// sum + x * y, of one part.
  Val add(Val x, Val y, Val sum);
  /// What stands for the shift of A in every element, for `add`.
  Val shift();
  /// The elements of B at `p` as `ofB` takes them; with a mask only its lanes.
  Val load(Val p, Val mask);
  /// The one at `p`.
  Val element(Val p) { return b_.CreateAlignedLoad(bits_, p, alignment()); }
  /// What lies side by side along k in B, as rows of a square that is turned: `lanes` parts of steps.
  Val loadAlong(Val p);

  /// Of elements that are widened: them as f32, one or a vector; and which of a step is part `part`.
  Val widened(Val bits);
  int64_t placeOf(size_t part) const { return terms_ == Terms::WidenedPairs && part == 0 ? 1 : 0; }

  /// Around sums that are to take subnormal numbers for 0 as pairs do: gives the state to go back to, null for none.
  Val beginSums();
  void endSums(Val state);

 private:
  Val elementOfA(Val p, int64_t number);
  Val joinedOfA(Val p, int64_t present);
  Val fitted(Val bits);
  Val joined(const Values& rows);
  llvm::Type* like(Val shape, llvm::Type* element);
  llvm::Align alignment() const;
  Val splat(Val x);

  IrBuilder& b_;
  const Product& product_;
  Terms terms_;
  unsigned lanes_;
  llvm::Type* bits_;  ///< an integer as wide as an operand's element
  llvm::FixedVectorType* sums_;
};

}  // namespace tenc::codegen::cpu
