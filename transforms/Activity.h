// Which values of a function depend on some of its arguments by a differentiable path: through floats and ops with a
// derivative, also where that is 0 (sign, floor).
#pragma once
#include <map>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/Ir.h"

namespace tenc::transforms {

class Activity {
 public:
  /// What is known of functions that were looked at: one entry a function and choice of arguments.
  using Known = std::map<std::pair<const ir::Func*, std::vector<bool>>, std::shared_ptr<const Activity>>;
  /// `arguments`: those that are differentiated by.
  static std::shared_ptr<const Activity> of(const ir::Func& f, const std::vector<bool>& arguments, Known& known);

  bool contains(const ir::Value* v) const { return active_.contains(v); }
  /// Of the op's operands or of what its regions read, one is active.
  bool reads(const ir::Op& op) const;
  /// Which of the results of a function or of a call to it are.
  const std::vector<bool>& results() const { return results_; }

 private:
  explicit Activity(Known& known) : known_(known) {}
  void region(const ir::Region& r);
  void visit(const ir::Op& op);
  void mark(const ir::Value* v, bool active);
  /// The yields of a region make `targets` active. Says whether one became so.
  bool flow(const std::vector<ir::Value*>& from, const std::vector<const ir::Value*>& targets);

  Known& known_;
  std::unordered_set<const ir::Value*> active_;
  std::vector<bool> results_;
};

/// The values that ops in the region's nest read and that are defined outside of it, each once.
std::vector<ir::Value*> capturesOf(const ir::Region& r);

}  // namespace tenc::transforms
