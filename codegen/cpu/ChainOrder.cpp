#include "codegen/cpu/ChainOrder.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/EquivalenceClasses.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <vector>

#include "codegen/cpu/Jit.h"

namespace tenc::codegen::cpu {
namespace {

/// Whether an instruction may stand anywhere between its operands and its users.
bool mayMove(const llvm::Instruction& i) {
  return !llvm::isa<llvm::PHINode>(i) && !i.isTerminator() && !i.mayHaveSideEffects() && !i.mayReadFromMemory() &&
         llvm::isSafeToSpeculativelyExecute(&i);
}

/// Instructions in a row that may all move.
class Run {
 public:
  Run(std::vector<llvm::Instruction*> all, int64_t registerBytes) : all_(std::move(all)), bytes_(registerBytes) {
    for (size_t i = 0; i < all_.size(); ++i) numbers_[all_[i]] = i;
    levels_.resize(all_.size());
    chains_.resize(all_.size());
    llvm::EquivalenceClasses<size_t> together;
    for (size_t i = 0; i < all_.size(); ++i) {
      together.insert(i);
      for (const llvm::Value* operand : all_[i]->operands())
        if (const auto at = numbers_.find(operand); at != numbers_.end()) {
          levels_[i] = std::max(levels_[i], levels_[at->second] + 1);
          together.unionSets(i, at->second);
        }
    }
    llvm::DenseMap<size_t, size_t> order;  // of chains, as they begin
    for (size_t i = 0; i < all_.size(); ++i)
      chains_[i] = order.try_emplace(together.getLeaderValue(i), order.size()).first->second;
    count_ = order.size();
  }

  void interleave(size_t registers) {
    for (size_t side = count_; side > 1; side = (side + 1) / 2 < side ? (side + 1) / 2 : 1) {
      const std::vector<size_t> order = ordered(side);
      if (mostLive(order) > registers) continue;
      for (size_t i = 1; i < order.size(); ++i) all_[order[i]]->moveAfter(all_[order[i - 1]]);
      return;
    }
  }

 private:
  /// Of so many chains at a time, level by level.
  std::vector<size_t> ordered(size_t side) const {
    std::vector<size_t> order(all_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](size_t i) { return std::pair(chains_[i] / side, levels_[i]); });
    return order;
  }

  size_t registersOf(const llvm::Value& v) const {
    if (!v.getType()->isVectorTy()) return 0;
    const auto bits = static_cast<int64_t>(v.getType()->getPrimitiveSizeInBits().getKnownMinValue());
    return static_cast<size_t>((bits + 8 * bytes_ - 1) / (8 * bytes_));
  }

  /// The registers that are wanted at once; what comes from outside is taken to be kept.
  size_t mostLive(const std::vector<size_t>& order) const {
    std::vector<size_t> place(order.size()), last(order.size());
    for (size_t at = 0; at < order.size(); ++at) place[order[at]] = at;
    llvm::DenseMap<const llvm::Value*, bool> outside;
    size_t live = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      last[i] = place[i];
      for (const llvm::User* user : all_[i]->users()) {
        const auto at = numbers_.find(user);
        last[i] = at == numbers_.end() ? order.size() : std::max(last[i], place[at->second]);
      }
      for (const llvm::Value* operand : all_[i]->operands())
        if (!numbers_.contains(operand) && outside.try_emplace(operand, true).second) live += registersOf(*operand);
    }
    std::vector<size_t> ended(order.size() + 1);
    for (size_t i = 0; i < all_.size(); ++i) ended[last[i]] += registersOf(*all_[i]);
    size_t most = live;
    for (size_t at = 0; at < order.size(); ++at) {
      live += registersOf(*all_[order[at]]);
      most = std::max(most, live);
      live -= ended[at];
    }
    return most;
  }

  std::vector<llvm::Instruction*> all_;
  int64_t bytes_;
  llvm::DenseMap<const llvm::Value*, size_t> numbers_;
  std::vector<size_t> levels_;  ///< how many of the run each one waits for
  std::vector<size_t> chains_;
  size_t count_ = 0;
};

}  // namespace

void interleaveChains(llvm::Function& f) {
  const int64_t bytes = vectorUnit(*f.getParent()).registerBytes;
  const size_t registers = bytes == 64 ? 32 : 16;
  for (llvm::BasicBlock& block : f) {
    std::vector<llvm::Instruction*> run;
    const auto end = [&] {
      if (run.size() > 2) Run(run, bytes).interleave(registers);
      run.clear();
    };
    for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
      if (mayMove(i))
        run.push_back(&i);
      else
        end();
    }
  }
}

}  // namespace tenc::codegen::cpu
