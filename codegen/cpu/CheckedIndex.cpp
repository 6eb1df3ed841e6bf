#include "codegen/cpu/CheckedIndex.h"

namespace tenc::codegen::cpu {

CheckedIndex checkIndex(LlvmScalars& s, Scalar index, const IndexRule& rule, const std::function<Scalar()>& asked) {
  const Scalar wrapped = rule.fromEnd ? select(index < 0.0, index + static_cast<double>(rule.size), index) : index;
  const Scalar outside = compare(Predicate::Uge, wrapped, like(wrapped, static_cast<double>(rule.extent)));
  s.setFault(outside, rule.fault,
             [&] { return LlvmScalars::BadIndex{asked(), rule.size - rule.extent + 1, rule.size, rule.axis}; });
  return {select(outside, 0.0, wrapped), outside};
}

}  // namespace tenc::codegen::cpu
