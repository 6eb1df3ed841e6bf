#include "frontend/control/FailedBranch.h"

#include <algorithm>

#include "frontend/Scoped.h"
#include "frontend/control/Flow.h"

namespace tenc::frontend {
namespace {
using ir::OpKind;
using ir::Trait;

bool decidesOnHost(const ir::Value* condition) {
  return condition && (condition->type.place.isFree() || condition->type.place.device == ir::DeviceTable::kHost);
}

bool isQuiet(const ir::Op& op) {
  return op.kind == OpKind::Assert ||
         !(op.has(Trait::HasSideEffect) || op.has(Trait::CanFault) || op.has(Trait::Control));
}
}  // namespace

FailedBranch::FailedBranch(Context& context, Scopes& scopes, ir::Value* condition, bool holds, const ast::Expr* message)
    : context_(context), holds_(holds) {
  if (!message || (!holds_ && !decidesOnHost(condition))) return;
  Boundary assigned;
  scopes.assignedIn(message->span, assigned);
  if (!assigned.vars.empty() || context.body.training) return;
  ir::Value* decides = holds_ ? context.b().scalarInt(ir::DType::Bool, 1) : condition;
  op_ = context.b().makeTyped(OpKind::If, {decides}, {});
  context.b().addRegion(op_);
  failed_ = context.b().addRegion(op_);
}

FailedBranch::~FailedBranch() {
  if (!op_) return;
  const bool quiet = std::ranges::all_of(failed_->ops, [](const auto& op) { return isQuiet(*op); });
  if (quiet && !holds_)
    while (!failed_->ops.empty()) failed_->ops.front()->moveBefore(op_);
  if (quiet || holds_) {
    op_->erase();
    return;
  }
  for (const auto& region : op_->regions)
    context_.inRegion(region.get(), [&] { context_.b().makeTyped(OpKind::Yield, {}, {}); });
}

void FailedBranch::inside(const std::function<void()>& f) {
  if (!op_) return f();
  const Scoped deeper(context_.body.regionDepth, context_.body.regionDepth + 1);
  context_.inRegion(failed_, f);
}

}  // namespace tenc::frontend
