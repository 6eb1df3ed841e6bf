// Lists of Python that a function computes with as wholes: `def f(a, b): return a + b` of `f([1], [2])`.
#pragma once
#include <cstddef>
#include <string_view>

namespace tenc::syntax {

/// Whether the function of Python that `def` declares there, or a `lambda` that has a name, joins, repeats or compares
/// parameters that calls in the text give lists.
bool computesWithLists(std::string_view text, size_t def);

}  // namespace tenc::syntax
