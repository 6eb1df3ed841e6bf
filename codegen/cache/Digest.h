// Digests name what is kept, and tell whether it is whole.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace tenc::codegen {

using Digest = std::array<uint8_t, 32>;
/// BLAKE3.
Digest digestOf(std::string_view text);
inline std::string_view textOf(const Digest& d) { return {reinterpret_cast<const char*>(d.data()), d.size()}; }

}  // namespace tenc::codegen
