#include "syntax/NumPyParameters.h"

#include <algorithm>
#include <array>

namespace tenc::syntax {

namespace {

// Sorted, for the binary search.
constexpr std::array kOfOne = std::to_array<std::string_view>(
    {"abs",         "absolute", "acos",     "acosh",     "arccos",  "arccosh", "arcsin",         "arcsinh",
     "arctan",      "arctanh",  "asin",     "asinh",     "atan",    "atanh",   "bitwise_invert", "bitwise_not",
     "cbrt",        "ceil",     "conj",     "conjugate", "cos",     "cosh",    "deg2rad",        "degrees",
     "erf",         "exp",      "exp2",     "expm1",     "fabs",    "fix",     "floor",          "frexp",
     "invert",      "isfinite", "isinf",    "isnan",     "log",     "log10",   "log1p",          "log2",
     "logical_not", "modf",     "negative", "positive",  "rad2deg", "radians", "reciprocal",     "rint",
     "sign",        "signbit",  "sin",      "sinh",      "spacing", "sqrt",    "square",         "tan",
     "tanh",        "trunc"});
constexpr std::array kOfTwo = std::to_array<std::string_view>({"add",
                                                               "arctan2",
                                                               "atan2",
                                                               "bitwise_and",
                                                               "bitwise_left_shift",
                                                               "bitwise_or",
                                                               "bitwise_right_shift",
                                                               "bitwise_xor",
                                                               "copysign",
                                                               "divide",
                                                               "divmod",
                                                               "dot",
                                                               "equal",
                                                               "float_power",
                                                               "floor_divide",
                                                               "fmax",
                                                               "fmin",
                                                               "fmod",
                                                               "gcd",
                                                               "greater",
                                                               "greater_equal",
                                                               "heaviside",
                                                               "hypot",
                                                               "lcm",
                                                               "ldexp",
                                                               "left_shift",
                                                               "less",
                                                               "less_equal",
                                                               "logaddexp",
                                                               "logaddexp2",
                                                               "logical_and",
                                                               "logical_or",
                                                               "logical_xor",
                                                               "matmul",
                                                               "maximum",
                                                               "minimum",
                                                               "mod",
                                                               "multiply",
                                                               "nextafter",
                                                               "not_equal",
                                                               "outer",
                                                               "pow",
                                                               "power",
                                                               "remainder",
                                                               "right_shift",
                                                               "subtract",
                                                               "true_divide"});
static_assert(std::ranges::is_sorted(kOfOne) && std::ranges::is_sorted(kOfTwo));

using Names = std::span<const std::string_view>;
constexpr std::string_view kOut[] = {"out"};
constexpr std::string_view kAxisOut[] = {"axis", "out"};
constexpr std::string_view kAxisDtypeOut[] = {"axis", "dtype", "out"};
constexpr std::string_view kAxisKindOrder[] = {"axis", "kind", "order"};
constexpr std::string_view kExtremes[] = {"axis", "out", "keepdims", "initial", "where"};
constexpr std::string_view kSums[] = {"axis", "dtype", "out", "keepdims", "initial", "where"};
constexpr std::string_view kMeans[] = {"axis", "dtype", "out", "keepdims", "where"};
constexpr std::string_view kSpreads[] = {"axis", "dtype", "out", "ddof", "keepdims", "where"};
constexpr std::string_view kTests[] = {"axis", "out", "keepdims", "where"};
constexpr std::string_view kMedians[] = {"axis", "out", "overwrite_input", "keepdims"};
constexpr std::string_view kQuantiles[] = {"axis", "out", "overwrite_input", "method", "keepdims"};
constexpr std::string_view kAverage[] = {"axis", "weights", "returned"};
constexpr std::string_view kBincount[] = {"weights", "minlength"};
constexpr std::string_view kCounts[] = {"axis", "keepdims"};
constexpr std::string_view kDiff[] = {"n", "axis", "prepend", "append"};
constexpr std::string_view kRounds[] = {"decimals", "out"};
constexpr std::string_view kRepeat[] = {"axis"};
constexpr std::string_view kTake[] = {"axis", "out", "mode"};

struct Row {
  std::string_view name;
  size_t operands;
  Names behind;
  bool flattens = false;
};
constexpr std::array kOthers = std::to_array<Row>({{"all", 1, kTests},
                                                   {"amax", 1, kExtremes},
                                                   {"amin", 1, kExtremes},
                                                   {"any", 1, kTests},
                                                   {"argmax", 1, kAxisOut},
                                                   {"argmin", 1, kAxisOut},
                                                   {"argsort", 1, kAxisKindOrder, true},
                                                   {"around", 1, kRounds},
                                                   {"average", 1, kAverage},
                                                   {"bincount", 1, kBincount},
                                                   {"clip", 3, kOut},
                                                   {"concat", 1, kAxisOut, true},
                                                   {"concatenate", 1, kAxisOut, true},
                                                   {"count_nonzero", 1, kCounts},
                                                   {"cumprod", 1, kAxisDtypeOut},
                                                   {"cumsum", 1, kAxisDtypeOut},
                                                   {"diff", 1, kDiff},
                                                   {"max", 1, kExtremes},
                                                   {"mean", 1, kMeans},
                                                   {"median", 1, kMedians},
                                                   {"min", 1, kExtremes},
                                                   {"nanmax", 1, kExtremes},
                                                   {"nanmean", 1, kMeans},
                                                   {"nanmedian", 1, kMedians},
                                                   {"nanmin", 1, kExtremes},
                                                   {"nanpercentile", 2, kQuantiles},
                                                   {"nanprod", 1, kSums},
                                                   {"nanquantile", 2, kQuantiles},
                                                   {"nanstd", 1, kSpreads},
                                                   {"nansum", 1, kSums},
                                                   {"nanvar", 1, kSpreads},
                                                   {"percentile", 2, kQuantiles},
                                                   {"prod", 1, kSums},
                                                   {"ptp", 1, kTests},
                                                   {"quantile", 2, kQuantiles},
                                                   {"repeat", 2, kRepeat},
                                                   {"round", 1, kRounds},
                                                   {"sort", 1, kAxisKindOrder, true},
                                                   {"stack", 1, kAxisOut},
                                                   {"std", 1, kSpreads},
                                                   {"sum", 1, kSums},
                                                   {"take", 2, kTake},
                                                   {"var", 1, kSpreads}});
static_assert(std::ranges::is_sorted(kOthers, {}, &Row::name));

}  // namespace

NumPyParameters numPyParameters(std::string_view function) {
  if (std::ranges::binary_search(kOfOne, function)) return {1, kOut};
  if (std::ranges::binary_search(kOfTwo, function)) return {2, kOut};
  const auto row = std::ranges::lower_bound(kOthers, function, {}, &Row::name);
  if (row == kOthers.end() || row->name != function) return {};
  return {row->operands, row->behind, row->flattens};
}

}  // namespace tenc::syntax
