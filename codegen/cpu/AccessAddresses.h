// Where the accesses of a stage stand in memory, at the current values of loop variables. What depends on outer loops
// alone is computed before the inner ones.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <utility>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cpu/KernelFunction.h"
#include "codegen/cpu/StageFacts.h"

namespace tenc::codegen::cpu {

/// The loop variables that have a value now; those of the vector variable are its first lane's.
struct BoundVars {
  std::vector<llvm::Value*> values;
  uint64_t bound = 0;                 ///< which, as a bit set
  llvm::Value* vectorBase = nullptr;  ///< of the first lane of copy 0
  int copies = 1;                     ///< vectors side by side
};

class AccessAddresses {
 public:
  AccessAddresses(llvm::IRBuilderBase& b, const KernelArgs& args, const Kernel& kernel, const Stage& stage,
                  const StageFacts& facts, const BoundVars& vars);
  /// The address of a bound position without the vector variable's part.
  llvm::Value* of(const Access& a);
  /// Emits, here, the part of every address that depends on bound variables.
  void emitInvariant();
  /// At the end of a variable's loop.
  void forget(size_t var);

 private:
  struct Partial {
    uint64_t vars;
    llvm::Value* pointer;
  };
  llvm::Value* start(const Access& a);
  llvm::Value* advance(const Access& a, llvm::Value* pointer, uint64_t vars);
  /// The variables that move the access, but for the vector's.
  uint64_t varsOf(const Access& a) const;
  llvm::Type* elementOf(const Access& a);

  llvm::IRBuilderBase& b_;
  const KernelArgs& args_;
  const Kernel& kernel_;
  const StageFacts& facts_;
  const BoundVars& vars_;
  std::vector<std::pair<const Access*, std::vector<Partial>>> partials_;
};

}  // namespace tenc::codegen::cpu
