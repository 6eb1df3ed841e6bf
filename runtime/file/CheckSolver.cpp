#include "runtime/file/CheckSolver.h"

#include <algorithm>
#include <limits>

namespace tenc::rt {
namespace {

using Routine = abi::SolverCall::Routine;

constexpr uint64_t kIndexBytes = 8, kInfoBytes = 4;

/// A part of a matrix's memory.
struct Place {
  uint64_t at = 0, count = 0, each = 0;  ///< `count` elements of so many bytes
};

bool isInside(const Place& p, uint64_t bytes) {
  return p.count == 0 || (p.at % p.each == 0 && p.at <= bytes && p.count <= (bytes - p.at) / p.each);
}

/// Extents are at most those of an i32, so that no product of two is too large.
std::vector<Place> placesOf(const abi::SolverCall& c, uint64_t width) {
  const auto m = static_cast<uint64_t>(c.m), n = static_cast<uint64_t>(c.n), k = static_cast<uint64_t>(c.k);
  const Place info{c.info, 1, kInfoBytes}, square{c.a, n * n, width}, whole{c.a, m * n, width};
  switch (c.routine) {
    case Routine::Copy: return {whole, {c.b, m * n, width}};
    case Routine::Lu: return {square, {c.vector, n, kIndexBytes}, info};
    case Routine::LuSolve: return {square, {c.b, n * k, width}, {c.vector, n, kIndexBytes}, info};
    case Routine::Cholesky: return {square, info};
    case Routine::Qr: return {whole, {c.vector, std::min(m, n), width}, info};
    case Routine::Reflections: return {whole, {c.vector, k, width}, info};
    case Routine::Eigen: return {square, {c.vector, n, width}, info};
    case Routine::Singular:
      return {whole, {c.vector, n, width}, {c.b, m * k, width}, {c.c, k == 0 ? 0 : n * n, width}, info};
  }
  return {};
}

bool fits(const abi::SolverCall& c) {
  switch (c.routine) {
    case Routine::LuSolve: return c.k >= 1;
    case Routine::Reflections: return c.k >= 1 && c.k <= c.n && c.n <= c.m;
    case Routine::Singular: return c.m >= c.n && (c.k == 0 || c.k == c.n || c.k == c.m);
    default: return true;
  }
}

}  // namespace

std::string_view problemOf(const abi::SolverCode& code, uint64_t memoryBytes) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (code.dtype != abi::dtype::F32 && code.dtype != abi::dtype::F64) return "linear algebra is of no floats";
  const uint64_t width = code.dtype == abi::dtype::F32 ? 4 : 8;
  if (code.count < 1 || code.bytes % abi::kSolverAlignment != 0 || memoryBytes < abi::kSolverAlignment ||
      code.bytes > (memoryBytes - abi::kSolverAlignment) / static_cast<uint64_t>(code.count))
    return "linear algebra has no memory to work in";
  for (const abi::SolverCall& c : code.calls) {
    if (static_cast<size_t>(c.routine) >= abi::kSolverRoutines) return "linear algebra has an unknown step";
    if (c.m < 1 || c.n < 1 || c.k < 0 || std::max({c.m, c.n, c.k}) > kMost || !fits(c))
      return "linear algebra has no extents";
    for (const Place& p : placesOf(c, width))
      if (!isInside(p, code.bytes)) return "a step of linear algebra is outside of its memory";
  }
  return {};
}

}  // namespace tenc::rt
