// Where the values of a tensor loop are while it is emitted: in the frame of the function, or in its arguments.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "codegen/cpu/IrBuilder.h"
#include "codegen/cpu/WholeVectors.h"
#include "ir/Module.h"

namespace tenc::codegen::cpu {

class TensorLoopMemory {
 public:
  using Args = std::vector<std::unique_ptr<ir::Value>>;

  /// Tensors of more than `mostCopied` bytes are never copied from trip to trip: the pass has found them updated in
  /// place. `padded`: takes note of memory for tensors, and of how much of it they fill.
  TensorLoopMemory(IrBuilder& b, llvm::Function& function, int64_t mostCopied, PaddedMemory& padded)
      : b_(b), function_(function), mostCopied_(mostCopied), padded_(padded) {}

  /// Memory of the function for so many elements, from a cache line on; null for none.
  llvm::Value* frame(llvm::Type* element, int64_t count);

  /// A rank-0 value, in memory form.
  void define(const ir::Value* v, llvm::Value* element);
  /// Memory for a value that is made.
  void make(const ir::Value* v);
  /// An operand of the loop, which is there.
  void enter(const ir::Value* v, llvm::Value* at) { places_[v] = {at, 0, false}; }
  /// A result of the loop is wanted there.
  void leave(const ir::Value* v, llvm::Value* to);
  void view(const ir::Op& op);
  /// `op` makes `made` in memory that holds what `old` is: its own, if nothing reads that any more. False where it
  /// would have to be copied and is too large for that.
  bool update(const ir::Op& op, const ir::Value* old, const ir::Value* made);
  void copy(const ir::Value* to, const ir::Value* from);
  /// Both have the same memory.
  void same(const ir::Value* v, const ir::Value* as) { places_[v] = places_.at(as); }

  /// What a loop carries, from the operand `lead` and the argument `first` on: before it, after a trip, and behind it.
  void carry(const ir::Op& loop, const Args& args, size_t first, size_t lead);
  void handOver(const ir::Op& yield, const Args& args, size_t first);
  void endLoop(const ir::Op& loop, const Args& args, size_t first);

  llvm::Value* address(const ir::Value* v);
  llvm::Value* element(const ir::Value* v);  ///< of rank 0, in memory form
  llvm::Value* flag(const ir::Value* v);     ///< of rank 0 and bool, as i1

 private:
  struct Place {
    llvm::Value* base = nullptr;
    int64_t offset = 0;   ///< bytes
    bool padded = false;  ///< the frame's, with whole vectors
  };
  llvm::Value* at(const Place& place);
  void copy(const Place& to, const Place& from, const ir::Type& t);
  Place newPlace(const ir::Type& t);
  bool isLastUse(const ir::Op& op, const ir::Value* v);
  size_t lastUse(const ir::Value* v, const ir::Region& in);
  size_t position(const ir::Op& op);

  IrBuilder& b_;
  llvm::Function& function_;
  int64_t mostCopied_;
  PaddedMemory& padded_;
  std::unordered_map<const ir::Value*, Place> places_;
  std::unordered_map<const ir::Op*, size_t> positions_;  ///< in their regions
};

}  // namespace tenc::codegen::cpu
