#include "syntax/ForeignImports.h"

#include <algorithm>

#include "syntax/Familiar.h"

namespace tenc::syntax {

namespace {

/// Libraries whose operations have no prefix here, and those that TL needs nothing of.
constexpr std::string_view kLibraries[] = {
    "numpy",     "torch",     "jax",         "math",        "time",        "os",       "sys",        "typing",
    "functools", "itertools", "random",      "collections", "dataclasses", "scipy",    "__future__", "matplotlib",
    "tqdm",      "copy",      "abc",         "enum",        "logging",     "warnings", "contextlib", "operator",
    "optax",     "einops",    "pandas",      "csv",         "json",        "pickle",   "pathlib",    "glob",
    "argparse",  "sklearn",   "torchvision", "seaborn",     "datetime",    "re",       "string",     "statistics",
    "h5py",      "unittest",  "tensorflow",  "keras",       "flax",        "PIL",      "cv2",        "numba"};

struct Module {
  std::string_view path, here;
};
constexpr Module kModules[] = {
    {"torch.nn", "nn"},         {"torch.optim", "optim"},     {"torch.linalg", "linalg"}, {"torch.special", "special"},
    {"numpy.linalg", "linalg"}, {"scipy.special", "special"}, {"scipy.linalg", "linalg"}, {"jax.nn", ""},
    {"torch.nn.functional", ""}};
constexpr Module kPrefixes[] = {{"torch", "torch"},
                                {"torch.nn.functional", "F"},
                                {"torch.linalg", "torch.linalg"},
                                {"torch.special", "torch.special"},
                                {"numpy", "np"},
                                {"numpy.linalg", "np.linalg"},
                                {"jax.numpy", "jnp"},
                                {"jax.nn", "jax.nn"},
                                {"math", "math"},
                                {"scipy.special", "scipy.special"},
                                {"scipy.linalg", "scipy.linalg"}};

std::string moduleOf(std::string_view path) {
  const auto m =
      std::find_if(std::begin(kModules), std::end(kModules), [&](const Module& x) { return x.path == path; });
  return m == std::end(kModules) ? "" : std::string(m->here);
}

}  // namespace

std::optional<std::string> importedInstead(std::string_view path, std::span<const std::string> names) {
  const std::string_view root = path.substr(0, path.find('.'));
  if (std::find(std::begin(kLibraries), std::end(kLibraries), root) == std::end(kLibraries)) return std::nullopt;
  std::string text;
  const auto add = [&](const std::string& module) {
    if (!module.empty()) text += (text.empty() ? "import " : "\nimport ") + module;
  };
  if (names.empty()) add(moduleOf(path));
  bool own = false;  // whether a name is one of the module itself
  for (const std::string& name : names) {
    const std::string module = moduleOf(std::string(path) + "." + name);
    own |= module.empty() && name != "functional";
    add(module);
  }
  if (own) add(moduleOf(path));
  return text;
}

std::string_view prefixOf(std::string_view path) {
  const auto p =
      std::find_if(std::begin(kPrefixes), std::end(kPrefixes), [&](const Module& x) { return x.path == path; });
  return p == std::end(kPrefixes) ? std::string_view() : p->here;
}

std::string knownAs(std::string_view path, std::string_view alias) {
  const Familiar* named = familiarName(alias);
  const bool isLibrary = std::find(std::begin(kLibraries), std::end(kLibraries), alias) != std::end(kLibraries);
  // `random` is Python's own unless it was imported from elsewhere.
  // `import torch as np` would be read as NumPy.
  const auto isOfTorch = [](std::string_view module) { return module.substr(0, module.find('.')) == "torch"; };
  const bool isOther = std::ranges::any_of(
      kPrefixes, [&](const Module& m) { return m.here == alias && isOfTorch(m.path) != isOfTorch(path); });
  if ((named && named->prefix && (!isLibrary || alias == path) && !isOther) || alias == moduleOf(path))
    return std::string(alias);
  if (const std::string_view prefix = prefixOf(path); !prefix.empty()) return std::string(prefix);
  const std::string module = moduleOf(path);
  return module.empty() ? std::string(path) : module;
}

}  // namespace tenc::syntax
