#include "codegen/cpu/Transpose.h"

namespace tenc::codegen::cpu {
using llvm::Value;

void transposeSquare(llvm::IRBuilderBase& b, Values& rows) {
  const int n = static_cast<int>(rows.size());
  // log2(n) rounds; each interleaves pairs of vectors that are `half` apart.
  for (int half = 1; half < n; half *= 2) {
    llvm::SmallVector<int, 64> low, high;
    for (int i = 0; i < n; ++i) {
      const bool second = (i / half) % 2 != 0;
      low.push_back(second ? n + i - half : i);
      high.push_back(second ? n + i : i + half);
    }
    for (int i = 0; i < n; ++i) {
      if ((i / half) % 2 != 0) continue;
      auto x = static_cast<size_t>(i), y = static_cast<size_t>(i + half);
      Value *a = rows[x], *c = rows[y];
      rows[x] = b.CreateShuffleVector(a, c, low);
      rows[y] = b.CreateShuffleVector(a, c, high);
    }
  }
}

}  // namespace tenc::codegen::cpu
