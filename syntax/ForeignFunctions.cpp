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
constexpr std::array kListsOfArrays = std::to_array<std::string_view>(
    {"array_split", "chunk", "dsplit", "hsplit", "split", "tensor_split", "unbind", "vsplit"});
constexpr std::array kNumbersOfArrays = std::to_array<std::string_view>(
    {"amax", "amin", "argmax", "argmin", "bincount", "choice",  "count_nonzero", "cumsum", "dot",   "integers",
     "item", "max",  "min",    "prod",   "ptp",      "randint", "searchsorted",  "sum",    "trace", "vdot"});
constexpr std::array kMethods = std::to_array<std::string_view>(
    {"argsort",        "astype",   "bfloat16", "bool", "byte",    "clamp",       "contiguous", "cpu",     "double",
     "expand_as",      "float",    "half",     "int",  "long",    "masked_fill", "numpy",      "permute", "repeat",
     "requires_grad_", "swapaxes", "t",        "type", "type_as", "unsqueeze",   "view",       "view_as"});
constexpr std::array kReaders =
    std::to_array<std::string_view>({"fromfile", "imread", "load", "load_file", "load_image", "loadmat", "memmap"});
constexpr std::array kWithParameters = std::to_array<std::string_view>(  // how their names begin
    {"BatchNorm", "Bilinear", "Conv", "Embedding", "GRU", "GroupNorm", "InstanceNorm", "LSTM", "LayerNorm", "Lazy",
     "Linear", "MultiheadAttention", "PReLU", "Parameter", "RMSNorm", "RNN", "SyncBatchNorm", "Transformer"});
constexpr std::array kOwnArrays = std::to_array<std::string_view>(
    {"abs",     "arange",  "argmax", "argmin",  "argsort",  "array",     "cat",       "clip",   "concatenate",
     "cos",     "cumprod", "cumsum", "dot",     "einsum",   "exp",       "eye",       "float",  "full",
     "hstack",  "int",     "inv",    "len",     "linspace", "log",       "log1p",     "matmul", "max",
     "maximum", "mean",    "min",    "minimum", "norm",     "ones",      "ones_like", "outer",  "prod",
     "sign",    "sin",     "sort",   "sqrt",    "square",   "stack",     "std",       "sum",    "tanh",
     "tile",    "var",     "vstack", "where",   "zeros",    "zeros_like"});
constexpr std::array kIdleMarks = std::to_array<std::string_view>(
    {"cache", "checkpoint", "compile", "enable_grad", "export", "ignore", "inference_mode", "jit", "lru_cache", "njit",
     "no_grad", "remat", "script", "staticmethod", "unused"});
struct Generator {
  std::string_view maker, family;
};
constexpr std::array kGenerators = std::to_array<Generator>(
    {{"Generator", "torch"}, {"Random", "python"}, {"RandomState", "legacy"}, {"default_rng", "numpy"}});
static_assert(std::ranges::is_sorted(kIdleMarks) && std::ranges::is_sorted(kReaders) &&
              std::ranges::is_sorted(kOwnArrays));
static_assert(std::ranges::is_sorted(kListsOfArrays) && std::ranges::is_sorted(kNumbersOfArrays) &&
              std::ranges::is_sorted(kMethods));
static_assert(std::ranges::is_sorted(kStatistics) && std::ranges::is_sorted(kDrawing) &&
              std::ranges::is_sorted(kOneArray) && std::ranges::is_sorted(kSeveral) &&
              std::ranges::is_sorted(kIndices));

}  // namespace

bool keepsStatistics(std::string_view layer) { return std::ranges::binary_search(kStatistics, layer); }
bool drawsInTraining(std::string_view layer) { return std::ranges::binary_search(kDrawing, layer); }
bool mayAskForMode(std::string_view name) {
  return keepsStatistics(name) || drawsInTraining(name) || name == "dropout" || name == "training";
}
bool hasParameters(std::string_view layer) {
  return std::ranges::any_of(kWithParameters, [&](std::string_view begin) { return layer.starts_with(begin); });
}
std::string_view familyOfGenerator(std::string_view maker) {
  const auto known = std::ranges::find(kGenerators, maker, &Generator::maker);
  return known == kGenerators.end() ? "" : known->family;
}
bool givesOwnArray(std::string_view function) { return std::ranges::binary_search(kOwnArrays, function); }
bool givesOneArray(std::string_view function) { return std::ranges::binary_search(kOneArray, function); }
bool givesSeveralByDim(std::string_view function) { return std::ranges::binary_search(kSeveral, function); }
bool givesNumbers(std::string_view method) { return method == "item" || method == "tolist"; }
bool isInPlaceElsewhere(std::string_view method) { return method == "sort"; }

bool isIdleMark(std::string_view name) { return std::ranges::binary_search(kIdleMarks, name); }
bool givesIndices(std::string_view function) { return std::ranges::binary_search(kIndices, function); }
bool givesListOfArrays(std::string_view function) { return std::ranges::binary_search(kListsOfArrays, function); }
bool givesNumberOfArray(std::string_view function) { return std::ranges::binary_search(kNumbersOfArrays, function); }
bool isMethodOfArrays(std::string_view method) { return std::ranges::binary_search(kMethods, method); }
bool readsArrays(std::string_view function) { return std::ranges::binary_search(kReaders, function); }

namespace {
std::set<std::string, std::less<>> namesOfForm(ForeignCall::Form library) {
  std::set<std::string, std::less<>> found;
  for (const auto rows : foreignTables())
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
