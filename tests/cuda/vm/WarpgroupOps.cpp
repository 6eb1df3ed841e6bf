// wgmma: products of a warpgroup, whose operands lie in shared memory as descriptors say. Each warp does its 16 rows of
// the
// 64. Results arrive when they are waited for, as late as the rules allow, or at once where warps run ahead.
#include <algorithm>

#include "tests/cuda/vm/Handlers.h"
#include "tests/cuda/vm/Launch.h"
#include "tests/cuda/vm/Operations.h"
#include "tests/cuda/vm/SharedMatrix.h"

namespace tenc::ptx {
namespace {

constexpr uint32_t kRows = 16, kTerms = SharedMatrix::kTerms, kPiece = SharedMatrix::kPiece,
                   kPieceBytes = SharedMatrix::kPieceBytes, kMostColumns = 256, kWarps = 4;

double element(MatrixType t, uint16_t bits) {
  return static_cast<double>(t == MatrixType::F16 ? toFloat(Half{bits}) : toFloat(Bfloat{bits}));
}

/// What lies in shared memory, to places a distance of `ofLine` and `ofTerm` apart.
void loadMatrix(Warp& w, const SharedMatrix& m, uint32_t first, uint32_t lines, MatrixType type, double* to,
                size_t ofLine, size_t ofTerm) {
  const uint8_t* shared = w.block().shared.data() - kSharedBase;
  m.forPieces(first, lines, [&](uint32_t line, uint32_t term, uint32_t address) {
    uint16_t bits[kPiece];
    std::memcpy(bits, shared + address, sizeof bits);
    double* at = to + (line - first) * ofLine + term * ofTerm;
    const size_t next = m.transposed() ? ofLine : ofTerm;
    for (uint32_t e = 0; e < kPiece; ++e) at[e * next] = element(type, bits[e]);
  });
}

const WarpgroupProduct& productOf(const Warp& w, uint32_t pc) {
  const Kernel& k = w.launch().kernel;
  return k.products[static_cast<size_t>(k.code[pc].offset)];
}

uint32_t rowOf(const Warp& w) { return w.index() % kWarps * kRows; }

/// Calls f(offset) for all pieces of shared memory that a warp reads for a product.
template <class F>
void forReads(Warp& w, const PendingProduct& pending, F f) {
  const WarpgroupProduct& p = productOf(w, pending.pc);
  auto each = [&](uint32_t, uint32_t, uint32_t address) { f(address - kSharedBase); };
  if (p.a.empty()) SharedMatrix(pending.a, p.transposedA).forPieces(rowOf(w), kRows, each);
  SharedMatrix(pending.b, p.transposedB).forPieces(0, p.columns, each);
}

void checkMatrix(Warp& w, const SharedMatrix& m, uint32_t lines) {
  if (const char* mistake = m.mistake(lines)) w.fault(Finding::Misaligned, mistake);
  const uint32_t bytes = w.launch().sharedBytes;
  m.forPieces(0, lines, [&](uint32_t, uint32_t, uint32_t address) {
    const uint32_t offset = address - kSharedBase;  // far behind the end where the address is less
    if (offset >= bytes || bytes - offset < kPieceBytes)
      w.fault(Finding::OutOfRange, "a matrix at offset " + std::to_string(static_cast<int32_t>(offset)) + " of " +
                                       std::to_string(bytes) + " bytes of shared memory");
  });
}

/// What is read has to be there, and made known to who reads it. It may be read from now on.
void beginReads(Warp& w, const PendingProduct& pending) {
  const Options& o = w.launch().options;
  SharedMemory& shared = w.block().shared;
  SharedMemory::Accessor accessor = shared.accessor(w.index(), AccessKind::Read, pending.pc);
  auto at = [](uint32_t offset) { return "it reads offset " + std::to_string(offset); };
  auto by = [&](const SharedMemory::Conflict& c) {
    return "the " + std::string(nameOf(c.kind)) + " by thread " + std::to_string(c.thread) + " at " +
           w.launch().kernel.describe(c.pc);
  };
  forReads(w, pending, [&](uint32_t offset) {
    if (o.initialisation && !shared.initialised(offset, kPieceBytes))
      w.report(Finding::UninitialisedShared, at(offset));
    if (!o.races) return;
    if (const auto c = accessor.access(0, offset, kPieceBytes, false); c.found)
      w.report(Finding::SharedRace, at(offset) + "; nothing orders that and " + by(c));
    if (const auto c = shared.unfenced(w.index(), offset, kPieceBytes); c.found)
      w.report(Finding::ProxyFence,
               at(offset) + "; no fence.proxy.async follows " + by(c) + ", or none that is known here");
    shared.proxy.beginRead(offset, pending.pc);
  });
}

/// It may have been read until now: what was written meanwhile is a race.
void endReads(Warp& w, const PendingProduct& pending) {
  if (!w.launch().options.races) return;
  const Kernel& k = w.launch().kernel;
  SharedMemory& shared = w.block().shared;
  SharedMemory::Accessor accessor = shared.accessor(w.index(), AccessKind::Read, pending.pc);
  forReads(w, pending, [&](uint32_t offset) {
    if (const auto c = accessor.access(0, offset, kPieceBytes, false); c.found)
      w.report(Finding::SharedRace, "the product of " + k.describe(pending.pc) + " reads offset " +
                                        std::to_string(offset) + " until now; nothing orders that and the " +
                                        nameOf(c.kind) + " by thread " + std::to_string(c.thread) + " at " +
                                        k.describe(c.pc));
    shared.proxy.endRead(offset);
  });
}

/// Cycles of shared memory, 128 bytes each: A and B are read once for all four warps.
void countReads(Warp& w, const WarpgroupProduct& p) {
  InstructionCounters& c = w.launch().counters.at[w.pc()];
  const uint32_t pieces = (p.a.empty() ? 2 * kRows : 0) + 2 * p.columns / kWarps;
  c.sharedCycles += pieces / 8;
  c.idealSharedCycles += pieces / 8;
}

void compute(Warp& w, const PendingProduct& pending) {
  const WarpgroupProduct& p =
      w.launch().kernel.products[static_cast<size_t>(w.launch().kernel.code[pending.pc].offset)];
  alignas(64) double a[kRows][kTerms], b[kTerms][kMostColumns];
  if (p.a.empty()) {
    loadMatrix(w, SharedMatrix(pending.a, p.transposedA), rowOf(w), kRows, p.type, a[0], kTerms, 1);
  } else {  // as of mma.sync
    for (uint32_t r = 0; r < 4; ++r) {
      const uint32_t* values = w.read<uint32_t>(p.a[r]);
      for (uint32_t l = 0; l < kLanes; ++l) {
        for (uint32_t e = 0; e < 2; ++e)
          a[l / 4 + r % 2 * 8][l % 4 * 2 + e + r / 2 * 8] = element(p.type, static_cast<uint16_t>(values[l] >> 16 * e));
      }
    }
  }
  loadMatrix(w, SharedMatrix(pending.b, p.transposedB), 0, p.columns, p.type, b[0], 1, kMostColumns);
  const double sign = p.negateA == p.negateB ? 1 : -1;
  // As of mma.sync, products are exact, and the sum is rounded once.
  alignas(64) double sums[kRows][kMostColumns] = {};
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t k = 0; k < kTerms; ++k) {
      for (uint32_t c = 0; c < p.columns; ++c) sums[row][c] += a[row][k] * b[k][c];
    }
  }
  for (uint32_t r = 0; r < p.d.size(); ++r) {
    float* d = w.lanes<float>(p.d[r]);
    for (uint32_t l = 0; l < kLanes; ++l) {
      const double sum = sign * sums[l / 4 + r % 4 / 2 * 8][r / 4 * 8 + l % 4 * 2 + r % 2];
      d[l] = static_cast<float>(pending.accumulate ? sum + static_cast<double>(d[l]) : sum);
    }
  }
}

}  // namespace

void executeWarpgroupProduct(Warp& w, const Instruction& i) {
  if (!w.executing()) return;
  const WarpgroupProduct& p = productOf(w, w.pc());
  PendingProduct pending{.group = w.warpgroup.group, .pc = w.pc()};
  bool same = true;
  auto descriptor = [&](Slot s) {
    const uint64_t* all = w.read<uint64_t>(s);
    for (uint32_t l = 0; l < kLanes; ++l) same &= all[l] == all[0];
    return all[0];
  };
  if (p.a.empty()) pending.a = descriptor(p.describesA);
  pending.b = descriptor(p.describesB);
  const Mask accumulate = w.predicate(p.accumulate, p.accumulateNegated);
  pending.accumulate = accumulate & 1;
  same &= !accumulate || accumulate == kAllLanes;
  if (!togetherInWarpgroup(w, i, pending)) return;
  if (!same) w.fault(Finding::WarpgroupMismatch, "lanes of warp " + std::to_string(w.index()) + " have other operands");
  if (p.a.empty()) checkMatrix(w, SharedMatrix(pending.a, p.transposedA), kWarps * kRows);
  checkMatrix(w, SharedMatrix(pending.b, p.transposedB), p.columns);
  takeRegisters(w, p);
  beginReads(w, pending);
  if (w.launch().options.counters) countReads(w, p);
  pending.computed = w.launch().options.order == Order::RunAhead;
  if (pending.computed) compute(w, pending);
  w.warpgroup.products.push_back(pending);
}

void executeWarpgroupFence(Warp& w, const Instruction& i) {
  if (w.executing() && togetherInWarpgroup(w, i, {})) fenceRegisters(w);
}

void executeCommitProducts(Warp& w, const Instruction& i) {
  if (w.executing() && togetherInWarpgroup(w, i, {})) ++w.warpgroup.group;
}

void executeWaitProducts(Warp& w, const Instruction& i) {
  if (!w.executing() || !togetherInWarpgroup(w, i, {})) return;
  std::erase_if(w.warpgroup.products, [&](const PendingProduct& p) {
    if (p.group + i.mode + 1 > w.warpgroup.group) return false;
    if (!p.computed) compute(w, p);
    endReads(w, p);
    giveRegisters(w, productOf(w, p.pc));
    return true;
  });
}

void executeProxyFence(Warp& w, const Instruction&) {
  SharedMemory& s = w.block().shared;
  if (w.executing() && s.proxy.used()) s.proxy.fence(w.index(), w.executing(), s.clock(w.index())[w.index()]);
}

}  // namespace tenc::ptx
