// Linear algebra of one call on a GPU by cuSOLVER.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/abi/Kernels.h"
#include "runtime/cuda/Cusolver.h"
#include "runtime/cuda/Outcome.h"

namespace tenc::rt::cuda {

/// A handle that works on one queue. One thread at a time.
class Solver {
 public:
  /// In the thread's current context; `wait` comes back when the queue is done. Null, with a sentence in `why`.
  static std::unique_ptr<Solver> open(std::shared_ptr<const CudaDriver> driver, StreamHandle stream,
                                      std::function<void()> wait, std::string& why);
  /// When the queue is done, in the same context.
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Asks the library what the calls of a kernel work in. False, with a sentence in `why`, where it has no such call.
  /// `example` is an address of the device's memory.
  bool plan(const abi::SolverCode& code, Pointer example, std::string& why);
  /// Memory of the device, beside the program's, that holds what any planned call works in; it is taken by `allocate`.
  uint64_t bytes() const { return memory_.device; }
  Result allocate();

  /// Puts the calls of a planned kernel into the queue; `memory` is the launch's last argument.
  Outcome run(const abi::SolverCode& code, uint64_t memory);

 private:
  class Step;
  Solver(std::shared_ptr<const CudaDriver> driver, std::shared_ptr<const Cusolver> library, StreamHandle stream,
         std::function<void()> wait);
  SolverStatus begin();

  const std::shared_ptr<const CudaDriver> driver_;
  const std::shared_ptr<const Cusolver> library_;
  const CusolverFunctions& f_;
  const StreamHandle stream_;
  void *handle_ = nullptr, *params_ = nullptr;
  const std::function<void()> wait_;
  std::map<const abi::SolverCall*, SolverMemory> asked_;
  SolverMemory memory_;  ///< the most that a planned call asked for
  Pointer device_ = 0;
  std::vector<std::byte> host_;
  bool isHostUsed_ = false;  ///< perhaps still: a call that was put into the queue works in it
};

}  // namespace tenc::rt::cuda
