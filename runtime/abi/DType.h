// The codes of dtypes in programs and for the runtime. They are those of ir::DType, which codegen holds to them.
#pragma once
#include <array>
#include <cstdint>

namespace tenc::abi::dtype {

inline constexpr uint8_t F16 = 0, BF16 = 1, F32 = 2, F64 = 3, I8 = 4, I16 = 5, I32 = 6, I64 = 7, U8 = 8, U16 = 9,
                         U32 = 10, U64 = 11, Bool = 12;
inline constexpr uint8_t kCount = 13;
/// Bytes of an element; a bool is one, 0 or 1.
inline constexpr std::array<uint8_t, kCount> kBytes = {2, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1};

}  // namespace tenc::abi::dtype
