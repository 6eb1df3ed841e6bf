#include "runtime/library/SortElements.h"

namespace tenc::rt::library {
namespace {

/// f16 and bf16 bits as those of an f32 of the same order: sign, then exponent and mantissa moved up. NaNs of f16 need
/// an exponent of all ones.
uint32_t widenedFloat(uint8_t dtype, uint16_t x) {
  if (dtype == abi::dtype::BF16) return uint32_t{x} << 16;
  const uint32_t sign = uint32_t{x & 0x8000u} << 16, rest = x & 0x7fffu;
  return sign | (rest > 0x7c00u ? 0x7f800000u | rest : rest << 13);
}

}  // namespace

uint32_t widened(uint8_t dtype, const void* row, size_t i) {
  switch (dtype) {
    case abi::dtype::F16:
    case abi::dtype::BF16: return widenedFloat(dtype, static_cast<const uint16_t*>(row)[i]);
    case 4: return static_cast<uint32_t>(static_cast<int32_t>(static_cast<const int8_t*>(row)[i]));
    case 5: return static_cast<uint32_t>(static_cast<int32_t>(static_cast<const int16_t*>(row)[i]));
    case 9: return static_cast<const uint16_t*>(row)[i];
    default: return static_cast<const uint8_t*>(row)[i];
  }
}

void widen(uint8_t dtype, const void* row, uint32_t* wide, size_t n) {
  for (size_t i = 0; i < n; ++i) wide[i] = widened(dtype, row, i);
}

void narrow(uint8_t dtype, const uint32_t* wide, void* out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const uint32_t w = wide[i];
    if (abi::dtype::kBytes[dtype] == 1) {
      static_cast<uint8_t*>(out)[i] = static_cast<uint8_t>(w);
    } else if (dtype == abi::dtype::BF16) {
      static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(w >> 16);
    } else if (dtype == abi::dtype::F16) {
      const uint32_t sign = w >> 16 & 0x8000u, rest = w & 0x7fffffffu;
      static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(sign | (rest > 0x7f800000u ? rest & 0x7fffu : rest >> 13));
    } else {
      static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(w);
    }
  }
}

}  // namespace tenc::rt::library
