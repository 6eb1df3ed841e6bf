// The text that `print` and `assert` steps make of their operands.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/abi/Program.h"

namespace tenc::rt {

/// Pieces and operands of a step in turn, from tensors[firstText] on; `address` is that of each buffer, on the host.
std::string formatStep(const abi::Step& step, const std::vector<std::byte*>& address);

}  // namespace tenc::rt
