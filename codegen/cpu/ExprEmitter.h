// Expressions of one stage of a kernel as LLVM IR, at the current values of the loop variables. One loop variable may
// be a vector; what does not depend on it stays scalar, and what does not depend on inner loops is emitted before them.
// What depends on what is known from the start (StageFacts.h); loads and stores have classes of their own
// (AccessEmitter.h, AccessAddresses.h).
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <map>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cpu/AccessAddresses.h"
#include "codegen/cpu/AccessEmitter.h"
#include "codegen/cpu/KernelFunction.h"
#include "codegen/cpu/LaneMemory.h"
#include "codegen/cpu/LlvmScalars.h"
#include "codegen/cpu/RandomTile.h"
#include "codegen/cpu/StageFacts.h"

namespace tenc::codegen::cpu {

class ExprEmitter {
 public:
  /// `vectorVar`: the loop variable that runs over lanes, or StageFacts::kNoVar with `lanes` 1.
  ExprEmitter(llvm::IRBuilderBase& b, const KernelArgs& args, const Kernel& kernel, const Stage& stage,
              size_t vectorVar, int lanes);
  ExprEmitter(const ExprEmitter&) = delete;

  /// Value of a reduction that earlier stages computed, one for each copy (see setVector).
  void setReduced(uint32_t number, std::vector<Scalar> copies);
  /// Says that results of reductions change with the vector variable: they are to be set again whenever it is bound.
  void setReducedVaries() { facts_.reducedVaries(); }
  /// Binds a loop variable to an i64. What depended on its old value is forgotten.
  void setVar(size_t var, llvm::Value* value);
  /// Binds the vector variable: copy c has the values base + c * lanes + lane. `mask`: lanes in use, null for all.
  void setVector(llvm::Value* base, int copies, llvm::Value* mask);
  /// Forgets the value of a variable, at the end of its loop.
  void clearVar(size_t var);
  /// Emits, here, everything that depends on bound variables only; to be called before a loop is opened.
  void emitInvariant();

  Scalar value(ExprId e, int copy = 0);
  /// A loop variable in 32 bits.
  Scalar narrowVar(size_t var, int copy);
  /// Uses `s` for an expression instead of computing it (a load done in another way), until its variables change.
  void setValue(ExprId e, int copy, Scalar s);
  /// What scan `number` has come to at this point; to be set before it is read.
  void setRunning(uint32_t number, int copy, Scalar s);
  void setElsewhere(AccessEmitter::Elsewhere place) { accesses_.setElsewhere(std::move(place)); }
  /// What loop variable `var` is bound to.
  llvm::Value* var(size_t var) const { return vars_.values[var]; }
  /// Emits a store of the stage.
  void store(const Store& s, int copy = 0) { accesses_.store(s, copy); }

  LlvmScalars& scalars() { return scalars_; }
  const StageFacts& facts() const { return facts_; }
  llvm::IRBuilderBase& builder() { return b_; }
  /// Whether the value is the same for all lanes and copies.
  bool isOneForAllCopies(ExprId e) const {
    return !facts_.isVector(e) && (!facts_.isFromReduced(e) || !reducedPerCopy_);
  }
  /// The address of a bound position without the vector variable's part.
  llvm::Value* address(const Access& a) { return addresses_.of(a); }
  llvm::Value* mask() const { return scalars_.mask(); }
  int lanes() const { return scalars_.lanes(); }

 private:
  Scalar compute(ExprId id, int copy);
  Scalar reduced(const Expr& e, int copy);
  Scalar dividePosition(const Expr& e, int copy);
  Scalar random(ExprId id, int copy);
  /// The first lane of a position whose lanes have a stride.
  llvm::Value* firstLane(ExprId position, int copy);
  /// The vector variable in the first lane of a copy.
  llvm::Value* firstOf(int copy) {
    return b_.CreateAdd(vars_.vectorBase, b_.getInt64(static_cast<uint64_t>(copy * lanes())));
  }

  llvm::IRBuilderBase& b_;
  const KernelArgs& args_;
  const Stage& stage_;
  StageFacts facts_;
  LlvmScalars scalars_;
  LaneMemory memory_;
  BoundVars vars_;
  AccessAddresses addresses_;
  AccessEmitter accesses_;
  bool reducedPerCopy_ = false;            ///< reductions have a result for each copy
  std::vector<std::vector<Scalar>> memo_;  ///< by expression and copy
  std::vector<std::vector<Scalar>> reduced_;
  std::map<ExprId, RandomTile> randomTiles_;
};

}  // namespace tenc::codegen::cpu
