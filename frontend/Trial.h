// Lowering that may come to nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/Module.h"
#include "support/Diagnostics.h"

namespace tenc::frontend {

class Context;
class Instances;

/// Takes back what was lowered during its life, unless it is kept: functions of the module with their instances and
/// what was batched of them, and, if they shall go, diagnostics.
class [[nodiscard]] Trial {
 public:
  enum class Reports : uint8_t { Stay, Go };
  Trial(Context& context, Instances& instances, Reports reports);
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial();

  /// Whether there was an error since its start.
  bool failed() const;
  void keep() { kept_ = true; }
  /// The diagnostics since its start, which are taken back; `Context::restate` gives them again.
  std::vector<Diagnostic> takeReports();

 private:
  /// What of the context tells that something was reported.
  struct Said {
    uint64_t failures;
    bool stopped, tooDeep;
    ir::Module::TooLarge tooLarge;
  };

  Context& context_;
  Instances& instances_;
  const Reports reports_;
  const size_t funcs_, reported_;
  const Said said_;
  bool kept_ = false;
};

}  // namespace tenc::frontend
