#include "syntax/ForeignFunctions.h"

#include <algorithm>
#include <array>

namespace tenc::syntax {

namespace {

// Sorted, for the binary search.
constexpr std::array kStatistics =
    std::to_array<std::string_view>({"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d",
                                     "SyncBatchNorm", "batch_norm_layer"});
constexpr std::array kDrawing = std::to_array<std::string_view>(
    {"AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout", "RReLU",
     "TransformerDecoderLayer", "TransformerEncoderLayer", "dropout_layer"});
constexpr std::array kOneArray = std::to_array<std::string_view>(
    {"abs",      "arange",    "asarray", "broadcast_to", "clamp", "clip",    "concat",   "copy",
     "cos",      "cumsum",    "diag",    "dot",          "exp",   "expand",  "flatten",  "flip",
     "full",     "linspace",  "log",     "matmul",       "mean",  "ones",    "outer",    "permute_dims",
     "quantile", "rand",      "randint", "randn",        "ravel", "reshape", "roll",     "round",
     "sin",      "solve",     "sqrt",    "stack",        "std",   "sum",     "tabulate", "tanh",
     "tensor",   "transpose", "uniform", "var",          "where", "zeros"});
constexpr std::array kSeveral =
    std::to_array<std::string_view>({"cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "sort"});
constexpr std::array kIndices = std::to_array<std::string_view>(
    {"arange", "argpartition", "argsort", "argwhere", "array", "as_tensor", "asarray", "concatenate", "flatnonzero",
     "linspace", "nonzero", "permutation", "randperm", "tensor", "tolist", "unique", "where"});
static_assert(std::ranges::is_sorted(kStatistics) && std::ranges::is_sorted(kDrawing) &&
              std::ranges::is_sorted(kOneArray) && std::ranges::is_sorted(kSeveral) &&
              std::ranges::is_sorted(kIndices));

}  // namespace

bool keepsStatistics(std::string_view layer) { return std::ranges::binary_search(kStatistics, layer); }
bool drawsInTraining(std::string_view layer) { return std::ranges::binary_search(kDrawing, layer); }
bool mayAskForMode(std::string_view name) {
  return keepsStatistics(name) || drawsInTraining(name) || name == "dropout" || name == "training";
}
bool givesOneArray(std::string_view function) { return std::ranges::binary_search(kOneArray, function); }
bool givesSeveralByDim(std::string_view function) { return std::ranges::binary_search(kSeveral, function); }
bool isInPlaceElsewhere(std::string_view method) { return method == "sort"; }

bool givesIndices(std::string_view function) { return std::ranges::binary_search(kIndices, function); }

namespace {
std::set<std::string, std::less<>> namesOfForm(ForeignCall::Form library) {
  std::set<std::string, std::less<>> found;
  for (const auto rows :
       {foreignOptionCalls(), foreignNumberCalls(), foreignTensorCalls(), foreignLayerCalls(), foreignFormulas()})
    for (const ForeignCall& row : rows) {
      std::string_view name = row.name();
      if (name.starts_with("torch.")) name.remove_prefix(6);
      if (row.form == library && name.find('.') == name.npos) found.emplace(name);
    }
  return found;
}
}  // namespace

const std::set<std::string, std::less<>>& namesOf(ForeignCall::Form library) {
  static const auto torch = namesOfForm(ForeignCall::Form::Torch), numpy = namesOfForm(ForeignCall::Form::NumPy),
                    python = namesOfForm(ForeignCall::Form::Python);
  static const std::set<std::string, std::less<>> none;
  switch (library) {
    case ForeignCall::Form::Torch: return torch;
    case ForeignCall::Form::NumPy: return numpy;
    case ForeignCall::Form::Python: return python;
    default: return none;
  }
}

}  // namespace tenc::syntax
