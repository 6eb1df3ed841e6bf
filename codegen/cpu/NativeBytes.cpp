// Bytes of words in native loops, read as such.
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include <optional>
#include <vector>

#include "codegen/cpu/NativePasses.h"

namespace tenc::codegen::cpu {
namespace {

/// `(word >> amount) & 255`, or the same of 16 or 32 bits: whole bytes of what `word` reads.
struct PartOfWord {
  llvm::Instruction* part;
  llvm::LoadInst* word;
  llvm::Value* amount;
  unsigned bits;
};

std::optional<PartOfWord> partOfWord(llvm::Instruction& i, const llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  namespace pm = llvm::PatternMatch;
  if (!i.getType()->isIntegerTy()) return std::nullopt;
  PartOfWord found{&i, nullptr, nullptr, 0};
  llvm::Value* word = nullptr;
  const auto shifted = pm::m_LShr(pm::m_Value(word), pm::m_Value(found.amount));
  const llvm::APInt* mask = nullptr;
  if (pm::match(&i, pm::m_And(shifted, pm::m_APInt(mask))) && mask->isMask())
    found.bits = mask->countr_one();
  else if (pm::match(&i, pm::m_Trunc(shifted)))
    found.bits = i.getType()->getIntegerBitWidth();
  if (found.bits != 8 && found.bits != 16 && found.bits != 32) return std::nullopt;
  found.word = llvm::dyn_cast<llvm::LoadInst>(word);
  // By a constant, the code generator chooses.
  if (found.word == nullptr || !found.word->isSimple() || llvm::isa<llvm::Constant>(found.amount)) return std::nullopt;
  if (!loop.contains(found.word) || !loop.isLoopInvariant(found.amount) || loop.getLoopPreheader() == nullptr)
    return std::nullopt;
  // Beyond the word there may be no memory, and the shift may be one of those whose result is not wanted.
  const unsigned width = word->getType()->getIntegerBitWidth();
  const llvm::SCEV* amount = evolution.getSCEV(found.amount);
  if (found.bits >= width || evolution.getUnsignedRangeMax(amount).ugt(width - found.bits) ||
      (1U << evolution.getMinTrailingZeros(amount)) % found.bits != 0)
    return std::nullopt;
  return found;
}

}  // namespace

/// A byte of a word at a place that stands still (`(a[i] >> 8 * pass) & 255`) is read from where it is in memory, at
/// the price of a read in place of a shift and a mask.
void readBytes(llvm::Function& f, llvm::FunctionAnalysisManager& functions) {
  auto& evolution = functions.getResult<llvm::ScalarEvolutionAnalysis>(f);
  std::vector<std::pair<PartOfWord, llvm::BasicBlock*>> found;
  for (llvm::Loop* loop : functions.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder()) {
    if (!loop->isInnermost() || llvm::getBooleanLoopAttribute(loop, kRarelyRun)) continue;
    for (llvm::BasicBlock* block : loop->blocks())
      for (llvm::Instruction& i : *block)
        if (const auto part = partOfWord(i, *loop, evolution)) found.emplace_back(*part, loop->getLoopPreheader());
  }
  for (const auto& [read, before] : found) {
    llvm::IRBuilder<> b(before->getTerminator());
    llvm::Value* ahead = b.CreateLShr(b.CreateZExtOrTrunc(read.amount, b.getInt64Ty()), 3);
    b.SetInsertPoint(read.word->getNextNode());
    auto* part = b.CreateAlignedLoad(b.getIntNTy(read.bits),
                                     b.CreateGEP(b.getInt8Ty(), read.word->getPointerOperand(), ahead), llvm::Align(1));
    part->setAAMetadata(read.word->getAAMetadata());
    b.SetInsertPoint(read.part);
    read.part->replaceAllUsesWith(b.CreateZExt(part, read.part->getType()));
    llvm::RecursivelyDeleteTriviallyDeadInstructions(read.part);
  }
}

}  // namespace tenc::codegen::cpu
