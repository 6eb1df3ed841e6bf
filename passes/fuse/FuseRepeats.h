// Where the elements of an inlined value are computed for a kernel, and whether a large one that several read is better
// computed for each of them than stored.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "ir/Ir.h"

namespace tenc::passes::fusion {

/// One evaluation of a value: at the point at hand of `from`, moved by so much along each dim. Slices move; what is
/// read through another index map has that as its `from`, whose own places are numbered.
struct EvaluationPlace {
  const ir::Op* from = nullptr;
  size_t number = 0;
  ir::Dims moved;
  bool operator==(const EvaluationPlace&) const = default;
};
using EvaluationPlaces = std::vector<EvaluationPlace>;

/// Where the operands of `op` are evaluated when it is evaluated at these places.
EvaluationPlaces placesOfOperands(const ir::Op& op, const EvaluationPlaces& places);

/// Adds those that are not there yet. More than some are not told apart.
void addPlaces(EvaluationPlaces& to, const EvaluationPlaces& more);

/// Whether caches do not hold it.
bool isLarge(const ir::Value& v);

/// Whether computing the large result of `op` at each of `places` takes less time than sending it to memory beyond the
/// caches and back: then the ops that it consists of and whose users are all among these. `isCheap`: what may be
/// computed again.
std::optional<std::vector<const ir::Op*>> betterRepeated(const ir::Op& op, const EvaluationPlaces& places,
                                                         const std::function<bool(const ir::Value&)>& isCheap);

}  // namespace tenc::passes::fusion
