// OpenBLAS's kernels are those of what the processor can do, also where OpenBLAS is older than the processor.
#include <gtest/gtest.h>

#include <string>

extern "C" const char* gotoblas_corename();

namespace {

TEST(BlasProcessor, HasVectorsOfTheProcessor) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "a processor without AVX2";
  const std::string core = gotoblas_corename();
  EXPECT_TRUE(core == "Haswell" || core == "Zen" || core == "SkylakeX" || core == "Cooperlake") << core;
}

}  // namespace
