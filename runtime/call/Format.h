// The text that `print` and `assert` steps make of their operands.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/abi/Program.h"

namespace tenc::rt {

/// `address` is that of each buffer, on the host.
std::string formatText(const abi::Text& text, const std::vector<std::byte*>& address);

}  // namespace tenc::rt
