// Compile-time numbers in the dtypes that they are of.
#pragma once
#include <optional>
#include <string_view>

#include "frontend/values/Values.h"

namespace tenc::frontend {

/// What a binary operator computes of elements; nullopt for `@`, `|>` and what is none.
std::optional<ir::OpKind> operatorNamed(std::string_view op);
/// The number that the low bits of `i` are in `to`.
Int fitted(Int i, ir::DType to);
/// To a float dtype; to 16 bits through f32, as everywhere.
double rounded(double v, ir::DType t);
/// An integer or float as a double.
double asDouble(const Val& v);
/// A compile-time number as float dtype `t`, rounded once.
double asFloat(const Val& v, ir::DType t);

}  // namespace tenc::frontend
