// A program that this process can run: machine code is mapped, symbols and routines are found.
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/abi/Program.h"

namespace tenc::rt {

class LoadedCode;

/// Looks up functions that the process itself provides, by the names that kernels give (HostCode without an image).
/// Null for a name that is not known.
using SymbolLookup = std::function<abi::KernelFn(std::string_view symbol)>;

/// A kernel of the host, ready to be called.
struct LoadedKernel {
  abi::KernelFn function = nullptr;  ///< null: device code
  struct Phase {
    int64_t items = 1, grain = 1;
  };
  std::vector<Phase> phases;  ///< one after the other; compiled code has one
  uint64_t scratchBytes = 0;
  uint64_t sharedBytes = 0;  ///< of a routine: memory that all threads have, in all phases
  /// Of a routine, which is given as scalars: its address, that of the shared memory, the phase, how many threads there
  /// are.
  const abi::LibraryCall* call = nullptr;
  const abi::Kernel* kernel = nullptr;
};

/// Immutable: any number of threads may use it. Holds the program and its code for as long as it lives.
class LoadedProgram {
 public:
  /// Null, with a sentence in `error`, when code cannot be mapped or a symbol or routine is not there. `program` is
  /// well-formed (abi::problemOf finds nothing).
  static std::shared_ptr<const LoadedProgram> load(std::shared_ptr<const abi::Program> program, std::string& error,
                                                   const SymbolLookup& symbols = {});
  ~LoadedProgram();
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  const abi::Program& program() const { return *program_; }
  /// As in the program.
  const std::vector<LoadedKernel>& kernels() const { return kernels_; }
  /// What a thread needs for any of them.
  uint64_t scratchBytes() const { return scratchBytes_; }
  /// What all threads have together for any of them.
  uint64_t sharedBytes() const { return sharedBytes_; }
  /// Whether a loop exchanges the address of a buffer with another one's.
  bool moves(abi::BufferId b) const { return moves_[b]; }
  /// Each device but the host with each kernel that is launched on it, by their numbers in the program.
  const std::set<std::pair<uint32_t, uint32_t>>& launches() const { return launches_; }

 private:
  LoadedProgram() = default;
  std::shared_ptr<const abi::Program> program_;
  std::vector<std::shared_ptr<LoadedCode>> code_;  // by image; null for what no host kernel is in
  std::vector<LoadedKernel> kernels_;
  uint64_t scratchBytes_ = 0, sharedBytes_ = 0;
  std::vector<bool> moves_;  // by buffer
  std::set<std::pair<uint32_t, uint32_t>> launches_;
};

}  // namespace tenc::rt
