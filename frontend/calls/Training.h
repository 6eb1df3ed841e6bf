// Networks that are called for training, where layers change.
#pragma once
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

/// What became of leaves of layers, in the order in which they first changed.
class KeptLeaves {
 public:
  /// What `leaf` is now; itself if it has not changed.
  ir::Value* now(ir::Value* leaf) const;
  void set(ir::Value* leaf, ir::Value* now);
  /// The leaves that are something else in `before`.
  std::vector<ir::Value*> changedSince(const KeptLeaves& before) const;
  /// Those that live outside the regions of `op`: what changes of the others is not seen there.
  std::vector<ir::Value*> changedIn(const ir::Op& op, const KeptLeaves& before) const;
  bool empty() const { return all_.empty(); }

 private:
  std::vector<std::pair<ir::Value*, ir::Value*>> all_;
  std::unordered_map<const ir::Value*, size_t> places_;
};

/// While a network is called for training: layers whose module has a function of the name `method` for them take part
/// by that, which gives (result, layer), instead of by their call.
struct Training {
  std::string method;
  KeptLeaves kept{};

  /// `v` with what became of its leaves, also of those that a function captures.
  Val newest(const Val& v) const;
  /// Notes that `before` became `after`; false when these are not of one form.
  bool keep(const Val& before, const Val& after);
};

}  // namespace tenc::frontend
