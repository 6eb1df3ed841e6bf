#include "frontend/calls/Training.h"

#include "frontend/values/Trees.h"

namespace tenc::frontend {

ir::Value* KeptLeaves::now(ir::Value* leaf) const {
  const auto found = places_.find(leaf);
  return found == places_.end() ? leaf : all_[found->second].second;
}

void KeptLeaves::set(ir::Value* leaf, ir::Value* now) {
  const auto [place, isNew] = places_.emplace(leaf, all_.size());
  if (isNew)
    all_.emplace_back(leaf, now);
  else
    all_[place->second].second = now;
}

std::vector<ir::Value*> KeptLeaves::changedSince(const KeptLeaves& before) const {
  std::vector<ir::Value*> changed;
  for (const auto& [leaf, now] : all_) {
    if (before.now(leaf) != now) changed.push_back(leaf);
  }
  return changed;
}

std::vector<ir::Value*> KeptLeaves::changedIn(const ir::Op& op, const KeptLeaves& before) const {
  std::vector<ir::Value*> changed = changedSince(before);
  std::erase_if(changed, [&](const ir::Value* leaf) { return leaf->home()->isInside(op); });
  return changed;
}

Val Training::newest(const Val& v) const {
  std::vector<ir::Value*> leaves;
  if (kept.empty() || !leavesOf(v, leaves)) return v;
  bool changed = false;
  for (ir::Value*& leaf : leaves) {
    ir::Value* now = kept.now(leaf);
    changed = changed || now != leaf;
    leaf = now;
  }
  return changed ? rebuild(v, leaves) : v;
}

bool Training::keep(const Val& before, const Val& after) {
  std::vector<ir::Value*> old, made;
  if (!sameStructure(before, after) || !leavesOf(before, old) || !leavesOf(after, made) || old.size() != made.size()) {
    return false;
  }
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i] != made[i]) kept.set(old[i], made[i]);
  }
  return true;
}

}  // namespace tenc::frontend
