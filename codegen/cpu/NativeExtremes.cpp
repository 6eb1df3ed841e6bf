// The lesser and the greater of two numbers in native loops, after LLVM's passes.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <functional>

#include "codegen/cpu/NativePasses.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

using Extreme = llvm::IntrinsicInst;

/// Of single numbers.
std::vector<Extreme*> extremesIn(llvm::Function& f, bool ofFloats) {
  std::vector<Extreme*> found;
  for (llvm::Instruction& i : llvm::instructions(f)) {
    auto* e = llvm::dyn_cast<Extreme>(&i);
    if (e == nullptr || e->getType()->isVectorTy()) continue;
    const bool floats =
        e->getIntrinsicID() == llvm::Intrinsic::maximum || e->getIntrinsicID() == llvm::Intrinsic::minimum;
    if (ofFloats ? floats : llvm::isa<llvm::MinMaxIntrinsic>(e)) found.push_back(e);
  }
  return found;
}

/// Whether a value is made, in few steps, of what the trip before has left of `root`.
bool waitsFor(const Value* v, const Value* root, int steps = 4) {
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(v)) return llvm::is_contained(phi->incoming_values(), root);
  const auto* i = llvm::dyn_cast<llvm::Instruction>(v);
  if (i == nullptr || steps == 0 || llvm::isa<llvm::LoadInst>(i)) return false;
  return llvm::any_of(i->operands(), [&](const Value* o) { return waitsFor(o, root, steps - 1); });
}

void leavesOf(Value* v, llvm::Intrinsic::ID id, const llvm::BasicBlock* block, std::vector<Value*>& leaves) {
  auto* e = llvm::dyn_cast<Extreme>(v);
  if (e == nullptr || e->getIntrinsicID() != id || e->getParent() != block || (!leaves.empty() && !e->hasOneUse()))
    return leaves.push_back(v);
  for (Value* o : {e->getArgOperand(0), e->getArgOperand(1)}) {
    auto* inner = llvm::dyn_cast<Extreme>(o);
    if (inner != nullptr && inner->getIntrinsicID() == id && inner->getParent() == block && inner->hasOneUse())
      leavesOf(o, id, block, leaves);
    else
      leaves.push_back(o);
  }
}

/// min(min(a, left + 1), b), where `left` comes from the trip before, as min(min(a, b), left + 1): integers may be
/// compared in any order, and so only one comparison waits.
void lateOperandsLast(Extreme* root) {
  std::vector<Value*> leaves;
  leavesOf(root, root->getIntrinsicID(), root->getParent(), leaves);
  if (leaves.size() < 3) return;
  const auto late = std::stable_partition(leaves.begin(), leaves.end(), [&](Value* v) { return !waitsFor(v, root); });
  if (late == leaves.end() || late == leaves.begin()) return;
  llvm::IRBuilder<> b(root);
  Value* all = leaves[0];
  for (size_t i = 1; i + 1 < leaves.size(); ++i) all = b.CreateBinaryIntrinsic(root->getIntrinsicID(), all, leaves[i]);
  root->setArgOperand(0, all);
  root->setArgOperand(1, leaves.back());
}

/// A choice by the condition: LLVM would otherwise take a jump for cheaper, though data decide.
void asChoice(Extreme* e) {
  const auto predicate = llvm::MinMaxIntrinsic::getPredicate(e->getIntrinsicID());
  llvm::IRBuilder<> b(e);
  Value *x = e->getArgOperand(0), *y = e->getArgOperand(1);
  Value* chosen = b.CreateSelect(b.CreateICmp(predicate, x, y), x, y);
  if (auto* i = llvm::dyn_cast<llvm::Instruction>(chosen))
    i->setMetadata(llvm::LLVMContext::MD_unpredictable, llvm::MDNode::get(b.getContext(), {}));
  e->replaceAllUsesWith(chosen);
  e->eraseFromParent();
}

/// What the machine's comparison of `first` and `second` leaves to be looked for: it gives the second for NaN and for
/// two zeros.
struct Comparison {
  Value *first, *second;
  bool mayMissNaN, mayMissZero;

  int tests() const { return static_cast<int>(mayMissNaN) + static_cast<int>(mayMissZero); }
};

Comparison compareInOrder(const Extreme* e, unsigned first) {
  const bool isMax = e->getIntrinsicID() == llvm::Intrinsic::maximum;
  Value *a = e->getArgOperand(first), *b = e->getArgOperand(1 - first);
  const llvm::DataLayout& layout = e->getModule()->getDataLayout();
  const auto never = [&](const Value* v, llvm::FPClassTest classes) {
    return llvm::computeKnownFPClass(v, layout, classes).isKnownNever(classes);
  };
  // Of two zeros this one should win, and the other should not.
  const llvm::FPClassTest wins = isMax ? llvm::fcPosZero : llvm::fcNegZero;
  const llvm::FPClassTest loses = isMax ? llvm::fcNegZero : llvm::fcPosZero;
  return {a, b, !never(a, llvm::fcNan), !never(a, wins) && !never(b, loses)};
}

/// In the order that leaves less to be looked for; of two alike, the one from the trip before is the second.
Comparison comparisonOf(const Extreme* e) {
  const Comparison one = compareInOrder(e, 0), other = compareInOrder(e, 1);
  if (one.tests() != other.tests()) return one.tests() < other.tests() ? one : other;
  return waitsFor(one.first, e) ? other : one;
}

/// Whether VRANGE is as fast as the machine's comparison, as on Intel's processors: it orders zeros by their signs.
bool hasFastRange(const llvm::TargetMachine& machine) {
  return machine.getMCSubtargetInfo()->checkFeatures("+avx512dq,+false-deps-range");
}

/// The greater or the lesser of two numbers, zeros in their order; of a NaN and a number, the number.
Value* rangeOf(llvm::IRBuilder<>& b, Value* x, Value* y, bool isMax) {
  const bool isDouble = x->getType()->isDoubleTy();
  auto* lanes = llvm::FixedVectorType::get(x->getType(), isDouble ? 2 : 4);
  const auto id = isDouble ? llvm::Intrinsic::x86_avx512_mask_range_sd : llvm::Intrinsic::x86_avx512_mask_range_ss;
  const auto lane = [&](Value* v) { return b.CreateInsertElement(llvm::PoisonValue::get(lanes), v, uint64_t{0}); };
  constexpr uint8_t kOwnSign = 4, kNoMask = 0xff, kCurrentRounding = 4;
  Value* result = b.CreateIntrinsic(id, {},
                                    {lane(x), lane(y), llvm::PoisonValue::get(lanes), b.getInt8(kNoMask),
                                     b.getInt32(kOwnSign + (isMax ? 1 : 0)), b.getInt32(kCurrentRounding)});
  return b.CreateExtractElement(result, uint64_t{0});
}

/// The machine's comparison. What it does not do stands aside, behind jumps that are hardly ever taken, so nothing
/// waits for their tests. These read the result and the first operand: to read the second one too, which comes late,
/// costs a cycle on Zen 4.
void expand(Extreme* e, bool hasFastRange) {
  const bool isMax = e->getIntrinsicID() == llvm::Intrinsic::maximum;
  const Comparison c = comparisonOf(e);
  Value *x = c.first, *y = c.second;
  llvm::IRBuilder<> b(e);
  llvm::Type* whole = b.getIntNTy(e->getType()->getScalarSizeInBits());
  llvm::MDNode* rarely = llvm::MDBuilder(b.getContext()).createBranchWeights(1, 4000);
  auto unless = [&](Value* usual, Value* condition, const std::function<Value*()>& otherwise) -> Value* {
    llvm::BasicBlock* before = e->getParent();
    llvm::Instruction* end =
        llvm::SplitBlockAndInsertIfThen(condition, e->getIterator(), /*Unreachable=*/false, rarely);
    b.SetInsertPoint(end);
    Value* unusual = otherwise();
    b.SetInsertPoint(e);
    auto* either = b.CreatePHI(e->getType(), 2);
    either->addIncoming(usual, before);
    either->addIncoming(unusual, end->getParent());
    return either;
  };
  const auto put = [&](Value* result) {
    e->replaceAllUsesWith(result);
    e->eraseFromParent();
  };
  if (hasFastRange && c.mayMissZero && (e->getType()->isFloatTy() || e->getType()->isDoubleTy())) {
    Value *unordered = b.CreateFCmpUNO(x, y), *ordered = rangeOf(b, x, y, isMax);
    return put(
        unless(ordered, unordered, [&] { return b.CreateSelect(b.CreateFCmpUNO(x, x), b.CreateFAdd(x, y), y); }));
  }
  Value* result = b.CreateSelect(isMax ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y), x, y);
  if (c.mayMissNaN) result = unless(result, b.CreateFCmpUNO(x, result), [&] { return b.CreateFAdd(x, y); });
  if (c.mayMissZero) {
    llvm::Constant* none = llvm::Constant::getNullValue(whole);
    Value *p = b.CreateBitCast(x, whole), *r = b.CreateBitCast(result, whole);
    Value* zeros = b.CreateICmpEQ(b.CreateShl(b.CreateOr(p, r), 1), none);
    result = unless(result, zeros, [&] {
      Value* q = b.CreateBitCast(y, whole);
      Value* both = b.CreateBitCast(isMax ? b.CreateAnd(p, q) : b.CreateOr(p, q), e->getType());
      return b.CreateSelect(b.CreateICmpEQ(b.CreateShl(q, 1), none), both, result);
    });
  }
  put(result);
}

}  // namespace

void expandExtremes(llvm::Function& f, const llvm::TargetMachine& machine) {
  for (Extreme* e : extremesIn(f, false)) lateOperandsLast(e);
  for (Extreme* e : extremesIn(f, false)) asChoice(e);
  const std::vector<Extreme*> ofFloats = extremesIn(f, true);
  const bool ranges = !ofFloats.empty() && hasFastRange(machine);
  for (Extreme* e : ofFloats) expand(e, ranges);
}

}  // namespace tenc::codegen::cpu
