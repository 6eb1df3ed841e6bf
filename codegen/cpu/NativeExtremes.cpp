// The lesser and the greater of two numbers in native loops, after LLVM's passes.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/cpu/Jit.h"
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
    const bool floats = e->getIntrinsicID() == llvm::Intrinsic::maximum || e->getIntrinsicID() == llvm::Intrinsic::minimum;
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

/// The greater (lesser) of two numbers that are no NaN, -0 below +0.
Value* ordered(llvm::IRBuilder<>& b, Value* x, Value* y, bool isMax) {
  llvm::Type* t = x->getType();
  if (usesAvx512(*b.GetInsertBlock()->getModule())) {
    const unsigned lanes = t->isDoubleTy() ? 2 : 4;
    auto inVector = [&](Value* v) {
      return b.CreateInsertElement(llvm::PoisonValue::get(llvm::FixedVectorType::get(t, lanes)), v, uint64_t{0});
    };
    auto id = t->isDoubleTy() ? llvm::Intrinsic::x86_avx512_mask_range_sd : llvm::Intrinsic::x86_avx512_mask_range_ss;
    Value* v = inVector(x);
    Value* r = b.CreateIntrinsic(id, {}, {v, inVector(y), v, b.getInt8(0xff), b.getInt32(isMax ? 5 : 4), b.getInt32(4)});
    return b.CreateExtractElement(r, uint64_t{0});
  }
  // The machine's comparison gives its second operand for two zeros: both ways round, they differ in nothing else.
  auto choose = [&](Value* p, Value* q) { return b.CreateSelect(isMax ? b.CreateFCmpOGT(p, q) : b.CreateFCmpOLT(p, q), p, q); };
  llvm::Type* whole = b.getIntNTy(t->getScalarSizeInBits());
  Value *first = b.CreateBitCast(choose(x, y), whole), *second = b.CreateBitCast(choose(y, x), whole);
  return b.CreateBitCast(isMax ? b.CreateAnd(first, second) : b.CreateOr(first, second), t);
}

/// NaN stands aside, behind a jump that is hardly ever taken: so nothing waits for the test.
void aside(Extreme* e) {
  Value *x = e->getArgOperand(0), *y = e->getArgOperand(1);
  llvm::IRBuilder<> b(e);
  Value* usual = ordered(b, x, y, e->getIntrinsicID() == llvm::Intrinsic::maximum);
  Value* unusual = b.CreateFCmpUNO(x, y);
  llvm::BasicBlock* before = e->getParent();
  llvm::Instruction* end = llvm::SplitBlockAndInsertIfThen(
      unusual, e->getIterator(), /*Unreachable=*/false, llvm::MDBuilder(b.getContext()).createBranchWeights(1, 4000));
  b.SetInsertPoint(end);
  Value* nan = b.CreateFAdd(x, y);
  b.SetInsertPoint(e);
  auto* either = b.CreatePHI(e->getType(), 2);
  either->addIncoming(usual, before);
  either->addIncoming(nan, end->getParent());
  e->replaceAllUsesWith(either);
  e->eraseFromParent();
}

}  // namespace

void expandExtremes(llvm::Function& f) {
  for (Extreme* e : extremesIn(f, false)) lateOperandsLast(e);
  for (Extreme* e : extremesIn(f, false)) asChoice(e);
  for (Extreme* e : extremesIn(f, true)) aside(e);
}

}  // namespace tenc::codegen::cpu
