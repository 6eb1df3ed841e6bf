// What values integers of a native loop can have, from its constants, dtypes and loop bounds: an index that is surely
// in range needs no check.
#pragma once
#include <unordered_map>

#include "ir/Module.h"

namespace tenc::codegen {

/// Both ends belong to the range.
struct Range {
  int64_t least, most;
};

class IndexRanges {
 public:
  /// The range of an integer or bool of rank 0, as i64.
  Range of(const ir::Value* v);
  /// Binds the variable of a `for` that counts from operand 0 to operand 1 by operand 2.
  void bindLoopVariable(const ir::Op& loop);
  /// Binds the loop variable of a region to a range, and forgets what was known of other values in it.
  void assume(const ir::Region& region, Range variable);

 private:
  void forget(const ir::Region& region);
  Range compute(const ir::Value* v);
  std::unordered_map<const ir::Value*, Range> known_;
};

}  // namespace tenc::codegen
