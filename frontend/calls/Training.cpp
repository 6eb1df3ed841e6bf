#include "frontend/calls/Training.h"

#include <vector>

#include "frontend/values/Trees.h"

namespace tenc::frontend {

Val Training::newest(const Val& v) const {
  if (kept.empty() || !v.isTree()) return v;
  return mapLeaves(v, [&](const Val& leaf, const std::string&, bool) {
    const auto found = leaf.tensor ? kept.find(leaf.tensor) : kept.end();
    return found == kept.end() ? leaf : Val::ofTensor(found->second, leaf.span);
  });
}

bool Training::keep(const Val& before, const Val& after) {
  std::vector<ir::Value*> old, made;
  if (!sameStructure(before, after) || !leavesOf(before, old) || !leavesOf(after, made) || old.size() != made.size()) {
    return false;
  }
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i] != made[i]) kept[old[i]] = made[i];
  }
  return true;
}

}  // namespace tenc::frontend
