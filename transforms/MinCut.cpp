#include "transforms/MinCut.h"

#include <algorithm>

namespace tenc::transforms {

size_t FlowNetwork::addNode() {
  edgesOf_.emplace_back();
  return edgesOf_.size() - 1;
}

void FlowNetwork::addEdge(size_t from, size_t to, int64_t capacity) {
  edgesOf_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  edgesOf_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

/// Distances from the source along edges that are not full. False where the sink is out of reach.
bool FlowNetwork::findLevels() {
  level_.assign(edgesOf_.size(), -1);
  level_[kSource] = 0;
  std::vector<size_t> queue = {kSource};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const size_t e : edgesOf_[queue[i]]) {
      if (edges_[e].left == 0 || level_[edges_[e].to] >= 0) continue;
      level_[edges_[e].to] = level_[queue[i]] + 1;
      queue.push_back(edges_[e].to);
    }
  }
  return level_[kSink] >= 0;
}

/// A path from the node to the sink, level by level; what flows along it. Without recursion, as chains may be long.
int64_t FlowNetwork::push(size_t node, int64_t most) {
  std::vector<size_t> path;  // edges
  for (;;) {
    if (node == kSink) {
      for (const size_t e : path) most = std::min(most, edges_[e].left);
      for (const size_t e : path) {
        edges_[e].left -= most;
        edges_[e ^ 1].left += most;
      }
      return most;
    }
    size_t& next = next_[node];
    const auto leadsOn = [&](size_t e) { return edges_[e].left > 0 && level_[edges_[e].to] == level_[node] + 1; };
    while (next < edgesOf_[node].size() && !leadsOn(edgesOf_[node][next])) ++next;
    if (next < edgesOf_[node].size()) {
      path.push_back(edgesOf_[node][next]);
      node = edges_[path.back()].to;
      continue;
    }
    if (path.empty()) return 0;
    node = edges_[path.back() ^ 1].to;  // a dead end
    ++next_[node];
    path.pop_back();
  }
}

std::vector<bool> FlowNetwork::sourceSide() {
  while (findLevels()) {
    next_.assign(edgesOf_.size(), 0);
    while (push(kSource, kUnlimited) > 0) {}
  }
  std::vector<bool> side;
  for (const int level : level_) side.push_back(level >= 0);
  return side;
}

}  // namespace tenc::transforms
