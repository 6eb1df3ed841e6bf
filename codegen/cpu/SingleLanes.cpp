#include "codegen/cpu/SingleLanes.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <vector>

namespace tenc::codegen::cpu {
namespace {

/// A vector that is read; `mask` is null where all lanes are.
struct Read {
  llvm::Instruction* at = nullptr;
  llvm::Value* address = nullptr;
  llvm::Constant* mask = nullptr;
};

Read readOf(llvm::Instruction& i) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i))
    return load->isSimple() && load->getType()->isVectorTy() ? Read{load, load->getPointerOperand()} : Read{};
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::masked_load) return {};
  auto* mask = llvm::dyn_cast<llvm::Constant>(call->getArgOperand(2));
  return mask == nullptr ? Read{} : Read{call, call->getArgOperand(0), mask};
}

/// The lane that a user takes, if the vector has it from memory.
std::optional<uint64_t> laneOf(const Read& read, const llvm::User* user) {
  const auto* one = llvm::dyn_cast<llvm::ExtractElementInst>(user);
  const auto* lane = one == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(one->getIndexOperand());
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(read.at->getType());
  if (lane == nullptr || type == nullptr || lane->getZExtValue() >= type->getNumElements()) return std::nullopt;
  if (read.mask != nullptr) {
    const llvm::Constant* on = read.mask->getAggregateElement(static_cast<unsigned>(lane->getZExtValue()));
    if (on == nullptr || !on->isOneValue()) return std::nullopt;
  }
  return lane->getZExtValue();
}

}  // namespace

void readSingleLanes(llvm::Function& f) {
  const llvm::DataLayout& layout = f.getParent()->getDataLayout();
  std::vector<Read> reads;
  for (llvm::Instruction& i : llvm::instructions(f))
    if (const Read read = readOf(i); read.at != nullptr && !i.use_empty()) reads.push_back(read);
  for (const Read& read : reads) {
    llvm::Instruction& i = *read.at;
    llvm::Type* element = i.getType()->getScalarType();
    // Elements that are no whole bytes lie in memory otherwise.
    if (layout.getTypeSizeInBits(element) != layout.getTypeAllocSizeInBits(element)) continue;
    if (!llvm::all_of(i.users(), [&](const llvm::User* user) { return laneOf(read, user).has_value(); })) continue;
    llvm::IRBuilder<> b(&i);
    llvm::SmallDenseMap<uint64_t, llvm::Value*> lanes;
    for (llvm::User* user : llvm::make_early_inc_range(i.users())) {
      const uint64_t lane = *laneOf(read, user);
      llvm::Value*& value = lanes[lane];
      if (value == nullptr) {
        auto* load = b.CreateAlignedLoad(element, b.CreateConstInBoundsGEP1_64(element, read.address, lane),
                                         layout.getABITypeAlign(element));
        for (const unsigned kind : {llvm::LLVMContext::MD_invariant_load, llvm::LLVMContext::MD_alias_scope,
                                    llvm::LLVMContext::MD_noalias, llvm::LLVMContext::MD_tbaa})
          load->setMetadata(kind, i.getMetadata(kind));
        value = load;
      }
      auto* taken = llvm::cast<llvm::Instruction>(user);
      taken->replaceAllUsesWith(value);
      taken->eraseFromParent();
    }
    i.eraseFromParent();
  }
}

}  // namespace tenc::codegen::cpu
