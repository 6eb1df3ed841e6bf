// What the operands of an op agree on.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;

/// The dtype that the operands of an elementwise op agree on by section 2 of the language; reports E0201.
std::optional<ir::DType> commonDType(Context& context, const std::vector<Val>& operands, Span span,
                                     std::string_view opName);
/// Reports a value of another dtype than the variable, or the part of one, that `op` updates with it.
bool changesDType(Context& context, const Val& old, const Val& value, std::string_view op, Span span, Span declared);
/// Whether a tensor of that shape has a size; reports E0208.
bool countable(Context& context, const ir::Dims& shape, Span span, std::string_view opName);

}  // namespace tenc::frontend
