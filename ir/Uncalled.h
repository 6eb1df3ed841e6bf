// Which functions of a module call which.
#pragma once
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/Ir.h"

namespace tenc::ir {

/// The functions of a module by name. It must not change meanwhile.
class Calls {
 public:
  explicit Calls(const Module& m);
  /// A module of what `entry` comes to, whose `main` it is: a test runs by itself.
  std::unique_ptr<Module> alone(std::string_view entry) const;

 private:
  class Reached;
  friend void dropUncalled(Module& m, const std::vector<std::string_view>& entries, bool rules);

  const Module& module_;
  std::unordered_map<std::string_view, const Func*> byName_;
};

/// Drops the functions that `entries` do not come to. `rules`: what a `custom_vjp` names is needed, too.
void dropUncalled(Module& m, const std::vector<std::string_view>& entries, bool rules);

}  // namespace tenc::ir
