#include "runtime/cuda/CudaGraphs.h"

namespace tenc::rt::cuda {
namespace {

constexpr int kThisThread = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

constexpr size_t kLeast = 4;  // commands: launching a graph costs the host as much as two or three launches
// Graphs take memory of the driver that no plan knows of: a node is some hundred bytes.
constexpr size_t kMostNodes = 16384;
constexpr size_t kMostKnown = 1024;

}  // namespace

CudaGraphs::~CudaGraphs() {
  for (const auto& [key, graph] : known_)
    if (graph != nullptr) f_.destroyGraph(graph);
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

GraphHandle CudaGraphs::capture(const CudaRun& run, StreamHandle stream, Pointer block) const {
  if (f_.beginCapture(stream, kThisThread) != 0) return nullptr;
  Result status = 0;
  for (size_t i = 0; i < run.commands() && status == 0; ++i)
    status = run.issue(i, f_, stream, block, run.order()).status;
  GraphHandle captured = nullptr, graph = nullptr;
  if (f_.endCapture(stream, &captured) != 0) return nullptr;
  if (status == 0 && f_.instantiate(&graph, captured, 0) != 0) graph = nullptr;
  f_.destroyCaptured(captured);
  return graph;
}

}  // namespace tenc::rt::cuda
