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

void transposeSquares(llvm::IRBuilderBase& b, Values& rows) {
  const int size = static_cast<int>(rows.size());
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(rows[0]->getType())->getNumElements());
  // Each round interleaves the lower and the upper halves of pieces, in runs of `run` elements: instructions that stay
  // within 16 bytes. A group of vectors that belong together has a run of all their rows in each of its columns.
  for (int run = 1; run < size; run *= 2) {
    llvm::SmallVector<int, 64> low, high;
    for (int i = 0; i < lanes; ++i) {
      const int piece = i / size * size, at = i % size;
      const int from = piece + at / (2 * run) * run + at % run + (at / run % 2 != 0 ? lanes : 0);
      low.push_back(from);
      high.push_back(from + size / 2);
    }
    Values next;
    for (int group = 0; group < size; group += 2 * run)
      for (int column = 0; column < run; ++column) {
        Value *x = rows[static_cast<size_t>(group + column)], *y = rows[static_cast<size_t>(group + run + column)];
        next.push_back(b.CreateShuffleVector(x, y, low));
        next.push_back(b.CreateShuffleVector(x, y, high));
      }
    rows = std::move(next);
  }
}

}  // namespace tenc::codegen::cpu
