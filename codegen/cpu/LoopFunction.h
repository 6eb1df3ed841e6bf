// The function of a loop kernel while it is emitted: what the emitters of all strategies share.
#pragma once
#include <llvm/IR/Module.h>

#include <optional>
#include <string>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/IrBuilder.h"
#include "codegen/cpu/KernelEmitters.h"
#include "codegen/cpu/LoopSchedule.h"
#include "codegen/cpu/Loops.h"

namespace tenc::codegen::cpu {

inline constexpr int64_t kCacheLine = 64;  // bytes

struct LoopFunction {
  /// Makes the function, with its arguments loaded; `b` stands at the end of the entry block.
  explicit LoopFunction(const KernelToEmit& kernel);

  const Kernel& kernel;
  llvm::Module& module;
  IrBuilder b;
  bool contract;
  bool shortCode;  ///< one vector at a time, long pieces as functions
  AssembledForm assembled;
  llvm::Function* function;
  KernelArgs args;
  Values outer;  ///< the outer variables of the current point; null for what runs over lanes or in a loop of the item
  std::vector<std::vector<Scalar>> results;  ///< of reductions, by number and copy; empty before they are known

  llvm::Value* i64(int64_t v) { return b.getInt64(static_cast<uint64_t>(v)); }
  /// The lesser of `a + step` and `most`.
  llvm::Value* endOf(llvm::Value* a, int64_t step, llvm::Value* most);
  /// Memory of the function for so many elements, aligned for vectors.
  llvm::Value* stackArray(llvm::Type* element, int64_t count);
  /// Asks for the cache lines of so many bytes, which need not exist. `level`: the cache they go to.
  void prefetch(llvm::Value* from, int64_t bytes, bool write, int level = 1);
  void forgetResults() { results.assign(kernel.reductions.size(), {}); }
  /// Whether all vectors of a block are whole.
  bool fullLanes(const LaneBlocks& blocks) const { return kernel.outer[blocks.var] % kLanes == 0; }

  /// An outer variable of which an item has so many values.
  struct Strip {
    size_t var;
    int64_t values;
  };
  struct Range {
    llvm::Value *lo = nullptr, *hi = nullptr;
  };
  /// Binds the outer variables from the number of a work item, that of a strip to its first value. Returns the item's
  /// range of the variable that runs over lanes, if one does.
  Range bindItem(llvm::Value* item, const std::optional<LaneBlocks>& blocks, const std::optional<Strip>& strip);
};

}  // namespace tenc::codegen::cpu
