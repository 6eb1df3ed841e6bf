// Runs of commands that come again and again, as graphs: captured the second time, then replayed by one call of the
// driver.
#pragma once
#include <map>
#include <vector>

#include "runtime/cuda/CudaRun.h"

namespace tenc::rt::cuda {

class CudaGraphs {
 public:
  explicit CudaGraphs(const CudaFunctions& f) : f_(f) {}
  ~CudaGraphs() { clear(); }
  CudaGraphs(const CudaGraphs&) = delete;
  CudaGraphs& operator=(const CudaGraphs&) = delete;

  /// The graph of a run, whose orders count from that of its first command; null for one that is new, too short, or of
  /// which no graph can be had. What it captures, it captures on the stream, which must not be in use by another
  /// thread.
  GraphHandle of(const CudaRun& run, StreamHandle stream, Pointer block);
  /// Before the code that is in them is unloaded. None of them runs.
  void clear();

 private:
  GraphHandle capture(const CudaRun& run, StreamHandle stream, Pointer block) const;
  /// As nodes that come after those that they depend on, and not after all before.
  Result captureCommands(const CudaRun& run, StreamHandle stream, Pointer block) const;

  const CudaFunctions& f_;
  std::map<std::vector<uint64_t>, GraphHandle> known_;  ///< by key; null for what came once
  size_t nodes_ = 0;                                    ///< of all graphs
  bool refused_ = false;                                ///< the driver gave no graph
};

}  // namespace tenc::rt::cuda
