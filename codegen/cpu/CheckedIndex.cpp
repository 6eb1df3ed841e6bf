#include "codegen/cpu/CheckedIndex.h"

namespace tenc::codegen::cpu {

CheckedIndex checkIndex(LlvmScalars& s, Scalar index, const IndexRule& rule, const std::function<Scalar()>& asked) {
  const Scalar wrapped = rule.fromEnd ? select(index < 0.0, index + static_cast<double>(rule.size), index) : index;
  const Scalar outside = compare(Predicate::Uge, wrapped, like(wrapped, static_cast<double>(rule.extent)));
  const auto bad = [&] { return LlvmScalars::BadIndex{asked(), rule.size - rule.extent + 1, rule.size, rule.axis}; };
  llvm::Value* at = LlvmScalars::value(wrapped);
  if (!at->getType()->isVectorTy() && s.mask() == nullptr) {
    // The branch to the fault comes back with 0: nothing on the way of an index in range waits for the comparison.
    at = s.setFault(outside, rule.fault, bad, at, llvm::Constant::getNullValue(at->getType()));
    return {s.wrap(at, wrapped.repr), outside};
  }
  s.setFault(outside, rule.fault, bad);
  return {select(outside, 0.0, wrapped), outside};
}

}  // namespace tenc::codegen::cpu
