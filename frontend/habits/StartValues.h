// What variables start from, where they are declared before the block that assigns them.
#pragma once
#include <optional>
#include <string>

#include "ir/Type.h"
#include "support/Diagnostics.h"

namespace tenc::frontend {

class Context;

/// Whether an expression reads a variable whose assignment is in error, so that its type may become another one.
bool mayChangeType(Context& context, Span expression);
/// Zeros of the type, as they are written.
std::string startOf(const ir::Type& t);
/// `best = None` of what keeps the least, or the greatest, of the values that it is compared with: an infinity instead.
std::optional<Help> extremeStart(Context& context, Span none);

/// `var r = 0` of what a loop makes a float, from where it is declared.
std::optional<Help> floatStart(Context& context, Span declared, ir::DType dtype);

/// The same from where the variable is read.
std::optional<Help> floatStartOf(Context& context, Span read);

/// `xs = concat([xs, row])`, whose shape changes from trip to trip of the loop around it.
/// `declared`: the variable.
std::optional<Help> ownShapes(Context& context, Span assignment, Span declared);

}  // namespace tenc::frontend
