// Products of f16 and bf16: how their elements become terms of f32 sums.
#pragma once
#include "codegen/cpu/IrBuilder.h"
#include "codegen/cpu/Loops.h"
#include "codegen/cpu/ProductSchedule.h"

namespace tenc::codegen::cpu {

/// Emits the terms of `stepsOf(terms)` steps of k at a time, which are added part by part. A row of B is a vector of
/// `lanes` floats, or what stands for them, for each part; so it is packed.
class NarrowTerms {
 public:
  using Val = llvm::Value*;
  NarrowTerms(IrBuilder& b, const Product& product, Terms terms, int64_t lanes);

  size_t parts() const { return terms_ == Terms::WidenedPairs ? 2 : 1; }
  /// Part `part` of the elements of A at `p`, in every lane. `last`: of a pair, only the first is there. Null where
  /// the term is 0.
  Val ofA(size_t part, Val p, bool last);
  /// The parts of one or two rows of B, `first` and `second` being vectors (or single elements) of 16 bits; `second` is
  /// null for zeros.
  Values ofB(Val first, Val second);
  /// sum + x * y, of one part.
  Val add(Val x, Val y, Val sum);
  /// The elements of B at `p` as `ofB` takes them; with a mask only its lanes.
  Val load(Val p, Val mask);
  /// Elements of one k side by side in B as f32, or pairs as they stand: rows of a square that is turned. Such a row
  /// is `lanes` steps of k, or pairs.
  Val loadAlong(Val p);

  /// Around sums that are to take subnormal numbers for 0 as pairs do: gives the state to go back to, null for none.
  Val beginSums();
  void endSums(Val state);

 private:
  Val elementOfA(Val p, int64_t number);
  Val widened(Val bits);
  Val splat(Val x);

  IrBuilder& b_;
  const Product& product_;
  Terms terms_;
  unsigned lanes_;
  llvm::FixedVectorType* floats_;
};

}  // namespace tenc::codegen::cpu
