// Runs of commands that come again and again, as graphs: captured the second time, then replayed by one call of the
// driver. Loops and branches are conditional nodes, where the driver has them.
#pragma once
#include <map>
#include <vector>

#include "runtime/cuda/CudaRun.h"

namespace tenc::rt::cuda {

class CudaGraphs {
 public:
  CudaGraphs(const CudaFunctions& f, ContextHandle context) : f_(f), context_(context) {}
  ~CudaGraphs() { clear(); }
  CudaGraphs(const CudaGraphs&) = delete;
  CudaGraphs& operator=(const CudaGraphs&) = delete;

  /// Whether loops and branches can be parts of graphs; finds out when it is asked first.
  bool hasConditions();
  /// The graph of a run, whose orders count from that of its first command; null for one that is new, too short, or of
  /// which no graph can be had. What it captures, it captures on the stream, which must not be in use by another
  /// thread. `isKnown`: it has come before.
  GraphHandle of(const CudaRun& run, StreamHandle stream, Pointer block, bool isKnown = false);
  /// There is no memory for them: there will be no more.
  void refuse() { refused_ = true; }
  /// Before the code that is in them is unloaded. None of them runs.
  void clear();

 private:
  struct Known {
    GraphHandle graph = nullptr;  ///< null for what came once
    bool isRefused = false;
  };
  /// What is captured, where, and on which stream.
  struct Capture {
    const CudaRun& run;
    Pointer block;
    StreamHandle stream;
    size_t depth;  ///< how many conditional nodes it is inside of
  };
  GraphHandle capture(const CudaRun& run, StreamHandle stream, Pointer block);
  /// As nodes that come after those that they depend on, all after what the stream has captured so far.
  Result commands(const Capture& c, const CudaCommands& list);
  Result control(const Capture& c, const CudaControl& control);
  Result loop(const Capture& c, const CudaControl& control);
  Result branch(const Capture& c, const CudaControl& control);
  Result condition(const Capture& c, uint64_t& handle) const;
  /// A kernel that sets a condition to whether both flags hold, and another one, unless it is 0, to the opposite.
  Result set(const Capture& c, uint64_t handle, uint64_t opposite, Pointer first, Pointer second) const;
  /// A node behind what the stream has captured, with a body of those lists; `last`, if any, sets the condition anew.
  template <typename Body>
  Result node(const Capture& c, uint64_t handle, bool repeats, Body body);
  Result ends(const Capture& c, std::vector<NodeHandle>& nodes, CapturedHandle* graph = nullptr) const;

  const CudaFunctions& f_;
  const ContextHandle context_;
  std::map<std::vector<uint64_t>, Known> known_;  ///< by key
  size_t nodes_ = 0;                              ///< of all graphs
  bool refused_ = false;                          ///< the driver gave no graph
  ModuleHandle module_ = nullptr;                 ///< with the kernel that sets conditions
  FunctionHandle set_ = nullptr;
  bool looked_ = false;                ///< for conditions
  std::vector<StreamHandle> streams_;  ///< that bodies are captured on, by depth
};

}  // namespace tenc::rt::cuda
