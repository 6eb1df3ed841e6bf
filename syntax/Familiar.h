// Names that people write who come from NumPy, PyTorch or Python, and what TL has in their place.
#pragma once
#include <string_view>

namespace tenc::syntax {

struct Familiar {
  std::string_view name;
  std::string_view replacement;  ///< the name that TL has; empty: `help` says how it is written
  std::string_view help;
};

/// Of a function, a value or a member; null for a name that nobody knows.
const Familiar* familiarName(std::string_view name);
/// Of a named argument.
const Familiar* familiarOption(std::string_view name);

}  // namespace tenc::syntax
