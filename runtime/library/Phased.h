// Algorithms on one matrix in phases, whose items all threads share; of many matrices each is one item.
#pragma once
#include <utility>

#include "runtime/library/Matrix.h"

namespace tenc::rt::library {

/// A routine on one matrix at a time. `A` says how many phases there are (`phases`), what each is (`phase`), what
/// memory a thread needs (`scratchBytes`) and the matrix (`sharedBytes`), and computes an item of a phase (`step`),
/// which does not depend on how items are shared out. There are no destructors, since an interrupt leaves LAPACK's
/// functions by longjmp.
template <class A>
struct Phased {
  /// From so many matrices on, each is one item.
  static constexpr int64_t kMany = 8;

  static Plan plan(const Call& call) {
    const int64_t matrices = batch(call.operands[0], 2);
    if (matrices >= kMany) {
      double cost = 0;
      for (int64_t p = 0; p < A::phases(call); ++p)
        cost += A::phase(call, p).itemCost * static_cast<double>(A::phase(call, p).items);
      return {matrices, cost, shared(call) + A::scratchBytes(call)};
    }
    std::vector<Phase> phases;
    for (int64_t p = 0; p < A::phases(call); ++p) {
      phases.push_back(A::phase(call, p));
      phases.back().items *= matrices;
    }
    return {std::move(phases), A::scratchBytes(call), shared(call) * static_cast<size_t>(matrices)};
  }

  static Failure run(const Call& call, void* const* buffers, const Item& item) {
    Item at = item;
    if (batch(call.operands[0], 2) < kMany) {
      const int64_t items = A::phase(call, item.phase).items, matrix = item.number / items;
      at.number = item.number % items;
      at.shared = static_cast<std::byte*>(item.shared) + static_cast<size_t>(matrix) * shared(call);
      return A::step(call, buffers, matrix, at);
    }
    at.shared = item.scratch;
    at.scratch = static_cast<std::byte*>(item.scratch) + shared(call);
    for (at.phase = 0; at.phase < A::phases(call); ++at.phase) {
      const int64_t items = A::phase(call, at.phase).items;
      for (at.number = 0; at.number < items; ++at.number)
        if (const Failure f = A::step(call, buffers, item.number, at); f != Failure::None) return f;
    }
    return Failure::None;
  }

 private:
  static size_t shared(const Call& call) { return (A::sharedBytes(call) + 63) / 64 * 64; }
};

}  // namespace tenc::rt::library
