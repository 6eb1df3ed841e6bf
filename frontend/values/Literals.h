// What a literal is before it has a dtype: shared by elementwise ops and array literals.
#pragma once
#include <optional>

#include "frontend/values/Values.h"

namespace tenc::frontend {

/// Whether the integer is one of `t`; true of what is no integer dtype.
bool fits(Int v, ir::DType t);
/// The integer of `to` that a float becomes: truncated, at most its largest and at least its least, 0 for NaN.
Int saturated(double v, ir::DType to);
/// Whether every number in the (nested) array is a literal that adopts a dtype.
bool adoptsWholly(const Val& v);
/// Whether the number, or one in the array, is a float.
bool hasFloat(const Val& v);
/// The dtype that literals have among themselves: that written for a `const` or a `param` among them, else i64 or f32.
ir::DType dtypeAlone(const std::vector<Val>& literals);
/// Of a tensor or an array, by how deep it is nested; 0 for numbers.
int64_t rankOf(const Val& v);
/// The dtype that the value has by itself; nullopt when it is no tensor or number.
std::optional<ir::DType> ownDType(const Val& v);

}  // namespace tenc::frontend
