// Where the message of an assertion is evaluated.
#pragma once
#include <functional>

#include "frontend/Context.h"
#include "frontend/names/Scopes.h"
#include "ir/Module.h"

namespace tenc::frontend {

/// The branch of a run in which a condition does not hold. What is made in it comes out in front of it again where it
/// can neither fail nor be seen; where the condition holds at compile time, nothing of it is left. Of a condition on
/// another device, and where the message assigns variables, there is no branch: the message comes first.
class FailedBranch {
 public:
  /// `condition`: a bool of rank 0, or null where `holds` says what is known of it. `message` may be null: no branch.
  FailedBranch(Context& context, Scopes& scopes, ir::Value* condition, bool holds, const ast::Expr* message);
  FailedBranch(const FailedBranch&) = delete;
  FailedBranch& operator=(const FailedBranch&) = delete;
  ~FailedBranch();

  void inside(const std::function<void()>& f);

 private:
  Context& context_;
  ir::Op* op_ = nullptr;  ///< an `if`
  ir::Region* failed_ = nullptr;
  bool holds_ = false;  ///< known at compile time
};

}  // namespace tenc::frontend
