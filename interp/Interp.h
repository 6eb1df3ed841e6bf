// The reference interpreter: runs IR of any stage (unplaced, placed, fused) element by element, with no code shared
// with codegen. It is the oracle that compiled programs are compared with: sums and products of floats accumulate in
// wider arithmetic than the compiled ones, functions are computed wider and rounded once.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/Module.h"
#include "support/Diagnostics.h"

namespace tenc::interp {

/// A host tensor: dense, row-major, little-endian; bools are bytes 0 or 1. Elements are shared between copies.
struct Tensor {
  ir::Type type;
  std::shared_ptr<std::vector<std::byte>> data;
  /// While something is differentiated: the place of each element on the tape (Tape.h); null where none has one.
  std::shared_ptr<const std::vector<int64_t>> places = nullptr;
};

struct Options {
  std::function<void(std::string_view)> print;  ///< takes what the program prints; standard output when empty
  std::vector<Tensor> arguments;                ///< of the function, by position
  uint64_t seed = 0;
  std::string fileRoot;                            ///< --sandbox-dir: the folder that files are confined to, or ""
  const std::atomic<bool>* interrupted = nullptr;  ///< ends the run at the next op once it is true
};

/// Why a program stopped: E0901 to E0904, or E0190 for what the interpreter does not do.
struct Stop {
  Code code = Code::E0901;
  std::string message;
  ir::Loc loc;
  /// The calls that led there, innermost first: where each stands, and the signature of what it called.
  std::vector<std::pair<ir::Loc, std::string>> callers;
};

struct Result {
  std::optional<Stop> stop;
  std::vector<Tensor> values;  ///< what the function returned
  bool ok() const { return !stop; }
};

/// Runs `f`, and what it calls in `m`, to its end or to the first fault.
Result run(const ir::Module& m, const ir::Func& f, const Options& options = {});

}  // namespace tenc::interp
