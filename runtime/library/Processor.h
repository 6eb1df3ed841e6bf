// What the processor has, for routines that are compiled for several.
#pragma once

namespace tenc::rt::library {

/// The parts of AVX-512 that Highway's target AVX3 asks for.
inline bool hasAvx512() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512cd");
  return has;
}

}  // namespace tenc::rt::library
