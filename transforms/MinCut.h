// Minimum cuts of small networks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenc::transforms {

/// A directed network with a capacity for each edge. Nodes 0 and 1 are its source and its sink.
class FlowNetwork {
 public:
  static constexpr size_t kSource = 0, kSink = 1;
  /// More than any sum of finite capacities.
  static constexpr int64_t kUnlimited = int64_t{1} << 60;

  FlowNetwork() : edgesOf_(2) {}
  size_t addNode();
  void addEdge(size_t from, size_t to, int64_t capacity);
  /// Of all minimum cuts the one closest to the source: for each node whether it is on the source's side. By Dinic
  /// 1970, "Algorithm for solution of a problem of maximum flow in networks with power estimation".
  std::vector<bool> sourceSide();

 private:
  struct Edge {
    size_t to;
    int64_t left;  ///< capacity that is not used
  };
  bool findLevels();
  int64_t push(size_t node, int64_t most);

  std::vector<Edge> edges_;  ///< edge i and its reverse, i ^ 1
  std::vector<std::vector<size_t>> edgesOf_;
  std::vector<int> level_;
  std::vector<size_t> next_;  ///< the first edge of each node that may still lead on
};

}  // namespace tenc::transforms
