// Calls of built-ins.
#pragma once
#include <string_view>

#include "frontend/builtins/Builtin.h"

namespace tenc::frontend {

/// Calls built-ins by name.
class Builtins {
 public:
  explicit Builtins(const BuiltinTools& tools) : tools_(tools) {}

  /// What the built-in gives for these arguments; poison after an error (E0102 for an unknown name, E0204 for arguments
  /// that its signature does not take, and what its handler reports).
  Val callBuiltin(std::string_view name, CallArgs& args);

 private:
  const BuiltinTools tools_;
};

}  // namespace tenc::frontend
