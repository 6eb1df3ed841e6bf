// Loads and stores of a stage: contiguous, strided, by run-time indices, which are checked.
#pragma once
#include <functional>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cpu/AccessAddresses.h"
#include "codegen/cpu/LaneMemory.h"
#include "codegen/cpu/LlvmScalars.h"
#include "codegen/cpu/StageFacts.h"

namespace tenc::codegen::cpu {

class ExprEmitter;

class AccessEmitter {
 public:
  /// `values`: of the stage's expressions, which indices are.
  AccessEmitter(ExprEmitter& values, const KernelArgs& args, const Kernel& kernel, const Stage& stage,
                const BoundVars& vars, AccessAddresses& addresses);

  /// Where else in memory the vector of an access stands, whole; null: in its buffer.
  using Elsewhere = std::function<llvm::Value*(const Access&, int copy)>;
  void setElsewhere(Elsewhere place) { elsewhere_ = std::move(place); }

  Scalar load(const Expr& e, int copy);
  void store(const Store& s, int copy);
  /// Says that loop variables have other values: indices are checked anew.
  void varsChanged() { ++epoch_; }

 private:
  /// A run-time index between 0 and its extent; `inside` is null where there is no check.
  struct TermIndex {
    const Access::Term* term;
    bool narrow;
    uint64_t epoch;
    Scalar index;
    llvm::Value* inside;
  };
  /// Where the lanes of an access stand: lane i at `base` + `step` * i elements, and `offsets` where its run-time terms
  /// differ from lane to lane. A term that is out of range counts 0 there, and clears `inRange` if that is not null.
  struct Lanes {
    llvm::Value* base;
    llvm::Value* offsets = nullptr;
    int64_t step = 0;
    llvm::Value* inRange = nullptr;
  };
  /// The index of a term: negative ones counted from the end, if they do; out of range sets the fault and gives 0. An
  /// index that is the same for all lanes is checked once for all accesses and copies between two changes of variables.
  TermIndex termIndex(const Access::Term& t, int copy, bool narrow);
  /// Adds the run-time terms of an access; the result is in elements, null when there are none. Clears lanes of
  /// `inRange` where a term is out of range.
  llvm::Value* terms(const Access& a, int copy, llvm::Value*& inRange);
  Lanes lanesOf(const Access& a, llvm::Type* element, int copy);
  void storeLanes(const Access& a, llvm::Value* v, const Lanes& at, llvm::Value* m);
  /// Whether a term indexes an empty dim; its fault is set then.
  bool indexesNothing(const Access& a, int copy);
  /// Whether vectors of the store, all lanes of them, start at multiples of their size, for buffers that start at
  /// multiples of 64 bytes.
  bool isAligned(const Access& a) const;
  llvm::Value* mask() const { return scalars_.mask(); }
  int lanes() const { return scalars_.lanes(); }

  ExprEmitter& values_;
  LlvmScalars& scalars_;
  llvm::IRBuilderBase& b_;
  const KernelArgs& args_;
  const Kernel& kernel_;
  const Stage& stage_;
  const StageFacts& facts_;
  const BoundVars& vars_;
  AccessAddresses& addresses_;
  LaneMemory memory_;
  Elsewhere elsewhere_;
  uint64_t epoch_ = 0;  ///< counts changes of variables
  std::vector<TermIndex> checked_;
};

}  // namespace tenc::codegen::cpu
