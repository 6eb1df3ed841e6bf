// Python's `"loss %.2f" % loss` made into what TL writes.
#pragma once
#include <optional>
#include <string>

#include "frontend/values/Values.h"
#include "support/SourceFile.h"

namespace tenc::frontend {

/// `"{a} of {b:.2f}"` for `"%d of %.2f" % (a, b)`, whose operands are `format` and `values`; nullopt where they are not
/// written so that it follows.
std::optional<std::string> withBraces(const SourceManager& sources, const Val& format, const Val& values);

}  // namespace tenc::frontend
