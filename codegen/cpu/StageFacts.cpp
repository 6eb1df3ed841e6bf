#include "codegen/cpu/StageFacts.h"

#include <algorithm>

namespace tenc::codegen::cpu {

StageFacts::StageFacts(const Kernel& kernel, const Stage& stage, size_t vectorVar)
    : stage_(stage), vectorVar_(vectorVar) {
  facts_.reserve(stage.exprs.size());
  for (const Expr& e : stage.exprs) facts_.push_back(factOf(kernel, e));
  for (const Store& s : stage.stores) {
    collectNeeded(s.value);
    for (const auto& t : s.access.terms) collectNeeded(t.index);
  }
  for (uint32_t r : stage.reductions) {
    collectNeeded(kernel.reductions[r].value);
    if (kernel.reductions[r].position != kNoExpr) collectNeeded(kernel.reductions[r].position);
  }
}

/// Those of its operands are known.
StageFacts::Fact StageFacts::factOf(const Kernel& kernel, const Expr& e) const {
  const size_t outer = kernel.outer.size(), inner = stage_.innerLo.size();
  Fact f;
  f.fromReduced = e.kind == Expr::Kind::Reduced;
  f.fromRunning = e.kind == Expr::Kind::Running;
  auto follow = [&](ExprId from) {
    f.vars |= facts_[from].vars;
    f.fromReduced = f.fromReduced || facts_[from].fromReduced;
    f.fromRunning = f.fromRunning || facts_[from].fromRunning;
  };
  for (ExprId a : e.args) follow(a);
  switch (e.kind) {
    case Expr::Kind::LoopVar: f.vars |= uint64_t{1} << e.index; break;
    case Expr::Kind::Running: f.vars |= (uint64_t{1} << (outer + inner)) - 1; break;
    case Expr::Kind::Load:
      for (size_t v = 0; v < e.access.strides.size(); ++v)
        if (e.access.strides[v] != 0) f.vars |= uint64_t{1} << v;
      for (const Access::Term& t : e.access.terms) follow(t.index);
      // Lanes that are outer points have scratch rows of their own.
      if (vectorVar_ < outer && kernel.buffers[e.access.buffer].role == Buffer::Role::Scratch)
        f.vars |= uint64_t{1} << vectorVar_;
      // What an earlier iteration stored is read again, even at an unchanging place.
      if (stage_.ordered && isStored(e.access.buffer))
        for (size_t v = 0; v < inner; ++v) f.vars |= uint64_t{1} << (outer + v);
      break;
    default: break;
  }
  const bool arithmetic =
      e.kind == Expr::Kind::Op && (e.op == ir::OpKind::Add || e.op == ir::OpKind::Sub || e.op == ir::OpKind::Mul ||
                                   e.op == ir::OpKind::TruncDiv || e.op == ir::OpKind::Fmod);
  f.position = e.dtype == ir::DType::I64 &&
               (e.kind == Expr::Kind::LoopVar || e.kind == Expr::Kind::Constant ||
                (arithmetic && std::all_of(e.args.begin(), e.args.end(), [&](ExprId a) { return isPosition(a); })));
  return f;
}

bool StageFacts::isStored(uint32_t buffer) const {
  return std::any_of(stage_.stores.begin(), stage_.stores.end(),
                     [&](const Store& s) { return s.access.buffer == buffer; });
}

void StageFacts::collectNeeded(ExprId e) {
  if (facts_[e].needed) return;
  facts_[e].needed = true;
  for (ExprId a : stage_.exprs[e].args) collectNeeded(a);
  if (stage_.exprs[e].kind == Expr::Kind::Load)
    for (const auto& t : stage_.exprs[e].access.terms) collectNeeded(t.index);
}

void StageFacts::reducedVaries() {
  for (Fact& f : facts_)
    if (f.fromReduced) f.vars |= uint64_t{1} << vectorVar_;
}

bool StageFacts::readsReduced(uint32_t number) const {
  for (size_t i = 0; i < stage_.exprs.size(); ++i)
    if (facts_[i].needed && stage_.exprs[i].kind == Expr::Kind::Reduced && stage_.exprs[i].index == number) return true;
  return false;
}

std::optional<int64_t> StageFacts::laneStride(ExprId position) const {
  const Expr& e = stage_.exprs[position];
  if (!isVector(position)) return 0;
  if (e.kind == Expr::Kind::LoopVar) return 1;
  if (!isPosition(position) || e.kind != Expr::Kind::Op) return std::nullopt;
  const std::optional<int64_t> x = laneStride(e.args[0]), y = laneStride(e.args[1]);
  if (!x || !y) return std::nullopt;
  switch (e.op) {
    case ir::OpKind::Add: return *x + *y;
    case ir::OpKind::Sub: return *x - *y;
    case ir::OpKind::Mul: {
      auto times = [&](int64_t step, ExprId factor) -> std::optional<int64_t> {
        const Expr& f = stage_.exprs[factor];
        if (f.kind != Expr::Kind::Constant) return std::nullopt;
        return step * static_cast<int64_t>(f.bits);
      };
      return isVector(e.args[0]) ? times(*x, e.args[1]) : times(*y, e.args[0]);
    }
    default: return std::nullopt;
  }
}

}  // namespace tenc::codegen::cpu
