// What the schedules know of a processor's vector unit.
#pragma once
#include <cstdint>

namespace tenc::codegen::cpu {

struct VectorUnit {
  int registerBytes = 32;  ///< of vector registers: 64 with AVX-512, else 32
  /// What one operation takes in a cycle: half a register on Zen 4, whose loads so keep up with its arithmetic; a
  /// whole one elsewhere.
  int pathBytes = 32;
  bool pairs = false;             ///< multiplies pairs of bf16 and adds both to an f32 (AVX512-BF16)
  bool quads = false;             ///< multiplies four bytes, of u8 and of i8, and adds all to an i32 (AVX512-VNNI)
  bool prefetchesWrites = false;  ///< has an instruction for lines that are to be written (PRFCHW)
  /// Reads rows that are a multiple of 2 KiB apart, which meet in few sets of the caches, so slowly that products copy
  /// them: all but Zen, which loses little.
  bool crowds = false;
};

}  // namespace tenc::codegen::cpu
