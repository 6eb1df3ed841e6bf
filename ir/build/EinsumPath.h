// In which order an einsum multiplies its operands, two at a time.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenc::ir {

struct EinsumPath {
  /// Two operands, the earlier one first; their product takes the place of the first, and the second is gone.
  using Pair = std::pair<size_t, size_t>;
  std::vector<Pair> pairs;
};

/// Up to this many operands the order is the cheapest of all. Of more, the first pairs, until so many are left, are
/// those whose products add the fewest elements, or those that cost least, whichever is cheaper in the end.
constexpr size_t kEinsumExact = 10;
/// What an element of a product costs, to be written and read again, in multiplications.
constexpr double kEinsumElement = 8;

/// The order of least cost, a product costing a multiplication for each combination of its operands' letters, and
/// `kEinsumElement` for each element of the result. Of equal orders the one nearest to from left to right. An operand
/// has every letter once, and none that neither the result nor another operand has. It follows from the arguments
/// alone, so that results have the same bits everywhere.
EinsumPath einsumPath(const std::vector<std::string>& letters, std::string_view out,
                      const std::map<char, int64_t>& sizes);

}  // namespace tenc::ir
