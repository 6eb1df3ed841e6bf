// What ops that a transform makes stand for.
#pragma once
#include <string_view>
#include <utility>

#include "ir/Module.h"

namespace tenc::transforms {

/// What is made until the end of the block stands for no op of the source (`ir::Op::origin`), or for what another op
/// stands for: an error of it would be none of the program's, and tensors that it makes of numbers live where they are
/// used.
class [[nodiscard]] OriginScope {
 public:
  static constexpr const char* kDerivative = "grad";
  static constexpr const char* kBatch = "vmap";
  explicit OriginScope(ir::Module& m, const char* origin = kDerivative)
      : module_(m), outer_(std::exchange(m.pass, origin)) {}
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;
  ~OriginScope() { module_.pass = outer_; }

  /// By its characters: equal literals may have several addresses.
  static bool isOfDerivative(const ir::Op& op) { return std::string_view(op.origin) == kDerivative; }

 private:
  ir::Module& module_;
  const char* const outer_;
};

}  // namespace tenc::transforms
