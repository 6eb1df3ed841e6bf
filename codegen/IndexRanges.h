// What values integers of a native loop can have, from its constants, dtypes, loop bounds and conditions, and for what
// loops carry by induction: an index that is surely in range needs no check, a division by what is surely positive no
// care.
#pragma once
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/Module.h"

namespace tenc::codegen {

/// Both ends belong to the range.
struct Range {
  int64_t least, most;
  bool operator==(const Range&) const = default;
};

/// All values of a dtype.
Range ofDtype(ir::DType t);
/// What a value outside native loops can hold, as far as that follows from the ops that make it.
Range heldBy(const ir::Value* v);

struct Kernel;

class IndexRanges {
 public:
  /// Takes what a native kernel knows of its operands for granted.
  void assumeHeld(const Kernel& native);
  /// The range of an integer or bool, as i64; of a tensor, that of what it holds.
  Range of(const ir::Value* v);
  /// That of an index: a u64 beyond i64 is the greatest i64.
  Range ofIndex(const ir::Value* v);
  /// Binds the variable of a `for` that counts from operand 0 to operand 1 by operand 2.
  void bindLoopVariable(const ir::Op& loop);
  /// Binds what a loop carries as well, as it is at the head of each trip; of a `while`, in its condition.
  void bindLoop(const ir::Op& loop);
  /// Binds it as it is in the body of a `while`, where the condition holds.
  void enterBody(const ir::Op& loop);
  /// How much more one i64 is than another, where that is known to be an i64 itself.
  std::optional<Range> difference(const ir::Value* a, const ir::Value* b);
  /// How often the body of a `while` that is bound runs at most, where that is known.
  std::optional<int64_t> mostTrips(const ir::Op& loop);
  /// Binds the results of a loop that is bound.
  void leaveLoop(const ir::Op& loop);
  /// Binds the loop variable of a region to a range, and forgets what was known of other values in it.
  void assume(const ir::Region& region, Range variable);
  /// What else is known of a value.
  void assume(const ir::Value* v, Range range);
  /// What is known where a condition holds, or does not.
  void assumeCondition(const ir::Value* condition, bool holds);

  /// A part of the code that does not always run: what is learned there is forgotten at its end.
  class Scope {
   public:
    explicit Scope(IndexRanges& r) : r_(r), start_(r.changes_.size()), orders_(r.orders_.size()) { ++r_.scopes_; }
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    IndexRanges& r_;
    size_t start_, orders_;
  };

 private:
  void set(const ir::Value* v, std::optional<Range> r);
  void forget(const ir::Region& region);
  Range compute(const ir::Value* v);
  /// Two i64 of which one is known to be less than the other, or no more.
  struct Order {
    const ir::Value *less, *more;
    bool isStrict;
  };
  void assumeOrder(const ir::Value* less, const ir::Value* more, bool isStrict);
  Range computeDistance(const ir::Op& op, Range known);
  struct Sum;
  using Ends = std::pair<__int128, __int128>;
  Ends endsOf(const Sum& sum);
  bool isExact(const ir::Value* v);
  Ends boundsOf(const Sum& whole);
  Range computeSum(const ir::Value* v, Range known);
  Range computeDivision(const ir::Op& op, Range all);
  Range computeIncreased(const ir::Op& op);
  std::optional<Range> computeElements(const ir::Op& op);
  void results(const ir::Op& op);
  std::vector<Range> afterTrip(const ir::Op& loop, const std::vector<Range>& before);
  std::vector<Range> boundsOfCounts(const ir::Op& loop, const std::vector<Range>& start);
  void bindCarried(const ir::Op& loop, const std::vector<Range>& ranges);
  void assumeChecked(const ir::Region& region);
  void assumeSquare(const ir::Op& op, Range square);
  void assumeComparison(const ir::Op& op, bool holds);

  std::unordered_map<const ir::Value*, Range> known_;
  std::unordered_map<const ir::Op*, std::vector<Range>> carried_;           ///< of loops that are bound
  std::unordered_map<const ir::Op*, std::vector<Range>> limits_;            ///< of what their trips begin with
  std::vector<std::pair<const ir::Value*, std::optional<Range>>> changes_;  ///< in scopes: what was there before
  std::vector<Order> orders_;                                               ///< of the scopes that are open
  int scopes_ = 0, loops_ = 0;
  bool neverRuns_ = false;  ///< what was assumed of a value in this part of the code is nothing that it can be
  int left_ = 1 << 16;      ///< how many more values are looked into; then their dtypes are all that is known
};

}  // namespace tenc::codegen
