// The emitter of native loops: the ops of a region one after the other (NativeEmitter.cpp), and control flow
// (NativeControl.cpp): single elements become phi nodes, tensors stay where they are. Internal to them; the entry is
// emitNativeLoop.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codegen/HeldIndices.h"
#include "codegen/cpu/NativeElements.h"
#include "codegen/cpu/Schedule.h"

namespace tenc::codegen::cpu {

class NativeEmitter : NativeElements {
 public:
  NativeEmitter(const Kernel& kernel, llvm::Module& module, bool contract, const NativeLoop& loop)
      : NativeElements(kernel, module), contract_(contract), shared_(loop.shared) {}

  /// "" or why there is no code. Where an element of `indices` is not in its range, `otherwise` does all.
  std::string emit(const std::string& name, const std::vector<HeldIndices>& indices = {},
                   llvm::Function* otherwise = nullptr);

 private:
  using Slots = std::vector<NativeValue>;
  /// When a loop looks at the fault word.
  struct Looks {
    int64_t run;    ///< after so many trips; 0: never, it ends soon enough
    int64_t quiet;  ///< so many trips, with those of the loops in it, may pass without a look
  };
  /// An index that grows as many times as fast as the variable of its loop in all trips.
  struct Linear {
    const ir::Value* index;
    int64_t extent;
    bool moves;  ///< not at all otherwise
  };
  /// How the variable of a `for` runs.
  struct Counting {
    Scalar lo, hi, step;
    bool forward;  ///< the step is surely positive
    Looks looks;
    bool rare = false;                           ///< a version that is hardly ever taken
    std::optional<Scalar> apart = std::nullopt;  ///< the trip at this value is a part of its own
    std::vector<const ir::Op*> unchanged = {};   ///< reads that give the same in all trips of a part
  };
  struct BoundTest {
    const ir::Op* test;
    const ir::Value *arg, *more, *bound;
    bool orEqual;
  };
  /// A number that a `while` carries is less than `value` as long as all of `tests` hold.
  struct Limit {
    const ir::Value* arg = nullptr;
    llvm::Value* value = nullptr;
    std::vector<const ir::Op*> tests;
  };
  void takeIndices(const std::vector<HeldIndices>& indices, const std::vector<llvm::Value*>& buffers,
                   llvm::Function* otherwise);
  llvm::Value* greatest(llvm::Value* base, const ir::Type& t, int64_t least);
  void body(const ir::Region& region);
  void emitOp(const ir::Op& op);
  void markExact(const ir::Op& op, const std::vector<Scalar>& args, llvm::Value* result);

  Slots slotsOf(const ir::Op& op, size_t from);
  Slots carriedPhis(const Slots& start, llvm::BasicBlock* from);
  void closePhis(const Slots& carried, const Slots& next, llvm::BasicBlock* latch);
  Slots mergedSlots(const Slots& a, llvm::BasicBlock* fromA, const Slots& b, llvm::BasicBlock* fromB);
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  void bindArgs(const ir::Region& region, const Slots& values, size_t skip);
  llvm::Value* unlessStopped(llvm::Value* more);
  void tell(size_t offset, Scalar value);
  void tellStart(const Counting& c);
  Looks looksOf(const ir::Op& loop, int64_t body);
  Looks looksFor(const ir::Op& loop, int64_t body);
  int64_t quietTrips(const ir::Region& region);
  int64_t mostTrips(const ir::Op& loop);
  std::optional<int64_t> mostIndexed(const ir::Op& loop);
  std::optional<Range> slopeIn(const ir::Op& loop, const ir::Value* v);
  std::vector<Linear> linearIndices(const ir::Op& loop, const ir::Region& region);
  Scalar indexAt(const ir::Value* v, const ir::Op& loop, Scalar at);
  void unlessInRange(const ir::Op& loop, const std::vector<Linear>& indices, const Counting& c, Scalar last,
                     llvm::BasicBlock* otherwise);
  Scalar lastTrip(Scalar lo, Scalar hi, Range steps);
  void hoistReads(const ir::Op& loop, const ir::Region& region);
  bool isOutside(const ir::Value* v, const ir::Op& loop) const {
    return !v->home()->isInside(loop) || (v->op != nullptr && hoisted_.contains(v->op));
  }
  bool checksIndex(const ir::Op& op);
  bool mayLeaveTrip(const ir::Region& region);
  /// Reads of what one trip alone changes, and the value of the variable there.
  struct ApartReads {
    const ir::Value* at = nullptr;
    std::vector<const ir::Op*> reads;
  };
  ApartReads apartReads(const ir::Op& loop);
  bool areTripsApart(const ir::Op& loop);
  bool isChangedAt(const ir::Op& loop, const ir::Op& read, size_t axis);
  Scalar endOfPart(const Counting& c, Range steps, Scalar first);
  void forLoop(const ir::Op& op);
  Slots trips(const ir::Op& op, const Slots& start, const Counting& c);
  void whileLoop(const ir::Op& op);
  std::optional<BoundTest> boundTest(const ir::Op& loop, const ir::Op& test);
  Limit limitOf(const ir::Op& loop);
  void turnedWhile(const ir::Op& op, const Slots& start, bool looks);
  std::vector<Checks> mergedChecks(const std::vector<Checks>& a, llvm::BasicBlock* fromA, const std::vector<Checks>& b,
                                   llvm::BasicBlock* fromB);
  bool isSafeRead(const ir::Op& op);
  static bool isIntegerDivision(const ir::Op& op);
  llvm::Value* byPowerOf2(const ir::Op& op, Scalar a);
  Scalar divide(const ir::Op& op, Scalar a, Scalar b);
  bool decidesExit(const ir::Region& region, size_t i);
  bool mayLeave(const ir::Op& op);
  static bool keepsRecord(const ir::Op& op);
  static bool choosesAddress(const ir::Op& op);
  bool mayAlwaysRun(const ir::Region& region, int& budget);
  void choose(const ir::Op& op, Scalar condition);
  void chooseResults(const ir::Op& op, Scalar condition, const Slots (&results)[2]);
  using Updates = std::vector<std::pair<const ir::Op*, const ir::Op*>>;
  Updates sharedUpdates(const ir::Op& op, int budget);
  void updateOnce(const ir::Op& op, Scalar condition, const Updates& updates);
  void branch(const ir::Op& op);

  bool contract_, shared_;
  llvm::Value* fault_ = nullptr;
  NativeValue state_;  ///< the scopes of what `fault_` points to
  std::unordered_map<const ir::Op*, Looks> looks_;
  int loops_ = 0;                              ///< around what is emitted
  std::unordered_set<const ir::Op*> hoisted_;  ///< ops of loops that stand in front of them
};

}  // namespace tenc::codegen::cpu
