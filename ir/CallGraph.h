// Which functions of a module call which.
#pragma once
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/Ir.h"

namespace tenc::ir {

/// The functions of a module by name. The module must not change while this exists.
class CallGraph {
 public:
  explicit CallGraph(const Module& m);
  /// The functions reachable from `entry` as a module of their own, in which `entry` is `main`. Tests and benches run
  /// this way.
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
