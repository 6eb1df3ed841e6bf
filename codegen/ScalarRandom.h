// Random numbers in terms of ScalarBuilder. docs/math.md ("Random numbers") defines which bits an element is made of:
// a draw is a sequence of 32-bit words, four to a block of Philox, and element e is made of
//   word e               uniform f32, f16, bf16
//   words 2e, 2e + 1     uniform f64 and integers
//   words 4e to 4e + 3   normal f64
//   words 2 (e / 2) and the next, which make elements 2 (e / 2) and the next: normal f32, f16, bf16
#pragma once
#include <array>

#include "codegen/ScalarBuilder.h"
#include "ir/Ops.h"

namespace tenc::codegen {

/// A block: each word in the low half of an I64, whose high half may hold anything.
using RandomWords = std::array<Scalar, 4>;
/// Block number `counter` of the draw; all I64.
RandomWords philox(Scalar counter, Scalar draw, Scalar seed);
/// Two words, of which the low halves count, as 64 bits.
Scalar joinWords(Scalar low, Scalar high);

/// In [0, 1), of an I32 word, or of 64 bits for f64.
Scalar uniformOf(ir::DType t, Scalar random);
/// Box and Muller's transform of two I32 words: the elements at an even place and after it, as f32.
struct NormalPair {
  Scalar even, odd;
};
NormalPair normalsOf(Scalar a, Scalar b);
/// An f64 of twice 64 bits.
Scalar normalOf(Scalar a, Scalar b);
/// In [lo, hi), both of the representation of `t`, of 64 bits.
Scalar integerOf(ir::DType t, Scalar random, Scalar lo, Scalar hi);

/// Element `element`, wherever it stands, of the random op `kind`: its block is computed for it alone. `seed`, `draw`
/// and `element` are I64; `lo` and `hi` are those of random_int.
Scalar emitRandom(ir::OpKind kind, ir::DType t, Scalar seed, Scalar draw, Scalar element, Scalar lo, Scalar hi);

/// Like elementwiseCost, of elements that follow each other.
int randomCost(ir::OpKind kind, ir::DType t);

}  // namespace tenc::codegen
