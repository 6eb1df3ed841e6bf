// Calls of built-ins.
#pragma once
#include <string_view>

#include "frontend/builtins/Builtin.h"

namespace tenc::frontend {

/// Calls built-ins by name.
class Builtins {
 public:
  explicit Builtins(const BuiltinTools& tools) : tools_(tools) {}

  Val callBuiltin(std::string_view name, CallArgs& args);

 private:
  const BuiltinTools tools_;
};

}  // namespace tenc::frontend
