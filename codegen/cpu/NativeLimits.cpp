// Bounds of a `while` that one comparison can stand for.
#include <algorithm>
#include <limits>

#include "codegen/cpu/NativeBody.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"

namespace tenc::codegen::cpu {
using ir::OpKind;
using llvm::Value;

namespace {

/// The parts of a condition that all hold where it does.
void findTests(const ir::Value* v, std::vector<const ir::Op*>& found) {
  if (v->op == nullptr) return;
  if (v->op->kind == OpKind::And) {
    for (size_t i : {0, 1}) findTests(v->op->operand(i), found);
  } else if (v->op->kind == OpKind::If && v->op->results.size() == 1) {
    const auto otherwise = ir::constantScalar(v->op->regions[1]->terminator()->operand(0));
    if (!otherwise || otherwise->i != 0) return;
    findTests(v->op->operand(0), found);
    findTests(v->op->regions[0]->terminator()->operand(0), found);
  } else if (v->op->kind == OpKind::Lt || v->op->kind == OpKind::Le || v->op->kind == OpKind::Gt ||
             v->op->kind == OpKind::Ge) {
    found.push_back(v->op);
  }
}

/// Whether a region only computes and reads, in whatever order.
bool onlyComputes(const ir::Region& region) {
  return std::ranges::all_of(region.ops, [](const auto& op) {
    if (op->kind == OpKind::If)
      return std::ranges::all_of(op->regions, [](const auto& side) { return onlyComputes(*side); });
    if (op->has(ir::Trait::Elementwise)) return !op->has(ir::Trait::CanFault);
    return op->has(ir::Trait::Terminator) || op->kind == OpKind::Constant || op->kind == OpKind::Gather;
  });
}

bool fits(__int128 least, __int128 most) {
  return least > std::numeric_limits<int64_t>::min() && most < std::numeric_limits<int64_t>::max();
}

}  // namespace

/// A test of a `while` that holds as long as what it carries as `arg`, or the opposite of that, and `more`, which it
/// does not change, are together less than `bound`.
std::optional<NativeEmitter::BoundTest> NativeEmitter::boundTest(const ir::Op& loop, const ir::Op& test) {
  const ir::Region& condition = *loop.regions[0];
  const auto stays = [&](const ir::Value* v) { return isOutside(v, loop) || ir::constantScalar(v); };
  const bool up = test.kind == OpKind::Lt || test.kind == OpKind::Le;
  const ir::Value *less = test.operand(up ? 0 : 1), *bound = test.operand(up ? 1 : 0);
  if (less->type.dtype != ir::DType::I64 || less->type.rank() != 0 || !stays(bound)) return std::nullopt;
  BoundTest found{&test, less, nullptr, bound, test.kind == OpKind::Le || test.kind == OpKind::Ge};
  if (less->op != nullptr && less->op->kind == OpKind::Add) {
    const size_t i = stays(less->op->operand(0)) ? 1 : 0;
    found.arg = less->op->operand(i), found.more = less->op->operand(1 - i);
    if (!stays(found.more)) return std::nullopt;
  }
  if (found.arg->op != nullptr || found.arg->home() != &condition) return std::nullopt;
  const Range at = ranges_.of(found.arg), end = ranges_.of(bound);
  const Range by = found.more != nullptr ? ranges_.of(found.more) : Range{0, 0};
  if (!fits(__int128{at.least} + by.least, __int128{at.most} + by.most)) return std::nullopt;
  if (!fits(__int128{end.least} - by.most, __int128{end.most} - by.least)) return std::nullopt;
  return found;
}

/// The tests of a `while` without others in it that bound one number that it carries, and the least of their bounds,
/// computed in front of it: one comparison stands for them all, as nothing in the condition depends on which of its
/// parts are computed.
NativeEmitter::Limit NativeEmitter::limitOf(const ir::Op& loop) {
  const ir::Region& condition = *loop.regions[0];
  if (!onlyComputes(condition) || mayLeaveTrip(condition)) return {};
  std::vector<const ir::Op*> tests;
  findTests(condition.terminator()->operand(0), tests);
  std::vector<BoundTest> bounds;
  for (const ir::Op* test : tests) {
    if (hoisted_.contains(test)) continue;
    if (const auto bound = boundTest(loop, *test); bound && (bounds.empty() || bound->arg == bounds.front().arg))
      bounds.push_back(*bound);
  }
  if (bounds.size() < 2) return {};
  Limit limit{bounds.front().arg, nullptr, {}};
  const auto outside = [&](const ir::Value* v) {
    const auto c = ir::constantScalar(v);
    return c ? s_->intConstant(Repr::I64, static_cast<uint64_t>(c->i)) : index(v);
  };
  for (const BoundTest& b : bounds) {
    Scalar end = outside(b.bound);
    if (b.more != nullptr) end = end - outside(b.more);
    if (b.orEqual) end = end + 1.0;
    Value* bound = LlvmScalars::value(end);
    limit.value = limit.value == nullptr ? bound : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, limit.value, bound);
    limit.tests.push_back(b.test);
  }
  return limit;
}

}  // namespace tenc::codegen::cpu
