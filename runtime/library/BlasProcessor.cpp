// OpenBLAS chooses its kernels by the model numbers of the processors that it knows. One that came later gets those of
// the oldest, for SSE3, which take up to six times as long. The linker hands the choice to this function (`--wrap`,
// runtime/CMakeLists.txt), which looks at what the processor can do. A choice of the user's (OPENBLAS_CORETYPE) stays.
#include <cstdlib>
#include <string_view>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the names that the linker gives
void __real_gotoblas_dynamic_init();
void __wrap_gotoblas_dynamic_init();
// NOLINTEND(bugprone-reserved-identifier)
void gotoblas_dynamic_quit();
const char* gotoblas_corename();
}

namespace {

constexpr const char* kCore = "OPENBLAS_CORETYPE";

/// The kernels of OpenBLAS for what the processor can do; null where those are as good that it chooses.
const char* betterThan(std::string_view chosen) {
  for (const std::string_view known : {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"})
    if (chosen == known) return nullptr;
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return nullptr;
  if (!__builtin_cpu_is("intel")) return "Zen";
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512cd");
  return wide ? "SkylakeX" : "Haswell";
}

}  // namespace

/// Runs once, before `main`: no other thread reads the environment.
void __wrap_gotoblas_dynamic_init() {  // NOLINT(bugprone-reserved-identifier)
  __real_gotoblas_dynamic_init();
  const char* better = std::getenv(kCore) ? nullptr : betterThan(gotoblas_corename());
  if (!better) return;
  gotoblas_dynamic_quit();
  setenv(kCore, better, 1);
  __real_gotoblas_dynamic_init();
  unsetenv(kCore);
}
