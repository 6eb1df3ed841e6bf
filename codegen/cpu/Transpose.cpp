#include "codegen/cpu/Transpose.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

/// Hides the vectors from what looks for shorter sequences of shuffles: these are the shortest, and the search takes
/// several times as long as all else that is done with them.
void keepApart(llvm::IRBuilderBase& b, Values& vectors) {
  auto* type = vectors[0]->getType();
  const uint64_t bits = type->getPrimitiveSizeInBits().getFixedValue();
  if (bits % 32 != 0) return;
  auto* floats = llvm::FixedVectorType::get(b.getFloatTy(), static_cast<unsigned>(bits / 32));
  for (Value*& v : vectors) {
    Value* kept = b.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {floats}, {b.CreateBitCast(v, floats)});
    v = b.CreateBitCast(kept, type);
  }
}

/// Groups of `size` elements instead of elements: group i of vector j becomes group j of vector i.
Values transposeGroups(llvm::IRBuilderBase& b, const Values& vectors, int size) {
  if (vectors.size() == 1) return vectors;
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(vectors[0]->getType())->getNumElements());
  llvm::SmallVector<int, 64> even, odd;
  for (int from = 0; from < 2 * lanes; from += 2 * size)
    for (int i = 0; i < size; ++i) {
      even.push_back(from + i);
      odd.push_back(from + size + i);
    }
  Values evens, odds;
  for (size_t i = 0; i < vectors.size(); i += 2) {
    evens.push_back(b.CreateShuffleVector(vectors[i], vectors[i + 1], even));
    odds.push_back(b.CreateShuffleVector(vectors[i], vectors[i + 1], odd));
  }
  if (vectors.size() > 2) {
    keepApart(b, evens);
    keepApart(b, odds);
  }
  evens = transposeGroups(b, evens, size);
  odds = transposeGroups(b, odds, size);
  Values all;
  for (size_t i = 0; i < evens.size(); ++i) all.insert(all.end(), {evens[i], odds[i]});
  return all;
}

}  // namespace

void transposeSquare(llvm::IRBuilderBase& b, Values& rows) {
  const size_t bytes = rows[0]->getType()->getScalarSizeInBits() / 8;
  const size_t size = std::min(rows.size(), static_cast<size_t>(stripOf(static_cast<int64_t>(bytes)))),
               count = rows.size() / size;
  for (size_t group = 0; group < rows.size(); group += size) {
    const auto first = rows.begin() + static_cast<long>(group);
    Values square(first, first + static_cast<long>(size));
    transposeSquares(b, square);
    if (count > 1) keepApart(b, square);
    std::copy(square.begin(), square.end(), first);
  }
  Values turned(rows.size());
  for (size_t column = 0; column < size; ++column) {
    Values groups;
    for (size_t group = 0; group < count; ++group) groups.push_back(rows[group * size + column]);
    groups = transposeGroups(b, groups, static_cast<int>(size));
    for (size_t group = 0; group < count; ++group) turned[group * size + column] = groups[group];
  }
  rows = std::move(turned);
}

void transposeSquares(llvm::IRBuilderBase& b, Values& rows) {
  const int size = static_cast<int>(rows.size());
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(rows[0]->getType())->getNumElements());
  // Each round interleaves the lower and the upper halves of pieces, in runs of `run` elements: instructions that stay
  // within 16 bytes. A group of vectors that belong together has a run of all their rows in each of its columns.
  for (int run = 1; run < size; run *= 2) {
    if (run > 1) keepApart(b, rows);
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

Values stripsAcross(llvm::IRBuilderBase& b, Values rows) {
  transposeSquares(b, rows);
  const auto size = static_cast<unsigned>(rows.size());
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(rows[0]->getType())->getNumElements();
  Values strips;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    llvm::SmallVector<int, 16> strip;
    for (unsigned i = 0; i < size; ++i) strip.push_back(static_cast<int>(lane / size * size + i));
    strips.push_back(b.CreateShuffleVector(rows[lane % size], strip));
  }
  return strips;
}

}  // namespace tenc::codegen::cpu
