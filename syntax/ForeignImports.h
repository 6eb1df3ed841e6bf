// Modules of other languages: what a script imports here in their place.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tenc::syntax {

/// The statements for `import path`, or for `from path import names`; empty where there is nothing to import, nullopt
/// for a module that is not known from elsewhere.
std::optional<std::string> importedInstead(std::string_view path, std::span<const std::string> names);
/// What stands before a function that is imported from a module whose functions may have another meaning than TL's of
/// that name, `np.linalg`; empty for other modules.
std::string_view prefixOf(std::string_view path);
/// What stands for a module without its import, where a script calls it `alias`.
std::string knownAs(std::string_view path, std::string_view alias);

}  // namespace tenc::syntax
