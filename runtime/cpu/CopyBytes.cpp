#include "runtime/cpu/CopyBytes.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "runtime/cpu/ThreadPool.h"

namespace tenc::rt {
namespace {

constexpr uint64_t kPiece = uint64_t{1} << 18;  // bytes that a thread takes at once

struct Pieces {
  std::byte* to;
  const std::byte* from;
  uint64_t bytes;
};

void copyPieces(void* context, int, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const Pieces*>(context);
  const uint64_t first = static_cast<uint64_t>(begin) * kPiece;
  std::memcpy(p.to + first, p.from + first, std::min(p.bytes, static_cast<uint64_t>(end) * kPiece) - first);
}

}  // namespace

void copyBytes(ThreadPool& pool, std::byte* to, const std::byte* from, uint64_t bytes) {
  constexpr uint64_t kMuch = 4 * kPiece;
  const std::less_equal<> before;
  const bool apart = before(to + bytes, from) || before(from + bytes, to);
  if (bytes < kMuch || !apart) {
    std::memmove(to, from, bytes);
    return;
  }
  Pieces pieces{to, from, bytes};
  pool.run(static_cast<int64_t>((bytes + kPiece - 1) / kPiece), 1, copyPieces, &pieces);
}

}  // namespace tenc::rt
