#include "runtime/cuda/CudaGraphs.h"

namespace tenc::rt::cuda {
namespace {

constexpr int kThisThread = 1;    // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
constexpr unsigned kInstead = 1;  // CU_STREAM_SET_CAPTURE_DEPENDENCIES

constexpr Result kRefused = 999;  // CUDA_ERROR_UNKNOWN, of a driver or a library: no graph, whatever it was

constexpr size_t kLeast = 4;  // commands: launching a graph costs the host as much as two or three launches
// Graphs take memory of the driver that no plan knows of: a node is some hundred bytes.
constexpr size_t kMostNodes = 16384;
constexpr size_t kMostKnown = 1024;

}  // namespace

void CudaGraphs::clear() {
  for (const auto& [key, graph] : known_)
    if (graph != nullptr) f_.destroyGraph(graph);
  known_.clear();
  nodes_ = 0;
}

GraphHandle CudaGraphs::of(const CudaRun& run, StreamHandle stream, Pointer block) {
  if (run.commands() < kLeast || refused_) return nullptr;
  const auto found = known_.find(run.key());
  if (found == known_.end()) {
    if (known_.size() >= kMostKnown) std::erase_if(known_, [](const auto& k) { return k.second == nullptr; });
    if (known_.size() < kMostKnown) known_.emplace(run.key(), nullptr);
    return nullptr;
  }
  if (found->second == nullptr && nodes_ + run.commands() <= kMostNodes) {
    found->second = capture(run, stream, block);
    refused_ = found->second == nullptr;
    nodes_ += run.commands();
  }
  return found->second;
}

Result CudaGraphs::captureCommands(const CudaRun& run, StreamHandle stream, Pointer block) const {
  const std::vector<std::vector<size_t>> after = run.dependencies();
  std::vector<std::vector<NodeHandle>> nodes;  // the last ones of each command
  std::vector<NodeHandle> last;
  Result status = 0;
  for (size_t i = 0; i < run.commands() && status == 0; ++i) {
    last.clear();
    for (const size_t j : after[i]) last.insert(last.end(), nodes[j].begin(), nodes[j].end());
    status = f_.captureAfter(stream, last.data(), last.size(), kInstead);
    if (status == 0 && !run.issue(i, f_, stream, block, run.order()).isWell()) status = kRefused;
    const NodeHandle* made = nullptr;
    size_t count = 0;
    int isCapturing = 0;
    if (status == 0) status = f_.captureInfo(stream, &isCapturing, nullptr, nullptr, &made, &count);
    nodes.emplace_back(made, made + count);
  }
  // A capture ends behind all of its nodes.
  last.clear();
  for (const auto& n : nodes) last.insert(last.end(), n.begin(), n.end());
  if (status == 0) status = f_.captureAfter(stream, last.data(), last.size(), kInstead);
  return status;
}

GraphHandle CudaGraphs::capture(const CudaRun& run, StreamHandle stream, Pointer block) const {
  if (f_.beginCapture(stream, kThisThread) != 0) return nullptr;
  const Result status = captureCommands(run, stream, block);
  CapturedHandle captured = nullptr;
  GraphHandle graph = nullptr;
  if (f_.endCapture(stream, &captured) != 0) return nullptr;
  if (status == 0 && f_.instantiate(&graph, captured, 0) != 0) graph = nullptr;
  f_.destroyCaptured(captured);
  return graph;
}

}  // namespace tenc::rt::cuda
