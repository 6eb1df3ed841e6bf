// Expressions of one stage of a kernel as LLVM IR: loads, scalar bodies, stores, at the current values of the loop
// variables. One loop variable may be a vector; what does not depend on it stays scalar, and what does not depend on
// inner loops is emitted before them.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <map>
#include <optional>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cpu/KernelFunction.h"
#include "codegen/cpu/LaneMemory.h"
#include "codegen/cpu/LlvmScalars.h"
#include "codegen/cpu/RandomTile.h"

namespace tenc::codegen::cpu {

class ExprEmitter {
 public:
  static constexpr size_t kNoVar = ~size_t{0};

  /// `vectorVar`: the loop variable that runs over lanes, or kNoVar with `lanes` 1.
  ExprEmitter(llvm::IRBuilderBase& b, const KernelArgs& args, const Kernel& kernel, const Stage& stage,
              size_t vectorVar, int lanes);

  /// Value of a reduction that earlier stages computed, one for each copy (see setVector).
  void setReduced(uint32_t number, std::vector<Scalar> copies);
  /// Says that results of reductions change with the vector variable: they are to be set again whenever it is bound.
  void setReducedVaries();
  /// Whether the stage reads the result of reduction `number`.
  bool readsReduced(uint32_t number) const;
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
  /// Emits a store of the stage.
  void store(const Store& s, int copy = 0);

  LlvmScalars& scalars() { return scalars_; }
  bool isVector(ExprId e) const { return vectorVar_ != kNoVar && (depends_[e] >> vectorVar_ & 1) != 0; }
  /// Whether a store, a reduction or the index of an access uses it.
  bool isNeeded(ExprId e) const { return needed_[e] != 0; }
  /// Loop variables on which the expression depends, as a bit set.
  uint64_t dependencies(ExprId e) const { return depends_[e]; }
  /// The address of a bound position without the vector variable's part.
  llvm::Value* address(const Access& a);
  llvm::Value* mask() const { return scalars_.mask(); }
  int lanes() const { return scalars_.lanes(); }

 private:
  struct Partial {
    uint64_t vars;
    llvm::Value* pointer;
  };
  /// A run-time index between 0 and its extent; `inside` is null where there is no check.
  struct TermIndex {
    const Access::Term* term;
    bool narrow;
    uint64_t epoch;
    Scalar index;
    llvm::Value* inside;
  };
  TermIndex termIndex(const Access::Term& t, int copy, bool narrow);
  Scalar compute(ExprId id, int copy);
  Scalar load(const Expr& e, int copy);
  Scalar reduced(const Expr& e, int copy);
  Scalar dividePosition(const Expr& e, int copy);
  Scalar random(ExprId id, int copy);
  /// Whether lane i of a position is `stride` * i from the first lane, for a stride that is known.
  std::optional<int64_t> laneStride(ExprId position) const;
  /// The first lane of a position whose lanes have a stride.
  llvm::Value* firstLane(ExprId position, int copy);
  /// Adds the run-time terms of an access; `position` in elements, null when there are none. Clears lanes of `inRange`
  /// where a term is out of range.
  llvm::Value* terms(const Access& a, int copy, llvm::Value*& inRange);
  /// Where the lanes of an access stand: lane i at `base` + `step` * i elements, and `offsets` where its run-time terms
  /// differ from lane to lane. A term that is out of range counts 0 there, and clears `inRange` if that is not null.
  struct Lanes {
    llvm::Value* base;
    llvm::Value* offsets = nullptr;
    int64_t step = 0;
    llvm::Value* inRange = nullptr;
  };
  Lanes lanesOf(const Access& a, llvm::Type* element, int copy);
  /// Whether a term indexes an empty dim; its fault is set then.
  bool indexesNothing(const Access& a, int copy);
  /// Whether vectors of the store, all lanes of them, start at multiples of their size, for buffers that start at
  /// multiples of 64 bytes.
  bool isAligned(const Access& a) const;
  llvm::Value* advance(const Access& a, llvm::Value* pointer, uint64_t vars);
  int64_t stride(const Access& a, size_t var) const { return var < a.strides.size() ? a.strides[var] : 0; }
  /// Whether the stage writes the buffer.
  bool isStored(uint32_t buffer) const;
  uint64_t accessVars(const Access& a) const;
  void collectNeeded(ExprId e);
  bool isPosition(const Expr& e) const;

  llvm::IRBuilderBase& b_;
  const KernelArgs& args_;
  const Kernel& kernel_;
  const Stage& stage_;
  size_t vectorVar_;
  LlvmScalars scalars_;
  LaneMemory memory_;
  int copies_ = 1;
  uint64_t epoch_ = 0;  ///< counts changes of variables
  std::vector<TermIndex> checked_;
  uint64_t bound_ = 0;
  std::vector<llvm::Value*> vars_;
  llvm::Value* vectorBase_ = nullptr;
  std::vector<uint64_t> depends_;
  bool reducedPerCopy_ = false;    ///< reductions have a result for each copy
  std::vector<char> positions_;    ///< i64 arithmetic on loop variables alone
  std::vector<char> fromReduced_;  ///< whether it depends on a reduction's result
  std::vector<char> fromRunning_;  ///< whether it depends on a running value, which the loop sets
  std::vector<char> needed_;
  std::vector<std::vector<Scalar>> memo_;  ///< by expression and copy
  std::vector<std::pair<const Access*, std::vector<Partial>>> partials_;
  std::vector<std::vector<Scalar>> reduced_;
  std::map<ExprId, RandomTile> randomTiles_;
};

}  // namespace tenc::codegen::cpu
