// Host functions that compiled code may call element by element: the rare functions without a vector body.
#pragma once
#include <cstdint>
#include <string_view>

namespace tenc::rt {

/// Address of a function that generated code names (`tenc_lgamma`, `sin`, ...), or null.
void* hostFunction(std::string_view name);

}  // namespace tenc::rt
