// Variants of a script, compiled as far as the memory plan: what E0320 proposes is true because it was tried.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"
#include "tools/tenc/Session.h"

namespace tenc::tool {

class MemoryTrials {
 public:
  /// `options` are those of the run that does not fit; `device` is where it does not.
  MemoryTrials(const SessionOptions& options, const SourceFile& script, std::string device);

  struct Planned {
    bool fits = false;  ///< every device
    uint64_t peak = 0;  ///< of the device that is too small
    double flops = 0;   ///< of the gradients, see `gradientFlops`
  };
  /// Of the script with edits and other values of parameters; nothing when it does not compile, or when there
  /// were enough trials.
  std::optional<Planned> plan(const std::vector<Edit>& edits, const std::map<std::string, int64_t>& params = {});

  /// The script as it stands, for those who look for what to edit; null after a syntax error.
  std::unique_ptr<ast::File> parse() const;
  const SessionOptions& options() const { return options_; }
  /// Whether there may be another trial.
  bool mayGoOn() const;

 private:
  SessionOptions options_;
  const SourceFile& script_;
  const std::string device_;
  int trials_ = 0;
  int64_t ops_ = 0;  ///< of all trials
};

/// Floating-point operations of the gradients in an optimised function, forward and backward. What a loop of the script
/// around a gradient repeats is counted once: of a training loop one step.
double gradientFlops(const ir::Func& main);

}  // namespace tenc::tool
