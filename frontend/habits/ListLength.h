// How many elements a list or tuple has, as other languages ask for it.
#pragma once
#include <optional>

#include "support/Diagnostics.h"

namespace tenc::frontend {

class Context;

/// `xs.shape[0]`, `xs.len()`, `xs.length` of a list or tuple, where `member` is the name: `xs.size`.
std::optional<Help> lengthOfList(Context& context, Span member);

}  // namespace tenc::frontend
