// Tensor cores: mma.sync, and the moves of 8x8 matrices between shared memory and the registers of a warp.
#include "tests/cuda/vm/Access.h"
#include "tests/cuda/vm/Handlers.h"
#include "tests/cuda/vm/Operations.h"

namespace tenc::ptx {
namespace {

constexpr uint32_t kRows = 16, kColumns = 8, kDeepest = 32;

/// Element `e` of those in a register.
float element(MatrixType t, uint32_t word, uint32_t e) {
  switch (t) {
    case MatrixType::F16: return toFloat(Half{static_cast<uint16_t>(word >> 16 * e)});
    case MatrixType::Bf16: return toFloat(Bfloat{static_cast<uint16_t>(word >> 16 * e)});
    case MatrixType::Tf32: return std::bit_cast<float>(word & 0xFFFFE000);
    case MatrixType::S8: return static_cast<int8_t>(word >> 8 * e);
    case MatrixType::U8: return static_cast<uint8_t>(word >> 8 * e);
  }
  return 0;
}

/// Lane l has, of every 8x8 piece, row l / 4 and two columns from l % 4 * 2.
template <class F>
void forPiece(F f) {
  for (uint32_t l = 0; l < kLanes; ++l) f(l, l / 4, l % 4 * 2);
}

}  // namespace

bool wholeWarp(Warp& w, const Instruction& i) {
  if (!w.executing() || !w.converge(i, w.live())) return false;
  if (w.executing() != kAllLanes)
    w.fault(Finding::ShuffleMask, "an instruction of a whole warp, some lanes of which have returned");
  return true;
}

void executeMma(Warp& w, const Instruction& i) {
  if (!wholeWarp(w, i)) return;
  auto type = static_cast<MatrixType>(i.mode);
  uint32_t inWord = type == MatrixType::Tf32 ? 1 : type <= MatrixType::Bf16 ? 2 : 4, k = i.variant;
  uint32_t ofA = i.vector, ofB = ofA / 2, ofC = i.sources - ofA - ofB;
  if (ofC != 4 || k > kDeepest || ofA * kLanes * inWord != kRows * k)
    w.fault(Finding::Unsupported, "a shape that the machine does not know");
  alignas(64) float a[kRows][kDeepest], b[kDeepest][kColumns];
  for (uint32_t l = 0; l < kLanes; ++l) {
    uint32_t row = l / 4, first = l % 4 * inWord;
    for (uint32_t e = 0; e < inWord; ++e) {
      for (uint32_t r = 0; r < ofA; ++r)
        a[row + r % 2 * 8][first + e + r / 2 * 4 * inWord] = element(type, w.read<uint32_t>(i.from[r])[l], e);
      for (uint32_t r = 0; r < ofB; ++r)
        b[first + e + r * 4 * inWord][row] = element(type, w.read<uint32_t>(i.from[ofA + r])[l], e);
    }
  }
  // The hardware's order and roundings are not known: products are exact, and the sum is rounded once.
  double sums[kRows][kColumns] = {};
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t n = 0; n < k; ++n) {
      for (uint32_t c = 0; c < kColumns; ++c)
        sums[row][c] += static_cast<double>(a[row][n]) * static_cast<double>(b[n][c]);
    }
  }
  for (uint32_t r = 0; r < ofC; ++r) {
    alignas(64) uint32_t values[kLanes];
    const uint32_t* c = w.read<uint32_t>(i.from[ofA + ofB + r]);
    forPiece([&](uint32_t l, uint32_t row, uint32_t column) {
      double sum = sums[row + r / 2 * 8][column + r % 2];
      values[l] =
          type >= MatrixType::S8
              ? c[l] + static_cast<uint32_t>(static_cast<int32_t>(sum))
              : std::bit_cast<uint32_t>(static_cast<float>(sum + static_cast<double>(std::bit_cast<float>(c[l]))));
    });
    w.write(i.to[r], values);
  }
}

void executeLoadMatrix(Warp& w, const Instruction& i) {
  if (!wholeWarp(w, i)) return;
  Access a(w, i.address, i.offset);
  a.resolve(i.destinations == 4 ? kAllLanes : (1u << 8 * i.destinations) - 1, Space::Shared, 16, AccessKind::Read);
  a.check();
  for (uint32_t m = 0; m < i.destinations; ++m) {  // lanes 8m to 8m + 7 have the addresses of the rows
    alignas(64) uint32_t values[kLanes];
    forPiece([&](uint32_t l, uint32_t row, uint32_t column) {
      uint16_t pair[2];
      for (uint32_t n = 0; n < 2; ++n) {
        const uint8_t* from = i.mode ? a[8 * m + column + n] + row * 2 : a[8 * m + row] + (column + n) * 2;
        std::memcpy(&pair[n], from, sizeof pair[n]);
      }
      values[l] = uint32_t{pair[1]} << 16 | pair[0];
    });
    w.write(i.to[m], values);
  }
}

void executeStoreMatrix(Warp& w, const Instruction& i) {
  if (!wholeWarp(w, i)) return;
  Access a(w, i.address, i.offset);
  a.resolve(i.sources == 4 ? kAllLanes : (1u << 8 * i.sources) - 1, Space::Shared, 16, AccessKind::Write);
  for (uint32_t m = 0; m < i.sources; ++m) {
    const uint32_t* values = w.read<uint32_t>(i.from[m]);
    forPiece([&](uint32_t l, uint32_t row, uint32_t column) {
      for (uint32_t n = 0; n < 2; ++n) {
        uint8_t* to = i.mode ? a[8 * m + column + n] + row * 2 : a[8 * m + row] + (column + n) * 2;
        auto half = static_cast<uint16_t>(values[l] >> 16 * n);
        std::memcpy(to, &half, sizeof half);
      }
    });
  }
  a.check();
}

}  // namespace tenc::ptx
