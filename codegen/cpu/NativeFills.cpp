// Loops that write one value to places that follow each other (`for k in 0..length { out[at] = x; at += 1 }`). Many are
// short: a loop of vectors leaves what is no whole vector to single stores, and ends with a jump that is guessed wrong.
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <cassert>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/cpu/Jit.h"
#include "codegen/cpu/NativePasses.h"

namespace tenc::codegen::cpu {
namespace {
using llvm::Value;

struct Fill {
  llvm::Loop* loop;
  llvm::StoreInst* store;
  const llvm::SCEV *first, *before;  ///< the first place, and the number of trips before the last
  std::vector<std::pair<llvm::PHINode*, const llvm::SCEV*>> results;  ///< what of it is read behind it
};

/// What a loop has computed when it is left, if all of that is known in front of it.
std::optional<decltype(Fill::results)> resultsOf(llvm::Loop& loop, llvm::ScalarEvolution& evolution,
                                                 const llvm::SCEVExpander& expander) {
  llvm::BasicBlock *block = loop.getHeader(), *exit = loop.getUniqueExitBlock();
  for (llvm::Instruction& i : *block)
    for (const llvm::User* user : i.users()) {
      const auto* reader = llvm::cast<llvm::Instruction>(user);
      if (reader->getParent() != block && (reader->getParent() != exit || !llvm::isa<llvm::PHINode>(reader)))
        return std::nullopt;
    }
  decltype(Fill::results) found;
  for (llvm::PHINode& phi : exit->phis()) {
    Value* const left = phi.getIncomingValueForBlock(block);
    if (loop.isLoopInvariant(left)) continue;
    if (!evolution.isSCEVable(left->getType())) return std::nullopt;
    const llvm::SCEV* const last = evolution.getSCEVAtScope(left, loop.getParentLoop());
    if (!evolution.isLoopInvariant(last, &loop) || !expander.isSafeToExpand(last)) return std::nullopt;
    found.emplace_back(&phi, last);
  }
  return found;
}

/// The only effect of the loop is one store, in every trip, of what it does not change, right behind the trip before.
std::optional<Fill> fillOf(llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  llvm::BasicBlock* block = loop.getHeader();
  if (loop.getNumBlocks() != 1 || loop.getLoopPreheader() == nullptr || loop.getUniqueExitBlock() == nullptr)
    return std::nullopt;
  llvm::StoreInst* store = nullptr;
  for (llvm::Instruction& i : *block) {
    auto* const stores = llvm::dyn_cast<llvm::StoreInst>(&i);
    if (stores != nullptr && store == nullptr)
      store = stores;
    else if (i.mayHaveSideEffects() || i.mayReadFromMemory())
      return std::nullopt;
  }
  if (store == nullptr || !store->isSimple() || !loop.isLoopInvariant(store->getValueOperand())) return std::nullopt;
  const llvm::DataLayout& layout = block->getModule()->getDataLayout();
  llvm::Type* type = store->getValueOperand()->getType();
  const uint64_t size = layout.getTypeStoreSize(type);
  if ((!type->isIntegerTy() && !type->isFloatingPointTy()) || layout.getTypeSizeInBits(type) != 8 * size || size > 8)
    return std::nullopt;
  const auto* place = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(store->getPointerOperand()));
  if (place == nullptr || place->getLoop() != &loop || !place->isAffine()) return std::nullopt;
  const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(place->getStepRecurrence(evolution));
  if (step == nullptr || step->getAPInt() != size) return std::nullopt;
  const llvm::SCEV* before = evolution.getBackedgeTakenCount(&loop);
  // A number of trips that is known needs no test.
  if (llvm::isa<llvm::SCEVCouldNotCompute, llvm::SCEVConstant>(before) || before->getType()->getIntegerBitWidth() > 64)
    return std::nullopt;
  const llvm::SCEVExpander expander(evolution, layout, "");
  if (!expander.isSafeToExpand(place->getStart()) || !expander.isSafeToExpand(before)) return std::nullopt;
  const auto results = resultsOf(loop, evolution, expander);
  if (!results) return std::nullopt;
  return Fill{&loop, store, place->getStart(), before, *results};
}

/// What stands for one of them: as many whole vectors as there are in front of the last element, then the rest, which
/// is one vector with a mask, or without masks one that ends with the last element, or two of a smaller power of 2.
class FillEmitter {
 public:
  /// Expands what it needs in front of the loop; changes no blocks.
  FillEmitter(const Fill& fill, llvm::ScalarEvolution& evolution, const VectorUnit& vectors)
      : store_(fill.store),
        exit_(fill.loop->getUniqueExitBlock()),
        b_(fill.loop->getLoopPreheader()->getTerminator()),
        value_(store_->getValueOperand()) {
    llvm::Instruction* const front = &*b_.GetInsertPoint();
    const llvm::DataLayout& layout = front->getModule()->getDataLayout();
    lanes_ = static_cast<unsigned>(vectors.registerBytes) /
             static_cast<unsigned>(layout.getTypeStoreSize(value_->getType()));
    hasMasks_ = vectors.registerBytes == 64;
    llvm::SCEVExpander expander(evolution, layout, "");
    first_ = expander.expandCodeFor(fill.first, nullptr, front);
    trips_ =
        b_.CreateAdd(b_.CreateZExt(expander.expandCodeFor(fill.before, nullptr, front), b_.getInt64Ty()), number(1));
    for (const auto& [phi, last] : fill.results)
      phi->setIncomingValueForBlock(store_->getParent(), expander.expandCodeFor(last, phi->getType(), front));
  }

  void emit() {
    llvm::BasicBlock *front = b_.GetInsertBlock(), *loop = store_->getParent();
    llvm::BasicBlock *whole = newBlock(), *last = newBlock();
    done_ = newBlock();
    front->getTerminator()->eraseFromParent();
    b_.SetInsertPoint(front);
    Value* const behindWhole = b_.CreateSub(trips_, number(lanes_));
    const auto isLong = b_.CreateICmpUGT(trips_, number(lanes_));
    b_.CreateCondBr(isLong, whole, hasMasks_ ? last : shortFill());

    b_.SetInsertPoint(whole);
    llvm::PHINode* at = b_.CreatePHI(b_.getInt64Ty(), 2);
    write(at, lanes_);
    Value* const next = b_.CreateAdd(at, number(lanes_));
    at->addIncoming(number(0), front);
    at->addIncoming(next, whole);
    b_.CreateCondBr(b_.CreateICmpULT(next, behindWhole), whole, last);

    b_.SetInsertPoint(last);
    if (hasMasks_) {
      llvm::PHINode* rest = b_.CreatePHI(b_.getInt64Ty(), 2);
      rest->addIncoming(number(0), front);
      rest->addIncoming(next, whole);
      writeRest(rest);
    } else {
      write(behindWhole, lanes_);
    }
    b_.CreateBr(done_);

    b_.SetInsertPoint(done_);
    b_.CreateBr(exit_);
    exit_->replacePhiUsesWith(loop, done_);
    loop->getTerminator()->eraseFromParent();
    new llvm::UnreachableInst(loop->getContext(), loop);
    llvm::DeleteDeadBlock(loop);
  }

 private:
  llvm::ConstantInt* number(uint64_t n) { return b_.getInt64(n); }

  llvm::BasicBlock* newBlock() {
    return llvm::BasicBlock::Create(b_.getContext(), "", exit_->getParent(), store_->getParent());
  }

  Value* place(Value* at) { return b_.CreateGEP(value_->getType(), first_, at); }

  void write(Value* at, unsigned lanes) {
    Value* const value = lanes == 1 ? value_ : b_.CreateVectorSplat(lanes, value_);
    keepScopes(b_.CreateAlignedStore(value, place(at), store_->getAlign()));
  }

  /// From 1 to `lanes_` elements.
  void writeRest(Value* at) {
    Value* const unused = b_.CreateSub(number(64), b_.CreateSub(trips_, at));
    Value* const bits = b_.CreateTrunc(b_.CreateLShr(number(~uint64_t{0}), unused), b_.getIntNTy(lanes_));
    Value* const mask = b_.CreateBitCast(bits, llvm::FixedVectorType::get(b_.getInt1Ty(), lanes_));
    keepScopes(b_.CreateMaskedStore(b_.CreateVectorSplat(lanes_, value_), place(at), store_->getAlign(), mask));
  }

  /// From 1 to `lanes_` elements: two stores of the greatest power of 2 that fits, which meet or overlap.
  llvm::BasicBlock* shortFill() {
    assert(lanes_ > 2);  // or the one element that is written last would not be all
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    llvm::BasicBlock* const start = newBlock();
    b_.SetInsertPoint(start);
    for (unsigned lanes = lanes_ / 2; lanes > 1; lanes /= 2) {
      llvm::BasicBlock *fits = newBlock(), *smaller = newBlock();
      b_.CreateCondBr(b_.CreateICmpUGE(trips_, number(lanes)), fits, smaller);
      b_.SetInsertPoint(fits);
      write(number(0), lanes);
      write(b_.CreateSub(trips_, number(lanes)), lanes);
      b_.CreateBr(done_);
      b_.SetInsertPoint(smaller);
    }
    write(number(0), 1);
    b_.CreateBr(done_);
    return start;
  }

  /// Which memory it may be is known as well as before.
  void keepScopes(llvm::Instruction* written) {
    for (const unsigned kind : {llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias})
      written->setMetadata(kind, store_->getMetadata(kind));
  }

  llvm::StoreInst* store_;
  llvm::BasicBlock *exit_, *done_ = nullptr;
  llvm::IRBuilder<> b_;
  unsigned lanes_;
  bool hasMasks_;
  Value *value_, *first_, *trips_;
};

}  // namespace

bool writeFills(llvm::Function& f, llvm::FunctionAnalysisManager& functions) {
  auto& evolution = functions.getResult<llvm::ScalarEvolutionAnalysis>(f);
  const VectorUnit vectors = vectorUnit(*f.getParent());
  std::deque<FillEmitter> fills;  // which stay where they are
  for (llvm::Loop* loop : functions.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder())
    if (const auto fill = fillOf(*loop, evolution)) fills.emplace_back(*fill, evolution, vectors);
  for (FillEmitter& fill : fills) fill.emit();
  return !fills.empty();
}

}  // namespace tenc::codegen::cpu
