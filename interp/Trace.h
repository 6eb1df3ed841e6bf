// What the ops of the interpreter leave on the tape: for each element of a result the numbers that it is made of.
#pragma once
#include "interp/Tape.h"
#include "interp/TensorOps.h"

namespace tenc::interp {

/// Element i with its place.
inline Var varAt(const Tensor& t, int64_t i) {
  return {at(t, i).f, t.places ? (*t.places)[static_cast<size_t>(i)] : Var::kNone};
}
/// Sets the places of a tensor's elements; none where no element has one.
void setPlaces(Tensor& t, std::vector<int64_t> places);

/// Gives the results of an op, which has been run, their places. Fails where the interpreter has no rule.
MaybeFailure trace(const ir::Op& op, Operands in, std::span<Tensor> out, Tape& tape);

}  // namespace tenc::interp
