// Rewrites of native loops that LLVM has no pass for: they shorten what one trip waits for of the trip before.
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Local.h>

#include "codegen/cpu/NativePasses.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

/// Whether a value of a trip waits for another by little arithmetic alone.
bool waitsFor(const Value* v, const Value* of, int steps = 6) {
  if (v == of) return true;
  const auto* i = llvm::dyn_cast<llvm::Instruction>(v);
  if (i == nullptr || steps == 0) return false;
  const bool computes = llvm::isa<llvm::BinaryOperator, llvm::SelectInst, llvm::CastInst, llvm::MinMaxIntrinsic>(i);
  return computes && llvm::any_of(i->operands(), [&](const Value* o) { return waitsFor(o, of, steps - 1); });
}

/// Whether what the next trip has in place of a value waits for `of`.
bool isCarriedFrom(const Value* v, const Value* of) {
  const auto* phi = llvm::dyn_cast<llvm::PHINode>(v);
  return phi != nullptr && llvm::any_of(phi->incoming_values(), [&](const Value* next) { return waitsFor(next, of); });
}

}  // namespace

/// max(y, max(z, x)), of integers, as max(max(y, z), x) where x is what each trip waits for.
void compareCarriedLast(llvm::Function& f) {
  for (llvm::BasicBlock& block : f)
    for (llvm::Instruction& i : block) {
      auto* outer = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&i);
      for (unsigned side : {0u, 1u}) {
        auto* inner = outer == nullptr ? nullptr : llvm::dyn_cast<llvm::MinMaxIntrinsic>(outer->getOperand(side));
        if (inner == nullptr || inner->getIntrinsicID() != outer->getIntrinsicID() || !inner->hasOneUse()) continue;
        Value *y = outer->getOperand(1 - side), *x = inner->getLHS(), *z = inner->getRHS();
        if (!isCarriedFrom(x, outer)) std::swap(x, z);
        if (!isCarriedFrom(x, outer) || isCarriedFrom(y, outer) || isCarriedFrom(z, outer)) continue;
        outer->setOperand(side, llvm::IRBuilder<>(outer).CreateBinaryIntrinsic(outer->getIntrinsicID(), y, z));
        outer->setOperand(1 - side, x);
        inner->eraseFromParent();
        break;
      }
    }
}

/// x' = c ? v : max(x, y) from one trip to the next waits for three instructions; as x' = x > (c ? most : y) ? x :
/// (c ? v : y) it waits for two. Integers; the same for min, and with the two sides of the choice exchanged. On Zen 5,
/// a choice by the carry alone takes one cycle, one by sign and overflow, or by carry and zero, two: there numbers with
/// a sign go from trip to trip with that bit turned, and are compared as those without.
void shortenRecurrences(llvm::Function& f, const llvm::TargetMachine& machine) {
  const bool turns = machine.getTargetCPU() == "znver5";
  namespace pm = llvm::PatternMatch;
  std::vector<llvm::SelectInst*> choices;
  for (llvm::BasicBlock& block : f)
    for (llvm::Instruction& i : block)
      if (auto* s = llvm::dyn_cast<llvm::SelectInst>(&i); s != nullptr && s->getType()->isIntegerTy())
        choices.push_back(s);
  for (llvm::SelectInst* s : choices) {
    auto carries = [&](Value* v) {
      auto* phi = llvm::dyn_cast<llvm::PHINode>(v);
      return phi != nullptr && llvm::is_contained(phi->incoming_values(), s);
    };
    const unsigned bits = s->getType()->getIntegerBitWidth();
    for (unsigned side : {1u, 2u}) {
      Value *extreme = s->getOperand(side), *x, *y;
      bool isMax = true, isSigned = true;
      if (pm::match(extreme, pm::m_SMin(pm::m_Value(x), pm::m_Value(y)))) {
        isMax = false;
      } else if (pm::match(extreme, pm::m_UMax(pm::m_Value(x), pm::m_Value(y)))) {
        isSigned = false;
      } else if (pm::match(extreme, pm::m_UMin(pm::m_Value(x), pm::m_Value(y)))) {
        isMax = isSigned = false;
      } else if (!pm::match(extreme, pm::m_SMax(pm::m_Value(x), pm::m_Value(y)))) {
        continue;
      }
      if (!carries(x)) std::swap(x, y);
      if (!extreme->hasOneUse() || !carries(x) || x == y) continue;
      auto* carried = llvm::cast<llvm::PHINode>(x);
      llvm::IRBuilder<> b(s);
      const bool isTurned = isSigned && turns, comparesSigned = isSigned && !turns;
      const llvm::APInt sign = isTurned ? llvm::APInt::getSignMask(bits) : llvm::APInt::getZero(bits);
      auto turned = [&](Value* v) { return isTurned ? b.CreateXor(v, b.getInt(sign)) : v; };
      if (isTurned) {  // the carried value, turned; turned back for all others that read it
        x = llvm::PHINode::Create(s->getType(), carried->getNumIncomingValues(), "", carried->getIterator());
        b.SetInsertPoint(carried->getParent(), carried->getParent()->getFirstInsertionPt());
        carried->replaceAllUsesWith(turned(x));
        b.SetInsertPoint(s);
      }
      Value* other = turned(y);
      auto choose = [&](Value* elsewhere) {  // y where the choice falls on this side
        return b.CreateSelect(s->getCondition(), side == 1 ? other : elsewhere, side == 1 ? elsewhere : other, "", s);
      };
      // What nothing beats stands where the choice falls on the other side.
      const llvm::APInt most = comparesSigned ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
      const llvm::APInt least = comparesSigned ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
      Value* bound = choose(b.getInt(isMax ? most : least));
      other = choose(turned(s->getOperand(3 - side)));
      const auto less = comparesSigned ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;
      Value* beats = isMax ? b.CreateICmp(less, bound, x) : b.CreateICmp(less, x, bound);
      Value* next = b.CreateSelect(beats, x, other, "", s);
      s->replaceAllUsesWith(turned(next));
      for (unsigned i = 0; isTurned && i < carried->getNumIncomingValues(); ++i) {
        llvm::BasicBlock* from = carried->getIncomingBlock(i);
        b.SetInsertPoint(from->getTerminator());
        Value *v = carried->getIncomingValue(i), *before = nullptr;
        const bool wasTurned = pm::match(v, pm::m_Xor(pm::m_Value(before), pm::m_SpecificInt(sign)));
        llvm::cast<llvm::PHINode>(x)->addIncoming(wasTurned ? before : turned(v), from);
      }
      if (isTurned) carried->eraseFromParent();
      s->eraseFromParent();
      llvm::RecursivelyDeleteTriviallyDeadInstructions(extreme);
      break;
    }
  }
}

/// A narrow number that goes from trip to trip, and is wanted as a wide one alone (the number of a state, which is an
/// index), goes so: what loads it widens it at no cost, and each trip waits for one instruction less.
void widenCarried(llvm::Function& f) {
  std::vector<llvm::PHINode*> phis;
  for (llvm::BasicBlock& block : f)
    for (llvm::PHINode& phi : block.phis())
      if (phi.getType()->isIntegerTy(32)) phis.push_back(&phi);
  for (llvm::PHINode* phi : phis) {
    llvm::Type* wide = llvm::Type::getInt64Ty(f.getContext());
    auto widens = [&](const llvm::User* u) {
      const auto* z = llvm::dyn_cast<llvm::ZExtInst>(u);
      return u->getType() == wide && (llvm::isa<llvm::SExtInst>(u) || (z != nullptr && z->hasNonNeg()));
    };
    auto constantOf = [&](const llvm::User* u) {
      const auto* c = llvm::dyn_cast<llvm::ICmpInst>(u);
      return c == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(c->getOperand(1));
    };
    // Compared with what has no sign, both have the same order.
    auto compares = [&](const llvm::User* u) {
      const auto* c = constantOf(u);
      return c != nullptr && (!c->isNegative() || !llvm::cast<llvm::ICmpInst>(u)->isUnsigned());
    };
    const bool wanted = llvm::any_of(phi->users(), widens);
    if (!wanted || !llvm::all_of(phi->users(), [&](const llvm::User* u) { return widens(u) || compares(u); })) continue;
    if (!llvm::all_of(phi->incoming_values(),
                      [](const Value* v) { return llvm::isa<llvm::LoadInst>(v) || llvm::isa<llvm::ConstantInt>(v); }))
      continue;
    llvm::IRBuilder<> b(phi);
    auto* carried = b.CreatePHI(wide, phi->getNumIncomingValues());
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(phi->getIncomingValue(i));
      if (load != nullptr) b.SetInsertPoint(load->getNextNode());
      carried->addIncoming(b.CreateSExt(phi->getIncomingValue(i), wide), phi->getIncomingBlock(i));
    }
    for (llvm::User* u : llvm::make_early_inc_range(phi->users())) {
      auto* user = llvm::cast<llvm::Instruction>(u);
      b.SetInsertPoint(user);
      const auto* c = constantOf(u);
      user->replaceAllUsesWith(c == nullptr ? carried
                                            : b.CreateICmp(llvm::cast<llvm::ICmpInst>(u)->getPredicate(), carried,
                                                           b.getInt64(static_cast<uint64_t>(c->getSExtValue()))));
      user->eraseFromParent();
    }
    phi->eraseFromParent();
  }
}

/// Rows that an innermost loop walks side by side keep registers of their own. The code generator sees that they are a
/// fixed distance apart and would address all of them from one: displacements of four bytes cost more than registers.
void keepRowsApart(llvm::Function& f) {
  constexpr size_t kMostRows = 4;
  for (llvm::BasicBlock& block : f) {
    if (!llvm::is_contained(llvm::successors(&block), &block)) continue;
    llvm::MapVector<llvm::GetElementPtrInst*, std::vector<llvm::GetElementPtrInst*>> rows;
    for (llvm::Instruction& i : block) {
      auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(&i);
      auto* row = element ? llvm::dyn_cast<llvm::GetElementPtrInst>(element->getPointerOperand()) : nullptr;
      if (row != nullptr && row->getParent() != &block) rows[row].push_back(element);
    }
    if (rows.size() < 2 || rows.size() > kMostRows) continue;
    for (auto& [row, elements] : rows) {
      auto* apart = new llvm::FreezeInst(row, "", std::next(row->getIterator()));
      for (llvm::GetElementPtrInst* e : elements) e->setOperand(0, apart);
    }
  }
}

}  // namespace tenc::codegen::cpu
